package profile

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/nsgate/nsgate/gate/internal/judge/recorded"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/baseline"
	"github.com/nsgate/nsgate/gate/internal/read/bench"
	"github.com/nsgate/nsgate/gate/internal/reduce/rank"
)

// openDirectory adds the profiles of a directory; of a recording in several formats one is read. Files that might have
// been meant as profiles are named in a warning. Results of benchmark harnesses are read where there is no profile, and
// reports of nsgate where there is neither: a gate may write its own there.
func (t Tools) openDirectory(ctx context.Context, dir string, to *Recording) error {
	l, err := t.list(dir, false)
	if err != nil {
		return err
	}
	if len(l.found) == 0 {
		if l.found, err = t.benchmarkRuns(dir); err == nil && len(l.found) == 0 {
			err = holdsNothing(dir, l.others, l.below)
			for _, name := range slices.Backward(l.left) {
				err = cmp.Or(unknownResults(filepath.Join(dir, name)), err)
			}
		}
		if err != nil {
			return err
		}
		l.below = nil
	}
	if err := distinct(l.found); err != nil {
		return err
	}
	l.keep(func(f *Format) bool { return !f.own })
	l.keep(func(f *Format) bool { return !f.benchmarks })
	if err := cmp.Or(meant(l.found, l.unknown), sameEnds(l.found)); err != nil {
		return err
	}
	files, err := t.openAll(ctx, dir, l.found, to)
	if err != nil {
		return err
	}
	if err := nameJobs(dir, files); err != nil {
		return err
	}
	if runs := len(to.Summaries); runs > 1 {
		var loads []string
		names := measure.Map(files, func(f file) string { return f.name })
		if to.Summaries, loads, err = bench.Processes(to.Summaries, names); err != nil {
			return err
		}
		n := len(to.Summaries)
		switch {
		case loads != nil:
			to.Warnings = append(to.Warnings,
				fmt.Sprintf("%s: its %d files differ in %s: rows name it, and each load has at most %s",
					dir, runs, strings.Join(loads, " and "), measure.Count(n, "run")))
		case n < runs:
			to.Warnings = append(to.Warnings,
				dir+": its files have no benchmark in common, so that they are of one process")
		}
	}
	if l.found[0].format.benchmarks {
		l.left = slices.DeleteFunc(l.left, bench.Units)
	}
	if len(l.left) > 0 {
		to.Warnings = append(to.Warnings, fmt.Sprintf("%s: left out what is no profile: %s", dir,
			strings.Join(l.left, ", ")))
	}
	l.below = slices.DeleteFunc(l.below, func(name string) bool { return !Holds(filepath.Join(dir, name)) })
	if len(l.below) > 0 {
		to.Warnings = append(to.Warnings, fmt.Sprintf("%s: its directories are not looked into: %s", dir,
			strings.Join(l.below, ", ")))
	}
	return nil
}

// openAll adds recordings in their order, and reads several at once. It returns the files that they are from. Of
// several that cannot be read the error is that of the first, and those behind it are not begun.
func (t Tools) openAll(ctx context.Context, dir string, found []entry, to *Recording) ([]file, error) {
	files, parts, errs := make([]file, len(found)), make([]Recording, len(found)), make([]error, len(found))
	var group sync.WaitGroup
	var failed atomic.Bool
	for i, e := range found {
		reading <- struct{}{}
		if failed.Load() {
			<-reading
			break
		}
		group.Go(func() {
			defer func() { <-reading }()
			errs[i] = e.format.readFiles(ctx, t, e.files, &parts[i])
			failed.CompareAndSwap(false, errs[i] != nil)
			files[i] = newFile(dir, e.files[0], parts[i].Traces)
		})
	}
	group.Wait()
	if err := cmp.Or(cmp.Or(errs...), copied(files, parts)); err != nil {
		return nil, err
	}
	before := len(to.Traces)
	for i := range parts {
		to.Add(&parts[i])
	}
	own := to.Traces[before:]
	for i := range parts {
		n := len(parts[i].Traces)
		files[i].traces, own = own[:n], own[n:]
	}
	return files, nil
}

// entry is a recording in a directory: a file, or the tables of one run.
type entry struct {
	files  []string
	format *Format
}

// doubtful are the suffixes of files that are profiles or something else: in a directory they are left out, with a
// word, where their content is that of no profile.
var doubtful = []string{".json", ".json.gz", ".xml", ".txt", ".log", ".out", ".gz", ".zip", ".tar", ".tgz"}

type listing struct {
	of      Tools
	found   []entry
	left    []string // names of files that may have been meant as profiles
	unknown []string // paths of files of no format
	beside  rankStatuses
	others  int      // other files
	below   []string // names of directories
}

// list finds the profiles of a directory, or of one of a rank, and the names of other files that may have been meant as
// profiles.
func (t Tools) list(dir string, ofRank bool) (l listing, err error) {
	l.of = t
	entries, err := os.ReadDir(dir)
	if err != nil {
		return l, err
	}
	names := measure.Map(entries, fs.DirEntry.Name)
	names = slices.DeleteFunc(names, func(name string) bool { return name[0] == '.' }) // of macOS, unfinished downloads
	for _, group := range grouped(names) {
		files := measure.Map(group, func(n string) string { return filepath.Join(dir, n) })
		info, err := os.Stat(files[0])
		switch {
		case err != nil || !info.Mode().IsRegular():
			err = l.irregular(files[0], err == nil && info.IsDir(), ofRank)
		case t.rendered(files[0]):
			l.left = append(l.left, group[0])
		case !derived(group[0], names):
			err = l.take(files)
		}
		if err != nil {
			return l, err
		}
	}
	paths := measure.Map(names, func(n string) string { return filepath.Join(dir, n) })
	if err = cmp.Or(rank.OfOthers(dir, paths...), l.beside.check()); err == nil && len(l.found) == 0 && ofRank {
		err = holdsNothing(dir, l.others, l.below)
	}
	return l, err
}

// rendered reports whether a table or text is beside the JSON of a harness with its stem, another form of the same run.
func (t Tools) rendered(file string) bool {
	is, json := t.Rows == "" && ends(file, ".csv", ".md", ".txt"), strings.TrimSuffix(file, filepath.Ext(file))+".json"
	f, err := formatOf(measure.Either(is, json, ""))
	return err == nil && f != nil && f.benchmarks
}

// keep leaves out the recordings in other formats, where there are any in a format of this kind.
func (l *listing) keep(kind func(*Format) bool) {
	if !slices.ContainsFunc(l.found, func(e entry) bool { return kind(e.format) }) {
		return
	}
	l.found = slices.DeleteFunc(l.found, func(e entry) bool {
		if !kind(e.format) {
			l.left = append(l.left, filepath.Base(e.files[0]))
		}
		return !kind(e.format)
	})
}

// irregular lists an entry that is not a regular file: it reads the directory of a rank, and counts other
// directories. In the directory of a rank another one is refused: links among them would have no end.
func (l *listing) irregular(path string, directory, ofRank bool) error {
	name := filepath.Base(path)
	switch {
	case directory && ofRank && rankWord().MatchString(name):
		return model.Refuse(model.NoFile, "put the profiles of each rank into a directory of its own, side by side",
			"%s is a directory of a rank in another one", path)
	case directory && rankWord().MatchString(name):
		inside, err := l.of.list(path, true)
		l.found, l.left = append(l.found, inside.found...), append(l.left, inside.left...)
		l.unknown = append(l.unknown, inside.unknown...)
		return err
	case directory:
		l.below = append(l.below, name)
	case formatNamed(name) != nil || ends(name, reports...):
		return model.Refuse(model.NoFile, "remove it, or put the profile there", "%s is not a file", path)
	default:
		l.other(name)
	}
	return nil
}

// other counts a file that is no profile, and names it where it may have been meant as one.
func (l *listing) other(name string) {
	l.others++
	if ends(name, doubtful...) {
		l.left = append(l.left, name)
	}
}

func (l *listing) take(files []string) error {
	format, err := l.of.formatOf(files[0])
	name := filepath.Base(files[0])
	switch {
	case err != nil:
		return err
	case format != nil:
		l.found = append(l.found, entry{files, format})
	case ends(name, ".csv"):
		return cmp.Or(damaged(files[0]),
			error(model.Refuse(model.OtherFormat, readable, "%s is no profile that nsgate knows", files[0])))
	case !l.beside.take(files[0]):
		l.other(name)
		l.unknown = append(l.unknown, files...)
	}
	return nil
}

// holdsNothing refuses a directory without a profile. One of directories is most often one too high.
func holdsNothing(dir string, others int, below []string) error {
	what := measure.Count(others, "other file")
	if len(below) > 0 {
		what += ", and its directories are not looked into"
	}
	next := "name a directory with profiles in it, a single one, or a baseline directory; " + readable
	entries, _ := os.ReadDir(dir)
	for _, e := range entries[:min(len(entries), 100)] {
		inside := filepath.Join(dir, e.Name())
		if err := unknownResults(inside); err != nil {
			return err
		} else if Holds(inside) {
			next = "name one of its directories that hold some, such as " + inside
		} else if ends(inside, ".json.gz", ".jsonl.gz", ".xml.gz") {
			next = unpack + ": " + inside
		}
	}
	if found := baselineBelow(dir, 2); found != "" {
		next = "name the baseline itself, the directory of one workload and GPU: " + found
	}
	return model.Refuse(model.NoProfile, next, "%s holds no profile (%s)", dir, what)
}

// Reads reports whether a file of a directory is a recording or session, or makes the directory unreadable.
func Reads(file string) bool {
	f, err := formatOf(file)
	return ends(file, ".csv") || err == nil && f != nil && !f.own
}

// Holds reports whether a directory has a file in the form of a recording.
func Holds(dir string) bool {
	entries, _ := os.ReadDir(dir)
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		f, err := formatOf(filepath.Join(dir, e.Name()))
		return err == nil && f != nil
	})
}

// baselineBelow finds a baseline at most so many levels below a directory, "" if there is none.
func baselineBelow(dir string, levels int) string {
	entries, err := os.ReadDir(dir)
	if err != nil || levels == 0 {
		return ""
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		inner := filepath.Join(dir, e.Name())
		if _, err := baseline.Read(inner); !errors.Is(err, fs.ErrNotExist) {
			return inner
		}
		if found := baselineBelow(inner, levels-1); found != "" {
			return found
		}
	}
	return ""
}

// distinct refuses a directory with two files of the same bytes: as two runs they would agree to the last digit. A
// later check finds equal recordings in other bytes.
func distinct(found []entry) error {
	const sample = 64 << 10 // bytes, which tell most recordings apart
	prints, alike := make([]digest, len(found)), make(map[digest]int)
	for i, e := range found {
		if !e.format.benchmarks { // their values tell
			prints[i], _ = e.digest(sample) // an error comes with the whole file, or with reading it
			alike[prints[i]]++
		}
	}
	first := make(map[digest]string)
	for i, e := range found {
		if alike[prints[i]] <= 1 || e.format.benchmarks {
			continue
		}
		k, err := e.digest(math.MaxInt64)
		if err != nil {
			return err
		}
		other, ok := first[k]
		if ok {
			return model.Refuse(model.SameRecording, "remove the copy",
				"%s and %s are the same recording, which is one run and not two", filepath.Base(other),
				filepath.Base(e.files[0]))
		}
		first[k] = e.files[0]
	}
	return nil
}

// copied refuses two files of sums with equal values, too many to agree by chance.
func copied(files []file, parts []Recording) error {
	seen := map[uint64]string{}
	for i := range parts {
		for j := range parts[i].Summaries {
			for _, run := range recorded.Fingerprints(&parts[i].Summaries[j]) {
				if other := seen[run]; other != "" {
					return model.Refuse(model.SameRecording, "remove the copy: each run is a process of its own",
						"all values of %s and %s are equal, so they are copies of one run", other, files[i].name)
				}
				seen[run] = files[i].name
			}
		}
	}
	return nil
}

// digest is the size of an entry, and the hash of so many bytes at the end of each file.
type digest struct {
	size int64
	sum  [sha256.Size]byte
}

func (e entry) digest(most int64) (d digest, err error) {
	h := sha256.New()
	for _, name := range e.files {
		err = cmp.Or(err, opened(name, func(f *os.File) error {
			info, err := f.Stat()
			if err != nil {
				return err
			}
			d.size += info.Size()
			if _, err := f.Seek(max(0, info.Size()-most), io.SeekStart); err != nil {
				return err
			}
			_, err = io.Copy(h, f)
			return err
		}))
	}
	h.Sum(d.sum[:0])
	return d, err
}
