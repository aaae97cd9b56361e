package run

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/bench"
	"github.com/nsgate/nsgate/gate/internal/run/confine"
)

// mostResults bounds the files in which one run leaves its results.
const mostResults = 1000

// results are the files in which a run leaves what a harness measured.
type results struct {
	patterns []string
	rows     string // filter of jq, "" for the format of a harness
	workdir  string // that patterns are relative to
	dir      string // of the run
	before   map[string]os.FileInfo
}

// newResults makes the directory of a run, and notes the files that are there before it.
func newResults(patterns []string, rows, private, workdir string) (r *results, err error) {
	r = &results{patterns: patterns, rows: rows, workdir: workdir, before: map[string]os.FileInfo{}}
	if r.dir, err = os.MkdirTemp(private, "run"); err != nil {
		return nil, err
	}
	names, err := r.files()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if info, err := os.Stat(name); err == nil {
			r.before[name] = info
		}
	}
	return r, nil
}

func (r *results) expand(word string) string { return strings.ReplaceAll(word, measure.RunDir, r.dir) }

// files are those that the patterns match now, sorted, without directories.
func (r *results) files() (names []string, err error) {
	var all input.Search
	for _, p := range r.patterns {
		dir := r.workdir
		if rest, own := strings.CutPrefix(p, measure.RunDir); own { // its name is letters and digits
			dir, p = filepath.Dir(r.dir), filepath.Base(r.dir)+rest
		}
		found, err := all.Paths(dir, p)
		if err != nil {
			return nil, err
		}
		names = append(names, found...)
	}
	slices.Sort(names)
	return slices.Compact(slices.DeleteFunc(names, func(name string) bool {
		info, err := os.Stat(name)
		return err == nil && info.Mode()&fs.ModeType != 0
	})), nil
}

// read reads what the run wrote. A file that it left as it was is of another run, and an error.
func (r *results) read(ctx context.Context) (*model.Session, error) {
	names, err := r.files()
	stale := slices.IndexFunc(names, func(name string) bool {
		old := r.before[name]
		info, err := os.Stat(name)
		return old != nil && err == nil && os.SameFile(info, old) && info.Size() == old.Size() &&
			info.ModTime().Equal(old.ModTime())
	})
	switch {
	case err != nil:
		return nil, err
	case len(names) == 0:
		return nil, fmt.Errorf("it wrote no file that %s matches", strings.Join(r.patterns, " or "))
	case stale >= 0:
		return nil, fmt.Errorf("%s is there and was not written by this run", names[stale])
	case len(names) > mostResults:
		return nil, fmt.Errorf("it wrote %d files, more than the %d that are read", len(names), mostResults)
	}
	var session *model.Session
	err = confine.Ask(ctx, resultsMode, confine.For(names...), harnessFiles{Rows: r.rows, Names: names},
		func(s *model.Session) error { session = s; return nil })
	return session, confine.Refused(err, strings.Join(names, ", "))
}

const resultsMode = "--results"

func init() { confine.Register(resultsMode, harnessFiles.read) }

// harnessFiles are the files that a run wrote.
type harnessFiles struct {
	Rows  string // filter of jq, "" for the format of a harness
	Names []string
}

func (x harnessFiles) read(_ context.Context, send func(*model.Session) error) error {
	s, err := bench.Open(x.Rows, x.Names...)
	if err != nil {
		return err
	}
	return send(s)
}
