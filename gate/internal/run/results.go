package run

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate/internal/bench"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// mostResults bounds the files in which one run leaves its results.
const mostResults = 1000

// results are the files in which a run leaves what a harness measured.
type results struct {
	patterns []string // with the directory in them
	dir      string   // of the run
	before   map[string]stamp
}

// stamp tells whether a file was written again.
type stamp struct {
	at   time.Time
	size int64
	info os.FileInfo
}

// newResults makes the directory of a run, and notes the files that are there before it.
func newResults(patterns []string, private, workdir string) (r *results, err error) {
	r = &results{before: map[string]stamp{}}
	if r.dir, err = os.MkdirTemp(private, "run"); err != nil {
		return nil, err
	}
	for _, p := range patterns {
		p = r.expand(p)
		if !filepath.IsAbs(p) {
			p = filepath.Join(workdir, p)
		}
		r.patterns = append(r.patterns, p)
	}
	for _, name := range r.files() {
		if info, err := os.Stat(name); err == nil {
			r.before[name] = stamp{info.ModTime(), info.Size(), info}
		}
	}
	return r, nil
}

func (r *results) expand(word string) string { return strings.ReplaceAll(word, measure.RunDir, r.dir) }

// files are those that the patterns match now, sorted, without directories.
func (r *results) files() (names []string) {
	for _, p := range r.patterns {
		found, _ := filepath.Glob(p) // the policy was checked
		names = append(names, found...)
	}
	slices.Sort(names)
	return slices.Compact(slices.DeleteFunc(names, func(name string) bool {
		info, err := os.Stat(name)
		return err == nil && info.Mode()&fs.ModeType != 0
	}))
}

// read reads what the run wrote. A file that it left as it was is of another run, and an error.
func (r *results) read() (*model.Session, error) {
	names := r.files()
	written := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		old, was := r.before[name]
		info, err := os.Stat(name)
		return was && err == nil && info.ModTime().Equal(old.at) && info.Size() == old.size && os.SameFile(info, old.info)
	})
	switch {
	case len(names) == 0:
		return nil, fmt.Errorf("it wrote no file that %s matches", strings.Join(r.patterns, " or "))
	case len(written) < len(names):
		return nil, fmt.Errorf("%s is there and was not written by this run", stale(names, written))
	case len(names) > mostResults:
		return nil, fmt.Errorf("it wrote %d files, more than the %d that are read", len(names), mostResults)
	}
	return bench.Open(names...)
}

// stale is the first of the names that was not written.
func stale(names, written []string) string {
	for _, name := range names {
		if !slices.Contains(written, name) {
			return name
		}
	}
	return ""
}

func (r *results) close() { os.RemoveAll(r.dir) }
