package baseline

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// Read reads the sessions of a baseline that are in effect, the oldest first. Without any the error is
// [fs.ErrNotExist]; every other error names the file and line.
func Read(dir string) ([]model.Session, error) {
	b, err := Open(dir, (*Baseline).ReadKept)
	if err != nil {
		return nil, err
	}
	sessions := b.InEffect()
	if len(sessions) == 0 {
		return nil, fmt.Errorf("in %s every session was removed: %w", dir, fs.ErrNotExist)
	}
	return sessions, nil
}

// Open checks all files of a baseline, and reads their rows about whole sessions and all rows of accepted changes,
// which alone replace other sessions for single subjects; more reads the rows of others. Errors are those of [Read].
func Open(dir string, more func(*Baseline) error) (*Baseline, error) {
	listed, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	b := &Baseline{Dir: dir}
	if !slices.ContainsFunc(listed, func(e os.DirEntry) bool { return IsFile(e.Name()) }) {
		return nil, fmt.Errorf("%s holds no baseline: %w", dir, fs.ErrNotExist)
	}
	for _, e := range listed {
		if e.Type().IsRegular() {
			continue
		}
		inside, _ := os.ReadDir(filepath.Join(dir, e.Name()))
		if slices.ContainsFunc(inside, func(e os.DirEntry) bool { return IsFile(e.Name()) }) {
			return nil, fmt.Errorf("%s holds another baseline, %s; move that beside it", dir, e.Name())
		}
	}
	listed = slices.DeleteFunc(listed, func(e os.DirEntry) bool {
		return e.IsDir() || strings.HasPrefix(e.Name(), ".") || !strings.HasSuffix(e.Name(), suffix)
	})
	if len(listed) > maxFiles {
		return nil, fmt.Errorf("%s holds more than %d files, the most that is read; remove old sessions from it",
			dir, maxFiles)
	}
	b.Entries = make([]Entry, len(listed))
	if err := each(len(listed), func(i int, buffer *bytes.Buffer) error {
		name := listed[i].Name()
		text, err := read(buffer, dir, name, maxFile)
		if err == nil {
			b.Entries[i], err = decodeEntry(dir, name, text, bodies)
		}
		return err
	}); err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(b.Entries, func(e Entry) bool { return e.Removes == "" }) {
		return nil, fmt.Errorf("%s holds no baseline: %w", dir, fs.ErrNotExist)
	}
	if err := b.oneModel(); err != nil {
		return nil, err
	}
	b.sort()
	return b, more(b)
}

// each calls f with the numbers below n, several at once, until one fails, and gives the error of the least. The buffer
// is f's until it returns.
func each(n int, f func(i int, buffer *bytes.Buffer) error) error {
	errs := make([]error, n)
	var next atomic.Int64
	var failed atomic.Bool
	var group sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			var buffer bytes.Buffer
			for i := int(next.Add(1)) - 1; i < n && !failed.Load(); i = int(next.Add(1)) - 1 {
				errs[i] = f(i, &buffer)
				if errs[i] != nil {
					failed.Store(true)
				}
			}
		})
	}
	group.Wait()
	return cmp.Or(errs...)
}

// ReadKept reads all rows that [Baseline.InEffect] and [Baseline.Standings] need.
func (b *Baseline) ReadKept() error { return b.read(lacking(b.state().kept)) }

// ReadOne reads all rows of an entry.
func (b *Baseline) ReadOne(e *Entry) error {
	return b.read(lacking(measure.Map(b.Entries, func(x Entry) bool { return x.ID == e.ID })))
}

// Kernels are the numbers of kernels of the entries by short names. Rows that were not read are skimmed.
func (b *Baseline) Kernels() ([]int, error) {
	out := make([]int, len(b.Entries))
	return out, each(len(out), func(i int, buffer *bytes.Buffer) error {
		e, names := &b.Entries[i], make(map[string]bool)
		for _, s := range e.subjects() {
			if s.Scope == measure.ScopeKernel {
				names[s.Short()] = true
			}
		}
		if e.lacks == bodies {
			text, err := read(buffer, b.Dir, e.ID+suffix, maxFile)
			if err != nil {
				return err
			}
			rows, err := table(e.File, firstRows(text), nil)
			c := cells{file: e.File, err: err}
			for _, r := range rows {
				c.line = r.line
				if r.Key != nameKey {
					r.Value = r.Subject
				}
				names[measure.ShortName(parse(&c, "value", r.Value, unescape))] = true
			}
			if c.err != nil {
				return c.err
			}
		}
		out[i] = len(names)
		return nil
	})
}

// firstRows are the titles and the first row of each kernel, which holds its name if that is not its subject.
func firstRows(text []byte) (out []byte) {
	var subject []byte
	for line := range bytes.Lines(text) {
		cell, kernel := bytes.CutPrefix(line, []byte(measure.ScopeKernel+","))
		if out != nil && (!kernel || subject != nil && bytes.HasPrefix(cell, subject)) {
			continue
		}
		out = append(out, line...)
		if kernel {
			subject = cell[:bytes.IndexByte(cell, ',')+1]
			if bytes.HasPrefix(cell, []byte(`"`)) {
				subject = cell[:bytes.Index(cell, []byte(`",`))+2]
			}
		}
	}
	return out
}

// ReadAll reads all rows of all files.
func (b *Baseline) ReadAll() error { return b.read(make([]lack, len(b.Entries))) }

// ReadSinceAnchor reads all rows that [Baseline.InEffect] needs, and those by which drift is judged of the sessions
// that [Baseline.SinceAnchor] adds.
func (b *Baseline) ReadSinceAnchor() error {
	may, last := lacking(b.state().kept), b.anchor()
	for i, then := range lacking((&Baseline{Entries: b.Entries[:last+1]}).state().kept) {
		may[i] = min(may[i], then)
	}
	for i := last + 1; i < len(may); i++ {
		may[i] = min(may[i], details)
	}
	return b.read(may)
}

// lacking is what entries may lack of which these are needed.
func lacking(needed []bool) []lack {
	return measure.Map(needed, func(needed bool) lack {
		return measure.Either(needed, nothing, bodies)
	})
}

// read reads what entries lack and may not.
func (b *Baseline) read(may []lack) error {
	var size, metrics atomic.Int64
	return each(len(b.Entries), func(i int, buffer *bytes.Buffer) error {
		e := &b.Entries[i]
		if may[i] == bodies {
			return nil
		}
		if e.lacks > may[i] {
			text, err := read(buffer, b.Dir, e.ID+suffix, maxFile)
			if err != nil {
				return err
			}
			all, err := decodeEntry(b.Dir, e.ID+suffix, text, may[i])
			if err != nil {
				return err
			}
			e.Series, e.Code, e.Operations, e.lacks = all.Series, all.Code, all.Operations, all.lacks
			size.Add(int64(len(text)))
		}
		if metrics.Add(int64(len(e.Series))) > maxMetrics || size.Load() > maxAll {
			return fmt.Errorf("%s holds more than %d metrics of subjects or %d MB of needed sessions, the most that "+
				"is read; remove old sessions from it", b.Dir, maxMetrics, maxAll>>20)
		}
		return nil
	})
}

// How much is read of a baseline: bytes of a file, files, bytes and metrics of the needed sessions, and subjects, rows
// and values of a file, whatever its repetitions claim. A session of 10,000 kernels takes 2 MB.
const (
	maxFile     = 64 << 20
	maxAll      = 512 << 20
	maxFiles    = 10_000
	maxMetrics  = 6_000_000
	maxSubjects = model.MostSubjects
	maxRows     = 40 * maxSubjects
)

var maxValues = 5 << 20

// read reads a file of a baseline up to a number of bytes. A symbolic link must lead to a file of the same directory.
func read(buffer *bytes.Buffer, dir, name string, most int64) ([]byte, error) {
	text, err := input.ReadWithin(buffer, dir, name, most)
	if err == nil {
		return text, nil
	}
	file := filepath.Join(dir, name)
	if info, missing := os.Lstat(file); missing == nil && info.Mode()&fs.ModeSymlink != 0 {
		return nil, fmt.Errorf("%s is a symbolic link that leads out of the baseline; put the file itself there", file)
	}
	return nil, fmt.Errorf("%s: %w", file, err)
}

func (b *Baseline) oneModel() error {
	var first *Entry
	for i := range b.Entries {
		e := &b.Entries[i]
		switch {
		case e.Removes != "":
		case first == nil:
			first = e
		case e.GPU != first.GPU:
			return fmt.Errorf("%s:1: gpu: %q is another model than %q in %s; a baseline is for one model of GPU",
				e.File, e.GPU, first.GPU, filepath.Base(first.File))
		}
	}
	return nil
}
