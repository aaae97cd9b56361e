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
	b, err := Open(dir)
	if err != nil {
		return nil, err
	}
	sessions := b.InEffect()
	if len(sessions) == 0 {
		return nil, fmt.Errorf("in %s every session was removed: %w", dir, fs.ErrNotExist)
	}
	return sessions, nil
}

// Open reads all files of a baseline, errors as for [Read].
func Open(dir string) (*Baseline, error) {
	listed, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	b := &Baseline{Dir: dir}
	files, size, metrics := 0, 0, 0
	if !slices.ContainsFunc(listed, func(e os.DirEntry) bool { return fileForm.MatchString(e.Name()) }) {
		return nil, fmt.Errorf("%s holds no baseline: %w", dir, fs.ErrNotExist)
	}
	for _, e := range listed {
		name := e.Name()
		if e.IsDir() || strings.HasPrefix(name, ".") || !strings.HasSuffix(name, suffix) {
			continue
		}
		text, err := read(dir, name, maxFile)
		if err != nil {
			return nil, err
		}
		if files, size = files+1, size+len(text); files > maxFiles || size > maxAll {
			return nil, fmt.Errorf("%s holds more than %d files or %d MB, the most that is read; remove old sessions from it", dir, maxFiles, maxAll>>20)
		}
		entry, err := decodeEntry(dir, name, text)
		if err != nil {
			return nil, err
		}
		if metrics += len(entry.Series); metrics > maxMetrics {
			return nil, fmt.Errorf("%s holds more than %d metrics of subjects, the most that is read; remove old sessions from it", dir, maxMetrics)
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
	return b, nil
}

// How much is read of a baseline: bytes of a file, bytes, files and metrics in all, and subjects, rows and values of
// a file, whatever its repetitions claim. A session of 10,000 kernels takes 2 MB.
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
