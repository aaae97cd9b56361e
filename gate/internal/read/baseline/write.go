package baseline

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/git"
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
