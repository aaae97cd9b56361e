// Package baseline reads and writes the committed sessions: text made for review.
//
// A baseline is a directory with one CSV file a session, TIME-HASH.csv, which is written once and never changed: the
// hash in its name is that of its contents. Merging branches is therefore a union of files. A file has one table with
// the columns scope, subject, key, value, unit, role and note, sorted:
//
//   - rows of the scope "session" say what holds for the whole: environment, warm-up, what remained of each run, commit, reason,
//     and with which sessions it stands ("beside");
//   - rows of a subject say its full name and geometry, where the subject's short id does not, which sessions this one replaces
//     for it ("supersedes"), and one row a metric: one value a run, separated by spaces.
//
// Equal neighbours in a list are written once with their number (32*5), a run without a value is "-", and so are the
// steps and launches of an untraced run. In cells of free text, backslash and what does not print stand as Go escapes
// (\n, \u202e), and a cell that a spreadsheet would take for a formula (it begins with = + - or @), or that begins with
// ', has a ' before it.
//
// A file is a recorded session, or an acceptance, which holds only what changed, or the removal of another file.
// [Baseline.InEffect] returns the sessions that result from all files.
//
// Reading accepts CRLF and a byte order mark, and nothing else that writing does not give: errors name file and line.
package baseline

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/measure"
)

// Baseline is all files of a baseline.
type Baseline struct {
	Dir     string
	Entries []Entry // oldest first, each after the files that it names
}

// Entry is the content of one file: a session and its relation to others. The removal of another file has no series and
// no runs.
type Entry struct {
	// Session has the file's name without its suffix as ID.
	model.Session
	// Supersedes are the sessions that this one replaces, Replaces those that it replaces for single subjects.
	Supersedes []string
	Replaces   map[measure.Subject][]string
	// Beside are the files that were known when this one was written.
	Beside []string
	// Removes is the file that this one takes back, "" for none.
	Removes string
	// File is the path of the file, "" before it is written.
	File string

	lines map[place]int // of samples, by subject and metric
}

// place is a row of samples.
type place struct {
	subject measure.Subject
	metric  string
}

// suffix is that of every file of a session.
const suffix = ".csv"

// Dir is where below root the baseline of a workload on a model of GPU lies: root/kernels/nvidia-h200. A workload's
// name that is not of lower-case letters, digits and single hyphens gets a short hash, so that no two share a
// directory. GPU models get none: [Add] refuses to put two into one baseline.
func Dir(root, workload, gpuModel string) string {
	name := slug(workload)
	if name != workload || name == "" {
		sum := sha256.Sum256([]byte(workload))
		name = strings.TrimPrefix(name+"-"+hex.EncodeToString(sum[:4]), "-")
	}
	gpu := slug(gpuModel)
	if gpu == "" {
		gpu = "unknown-gpu"
	}
	return filepath.Join(root, name, gpu)
}

// slug keeps the ASCII letters and digits of s, in lower case, and puts one hyphen for whatever lies between them.
func slug(s string) string {
	words := strings.FieldsFunc(strings.ToLower(s), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	out := strings.Join(words, "-")
	return strings.TrimSuffix(out[:min(len(out), 64)], "-")
}

// Read reads the sessions of a baseline that are in effect, the oldest first. Where there is none the error is
// [fs.ErrNotExist]; every other error says what is wrong with which line of which file.
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
	files, size := 0, 0
	if !slices.ContainsFunc(listed, func(e os.DirEntry) bool { return fileForm.MatchString(e.Name()) }) {
		return nil, fmt.Errorf("%s holds no baseline: %w", dir, fs.ErrNotExist)
	}
	for _, e := range listed {
		name := e.Name()
		if e.IsDir() || strings.HasPrefix(name, ".") || !strings.HasSuffix(name, suffix) {
			continue
		}
		text, err := read(dir, name)
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

// How much is read of a baseline: bytes of a file, bytes and files in all, and values of a file, whatever its
// repetitions claim. A session of 10,000 kernels takes 2 MB.
const (
	maxFile  = 64 << 20
	maxAll   = 512 << 20
	maxFiles = 10_000
)

var maxValues = 16 << 20

// read reads a file of a baseline. A symbolic link must lead to a regular file of the same directory.
func read(dir, name string) ([]byte, error) {
	file := filepath.Join(dir, name)
	if info, err := os.Lstat(file); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		target, err := filepath.EvalSymlinks(file)
		home, err2 := filepath.EvalSymlinks(dir)
		if err != nil || err2 != nil || filepath.Dir(target) != home {
			return nil, fmt.Errorf("%s is a symbolic link that leads out of the baseline; put the file itself there", file)
		}
	}
	return input.Read(file, maxFile)
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
			return fmt.Errorf("%s:%d: gpu: %q is another model than %q in %s; a baseline is for one model of GPU",
				e.File, max(e.lines[place{metric: "gpu"}], 1), e.GPU, first.GPU, filepath.Base(first.File))
		}
	}
	return nil
}

// Find is the file whose ID, or only one whose ID, begins so.
func (b *Baseline) Find(id string) (*Entry, error) {
	var found []*Entry
	for i := range b.Entries {
		e := &b.Entries[i]
		if e.ID == id {
			return e, nil
		}
		if id != "" && (strings.HasPrefix(e.ID, id) || strings.HasSuffix(e.ID, "-"+id)) {
			found = append(found, e)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return nil, fmt.Errorf("%s has no session %q", b.Dir, id)
	}
	return nil, fmt.Errorf("%s has %d sessions whose name begins with %q; write more of it", b.Dir, len(found), id)
}

// Locate finds the row of a metric of a subject in the newest session in effect that has it, for annotations: its file
// and the line in it, counted from 1.
func (b *Baseline) Locate(s measure.Subject, metric string) (file string, line int, ok bool) {
	for _, session := range slices.Backward(b.InEffect()) {
		if _, has := session.Find(s, metric); !has {
			continue
		}
		e, err := b.Find(session.ID)
		if err != nil {
			return "", 0, false
		}
		return e.File, cmp.Or(e.lines[place{s, metric}], 1), true
	}
	return "", 0, false
}

// errDamaged is what to do about a file that was changed after it was written.
var errDamaged = errors.New("restore it from version control; what was measured anew is recorded into a file of its own")
