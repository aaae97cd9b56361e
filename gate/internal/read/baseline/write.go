package baseline

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gocarina/gocsv"

	"github.com/nsgate/nsgate/gate/internal/git"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/output"
	"github.com/nsgate/nsgate/gate/internal/proc"
)

// begin makes the directory of a baseline and locks it for writing.
func begin(dir string) (unlock func(), err error) {
	for range 100 { // another writer may have made the directory, written nothing, and removed it
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, unwritten(dir, err)
		}
		unlock, err := lock(dir)
		if err == nil {
			sweep(dir)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return unlock, err
		}
	}
	return nil, fmt.Errorf("%s comes and goes; let nothing else write there", dir)
}

// sweep removes what a writer left that was killed. The caller has the lock.
func sweep(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") && strings.HasSuffix(e.Name(), output.Partial) {
			os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// Add reads what is in effect in dir, which it may create, lets change say which files it gets, and writes these, with
// no other writer in between. It fills in their names and what they know. A session in effect that holds the same to
// the last digit is returned in place of a new one. An error of change leaves everything as it is. Each file is written
// whole or not at all, and none behind a link that a commit has set, see [git.Outward].
func Add(dir string, change func(*Baseline) ([]Entry, error)) (added []Entry, err error) {
	if err := git.Outward(context.Background(), dir); err != nil {
		return nil, err
	}
	unlock, err := begin(dir)
	if err != nil {
		return nil, err
	}
	defer unlock()
	defer os.Remove(dir) // succeeds only where it is still empty
	b, err := Open(dir, (*Baseline).ReadKept)
	if errors.Is(err, fs.ErrNotExist) {
		b, err = &Baseline{Dir: dir}, nil
	}
	if err != nil {
		return nil, err
	}
	entries, err := change(b)
	if err != nil {
		return nil, err
	}
	inForce, written := b.inForce(), []string(nil)
	texts := make([][]byte, len(entries))
	for i := range entries {
		e := &entries[i]
		if same := b.holding(e); same != nil {
			*e = *same
			continue
		}
		if e.Workload == filepath.Base(filepath.Dir(dir)) {
			e.Workload = ""
		}
		// A file names those of the same write that would be in effect if each had been written on its own.
		e.Beside = slices.Sorted(slices.Values(slices.Concat(inForce, written[max(0, len(written)-keepAll):])))
		name, text, err := encodeEntry(e)
		if err != nil {
			return nil, err
		}
		e.ID, e.File, texts[i] = name[:len(name)-len(suffix)], filepath.Join(dir, name), text
		written = append(written, e.ID)
	}
	after := &Baseline{Dir: dir, Entries: slices.Concat(b.Entries, entries)}
	if err := after.oneModel(); err != nil {
		return nil, err
	}
	for i, text := range texts {
		if text == nil {
			continue
		}
		if err := output.Text(entries[i].File, 0o644, text); err != nil {
			return nil, unwritten(dir, err)
		}
	}
	return entries, nil
}

// inForce are the IDs of all files that a new one names: sessions in effect, and removals.
func (b *Baseline) inForce() (ids []string) {
	s := b.state()
	in := make(map[int]bool)
	for _, c := range s.claims() {
		for _, i := range slices.Concat(c.live, c.gone) {
			in[i] = true
		}
	}
	for i := range b.Entries {
		if in[i] || b.Entries[i].Removes != "" && !s.removed[i] {
			ids = append(ids, b.Entries[i].ID)
		}
	}
	slices.Sort(ids)
	return ids
}

// holding is the entry in force that holds the same samples as a new one and replaces all that this would, or nil.
func (b *Baseline) holding(e *Entry) *Entry {
	if e.Removes != "" {
		return nil
	}
	s := b.state()
	for i := range b.Entries {
		o := &b.Entries[i]
		if !s.kept[i] || o.Accepted != e.Accepted || o.GPUHash != e.GPUHash || !o.Start.Equal(e.Start) ||
			o.Anchor != e.Anchor {
			continue
		}
		more := slices.ContainsFunc(e.Supersedes, func(id string) bool {
			return id != o.ID && !slices.Contains(o.Supersedes, id)
		})
		if !more && slices.Equal(samples(o), samples(e)) {
			return o
		}
	}
	return nil
}

func samples(e *Entry) []row {
	return append((&Entry{Session: model.Session{Series: e.Series}}).body(), codeRows(e.Code)...)
}

// Writable says why no baseline could be written below root, nil where one could. It leaves nothing behind. To ask
// before a measurement saves one whose result could not be stored.
func Writable(root string) error {
	at := filepath.Clean(root)
	for {
		err := output.Possible(at)
		if err == nil {
			return nil
		}
		parent := filepath.Dir(at)
		if !errors.Is(err, fs.ErrNotExist) || parent == at {
			return unwritten(root, err)
		}
		at = parent
	}
}

// unwritten is the error of a failed write of a baseline, without the name of the temporary file in the system's error.
func unwritten(dir string, err error) error {
	return fmt.Errorf("no baseline can be written to %s: %w; what was there is unchanged: make room or let it be "+
		"written, and try again", dir, proc.Cause(err))
}

// encodeEntry gives the name and the contents of an entry's file, independent of the order of its series.
func encodeEntry(e *Entry) (name string, text []byte, err error) {
	if e.Removes == "" {
		if err := e.Check(); err != nil {
			return "", nil, fmt.Errorf("this session is not fit for a baseline: %w", err)
		}
		for _, x := range e.Series {
			known, _ := measure.MetricByName(x.Metric.Name)
			known, _ = known.In(x.Metric.Unit)
			if known != x.Metric {
				return "", nil, fmt.Errorf("metric %q is not one of nsgate's", x.Metric.Name)
			}
		}
	}
	rows := slices.Concat(e.head(), e.body(), codeRows(e.Code), operationRows(e.Operations))
	var b bytes.Buffer
	if err := gocsv.MarshalCSV(rows, gocsv.NewSafeCSVWriter(csv.NewWriter(&b))); err != nil {
		return "", nil, err
	}
	// A row that could not be read back must not be written.
	if _, err := decode("session", b.Bytes(), nothing); err != nil {
		return "", nil, fmt.Errorf("this session cannot be stored: %w", err)
	}
	start := measure.Either(!e.Start.IsZero(), e.Start.UTC().Format("20060102T1504"), "unknown")
	return start + "-" + contentHash(b.Bytes()) + suffix, b.Bytes(), nil
}

func (e *Entry) body() (out []row) {
	of := make(map[measure.Subject][]model.Series)
	for _, x := range e.Series {
		of[x.Subject] = append(of[x.Subject], x)
	}
	for s := range e.Replaces {
		of[s] = append(of[s], nil...)
	}
	taken := make(map[subjectKey]bool)
	for _, s := range slices.SortedFunc(maps.Keys(of), measure.Subject.Compare) {
		key := subjectKey{string(s.Scope), shorten(s)}
		for n := 2; taken[key]; n++ {
			key.id = shorten(s) + "~" + strconv.Itoa(n)
		}
		taken[key] = true
		r := row{Scope: key.scope, Subject: escape(key.id)}
		add := func(key, value string) {
			r.Key, r.Value = key, value
			out = append(out, r)
		}
		if key.id != s.Name {
			add(nameKey, escape(s.Name))
		}
		if s.Grid != (measure.Dim3{}) {
			add(gridKey, s.Grid.String())
		}
		if s.Block != (measure.Dim3{}) {
			add(blockKey, s.Block.String())
		}
		if ids := e.Replaces[s]; len(ids) > 0 {
			add(supersedesKey, strings.Join(ids, " "))
		}
		measure.Sort(of[s], func(a, b model.Series) int { return cmp.Compare(a.Metric.Name, b.Metric.Name) })
		for _, x := range of[s] {
			out = append(out, row{r.Scope, r.Subject, x.Metric.Name, join(x.Values, formatSample), x.Metric.Unit,
				escape(x.Role), escape(x.Note)})
		}
	}
	return out
}

// shorten is a subject's id in a file: a kernel's ID, any other's name, cut where it is too long to be read.
func shorten(s measure.Subject) string {
	const maxID = 80 // the length in bytes above which an id is cut
	id := measure.Either(s.Scope == measure.ScopeKernel, s.ID(), s.Name)
	if len(id) <= maxID {
		return id
	}
	sum := sha256.Sum256([]byte(s.Name + "\x00" + s.Geometry()))
	end := maxID - 12
	for end > 0 && !utf8.RuneStart(id[end]) {
		end--
	}
	return id[:end] + "…#" + hex.EncodeToString(sum[:4])
}
