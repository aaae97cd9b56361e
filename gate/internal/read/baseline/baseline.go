// Package baseline reads and writes the committed sessions: a directory with one CSV file a session, TIME-HASH.csv,
// which is written once and never changed. Its hash is of its contents, so a merge is a union of files. The manual's
// page on baselines describes the format. Reading accepts CRLF and a byte order mark, and nothing else that writing
// does not give.
package baseline

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/output"
)

// Baseline is all files of a baseline.
type Baseline struct {
	Dir     string
	Entries []Entry // oldest first, each after the files that it names
}

// Entry is one file: a session and its relation to others. The removal of another file has no series or runs.
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
	// Workload is the name of the workload where that of its directory is another, else "".
	Workload string
	// File is the path of the file, "" before it is written.
	File string

	lacks lack
}

// lack is what was not read of an entry's file.
type lack uint8

const (
	nothing lack = iota
	details      // metrics of kernels that drift is not judged by, see [drifts]
	bodies       // all rows but those about the whole session, see [Open]
)

const suffix = ".csv"

// Dir is where below root the baseline of a workload on a model of GPU lies: root/WORKLOAD/GPU. A workload's
// name that is not of lower-case letters, digits and single hyphens gets a short hash, so that no two share a
// directory. GPU models get none: [Add] refuses to put two into one baseline.
func Dir(root, workload, gpuModel string) string {
	name := slug(workload)
	if name != workload || name == "" {
		sum := sha256.Sum256([]byte(workload))
		name = strings.TrimPrefix(name+"-"+hex.EncodeToString(sum[:4]), "-")
	}
	return filepath.Join(root, name, cmp.Or(slug(gpuModel), "unknown-gpu"))
}

// Workload is the workload with the baselines in a directory: that in one of the files, else the directory's.
func Workload(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	name := filepath.Base(dir)
	files, _ := new(input.Search).Paths(dir, "*/*"+suffix)
	for _, file := range slices.Backward(files) {
		at, base := filepath.Split(file)
		text, err := read(new(bytes.Buffer), at, base, maxFile)
		if err != nil {
			continue
		}
		e, _ := decodeEntry(at, base, text, bodies)
		if e.Workload != "" && filepath.Dir(Dir("", e.Workload, "x")) == name {
			return e.Workload
		}
	}
	return name
}

// slug keeps the ASCII letters and digits of s, in lower case, and puts one hyphen for whatever lies between them.
func slug(s string) string {
	words := strings.FieldsFunc(strings.ToLower(s), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	out := strings.Join(words, "-")
	return strings.TrimSuffix(out[:min(len(out), 64)], "-")
}

// stepSuffix ends the name of the file with the typical step of a session, beside the file of the session. Pages draw
// it, and nothing is judged by it. maxStep is its largest size in bytes.
const (
	stepSuffix = ".step.json"
	maxStep    = 1 << 20
)

// WriteStep writes the typical step of a session beside the session's file, and returns the name of the new file, ""
// where the step is too large to keep.
func WriteStep(session string, d *model.Drawing) (file string, err error) {
	text, err := json.Marshal(d)
	if err != nil || len(text) >= maxStep {
		return "", err
	}
	file = strings.TrimSuffix(session, suffix) + stepSuffix
	if err := output.Text(file, 0o644, append(text, '\n')); err != nil {
		return "", unwritten(filepath.Dir(file), err)
	}
	return file, nil
}

// Step reads the typical step of the newest of these sessions that has one, nil where none has.
func Step(dir string, sessions []model.Session) (*model.Drawing, error) {
	for _, s := range slices.Backward(sessions) {
		name := s.ID + stepSuffix
		text, err := read(new(bytes.Buffer), dir, name, maxStep)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		d := &model.Drawing{}
		if err == nil {
			err = json.Unmarshal(text, d)
		}
		if err != nil {
			return nil, fmt.Errorf("%s holds no step that a page can show (%w); remove the file, or record anew",
				filepath.Join(dir, name), err)
		}
		return d, nil
	}
	return nil, nil
}
