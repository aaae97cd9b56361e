// Package baseline is the committed sessions: text made for review.
//
// A baseline is a directory with three CSV files, sorted so that a new session shows as added lines:
//
//   - sessions.csv, one row a session: the environment, the warm-up and what remained of each run, commit and reason;
//   - subjects.csv, one row a kernel, range, copy kind, output or workload: the id that the samples use and the full name;
//   - samples.csv, one row a (subject, metric, session): one value a run, separated by spaces.
//
// Equal neighbours in a list are written once with their number (32*5), a run without a value is "-", and so are the steps
// and launches of an untraced run. In cells of free text, backslash and what does not print stand as Go escapes (\n,
// \u202e), and a cell that a spreadsheet would take for a formula (it begins with = + - or @), or that begins with ', has
// a ' before it.
//
// Reading accepts any order of rows and columns, CRLF and a byte order mark, and nothing else that writing does not
// give: errors name file and line.
package baseline

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/nsgate/nsgate/gate/measure"
)

// The files of a baseline, in the order in which they are replaced.
const (
	subjectsFile = "subjects.csv"
	samplesFile  = "samples.csv"
	sessionsFile = "sessions.csv"
)

var fileNames = [...]string{subjectsFile, samplesFile, sessionsFile}

// Dir is where below root the baseline of a workload on a model of GPU lies: root/kernels/nvidia-h200. A workload's
// name that is not of lower-case letters, digits and single hyphens gets a short hash, so that no two share a
// directory. GPU models get none: [Update] refuses to put two into one baseline.
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

// Read reads the sessions of a baseline, the oldest first. Where there is none the error is [fs.ErrNotExist]; every
// other error says what is wrong with which line of which file.
func Read(dir string) ([]measure.Session, error) {
	unlock, _, err := lock(dir, false)
	if err != nil {
		return nil, err
	}
	sessions, err := read(dir)
	unlock()
	if err == nil || len(unfinished(dir)) == 0 {
		return sessions, err
	}
	unlock, locked, err := lock(dir, true)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if locked {
		finish(dir)
	}
	return read(dir)
}

func read(dir string) ([]measure.Session, error) {
	data, err := load(dir)
	if err != nil {
		return nil, err
	}
	return decode(dir, data)
}

// load reads the files as they are.
func load(dir string) (files, error) {
	data := make(files, len(fileNames))
	var present, missing string
	for _, name := range fileNames {
		b, err := os.ReadFile(filepath.Join(dir, name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			missing = name
		case err != nil:
			return nil, err
		default:
			present = name
			data[name] = b
		}
	}
	switch {
	case present == "":
		return nil, fmt.Errorf("%s holds no baseline: %w", dir, fs.ErrNotExist)
	case missing != "":
		return nil, fmt.Errorf("%s is missing beside %s; restore it from version control, or remove the directory and record again",
			filepath.Join(dir, missing), present)
	}
	return data, nil
}

// Locate finds the first row of a metric of a subject, for annotations: samples.csv below dir and the line in it,
// counted from 1. Where there is no such row, or no baseline, ok is false.
func Locate(dir string, s measure.Subject, metric string) (file string, line int, ok bool) {
	data, err := load(dir)
	if err != nil {
		return "", 0, false
	}
	subjects, err := table[subjectRow](dir, subjectsFile, data)
	if err != nil {
		return "", 0, false
	}
	samples, err := table[sampleRow](dir, samplesFile, data)
	if err != nil {
		return "", 0, false
	}
	for _, r := range subjects {
		c := r.cells
		if subject := r.row.subject(&c); c.err != nil || subject != s {
			continue
		}
		for _, x := range samples {
			if x.row.Scope == r.row.Scope && x.row.Subject == r.row.Subject && x.row.Metric == metric {
				return filepath.Join(dir, samplesFile), x.cells.line, true
			}
		}
	}
	return "", 0, false
}
