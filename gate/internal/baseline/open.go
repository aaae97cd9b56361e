package baseline

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// Read reads the sessions of a baseline that are in effect, the oldest first. Without any the error is
// [fs.ErrNotExist]; every other error names the file and line.
func Read(dir string) ([]model.Session, error) {
	b, err := Open(dir, (*Baseline).readKept)
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
	if !slices.ContainsFunc(listed, func(e os.DirEntry) bool { return fileForm().MatchString(e.Name()) }) {
		return nil, fmt.Errorf("%s holds no baseline: %w", dir, fs.ErrNotExist)
	}
	for _, e := range listed {
		name := e.Name()
		if e.IsDir() || strings.HasPrefix(name, ".") || !strings.HasSuffix(name, suffix) {
			continue
		}
		if len(b.Entries) == maxFiles {
			return nil, fmt.Errorf("%s holds more than %d files, the most that is read; remove old sessions from it",
				dir, maxFiles)
		}
		text, err := read(dir, name, maxFile)
		if err != nil {
			return nil, err
		}
		entry, err := decodeEntry(dir, name, text, decodeFirst)
		if err != nil {
			return nil, err
		}
		b.Entries = append(b.Entries, entry)
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

// readKept reads all rows that [Baseline.InEffect] needs.
func (b *Baseline) readKept() error { return b.read(b.state().kept) }

// ReadAll reads all rows of all files.
func (b *Baseline) ReadAll() error { return b.read(slices.Repeat([]bool{true}, len(b.Entries))) }

// ReadSinceAnchor reads all rows that [Baseline.InEffect] and [Baseline.SinceAnchor] need.
func (b *Baseline) ReadSinceAnchor() error {
	needed, last := b.state().kept, b.anchor()
	for i, kept := range (&Baseline{Entries: b.Entries[:last+1]}).state().kept {
		needed[i] = needed[i] || kept
	}
	for i := last + 1; i < len(needed); i++ {
		needed[i] = true
	}
	return b.read(needed)
}

// read reads all rows of the needed files.
func (b *Baseline) read(needed []bool) error {
	size, metrics := 0, 0
	for i := range b.Entries {
		e := &b.Entries[i]
		if !needed[i] {
			continue
		}
		if e.unread {
			text, err := read(b.Dir, e.ID+suffix, maxFile)
			if err != nil {
				return err
			}
			all, err := decodeEntry(b.Dir, e.ID+suffix, text, decodeRows)
			if err != nil {
				return err
			}
			e.Series, e.Code, e.unread = all.Series, all.Code, false
			size += len(text)
		}
		if metrics += len(e.Series); metrics > maxMetrics || size > maxAll {
			return fmt.Errorf("%s holds more than %d metrics of subjects or %d MB of needed sessions, the most that is read; "+
				"remove old sessions from it", b.Dir, maxMetrics, maxAll>>20)
		}
	}
	return nil
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

// read reads a file of a baseline up to a number of bytes. A symbolic link must lead to a regular file of the same
// directory.
func read(dir, name string, most int64) ([]byte, error) {
	text, err := input.ReadWithin(dir, name, most)
	if err == nil {
		return text, nil
	}
	file := filepath.Join(dir, name)
	if info, missing := os.Lstat(file); missing == nil && info.Mode()&fs.ModeSymlink != 0 {
		return nil, fmt.Errorf("%s is a symbolic link that leads out of the baseline; put the file itself there", file)
	}
	return nil, fmt.Errorf("%s: %w", file, err)
}

// oneModel refuses sessions of several GPU models.
func (b *Baseline) oneModel() error {
	var first *Entry
	for i := range b.Entries {
		switch e := &b.Entries[i]; {
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
