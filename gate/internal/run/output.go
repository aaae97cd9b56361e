package run

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/proc"
	"github.com/nsgate/nsgate/gate/internal/read/bench"
	"github.com/nsgate/nsgate/gate/internal/report/cells"
	"github.com/nsgate/nsgate/gate/internal/run/confine"
)

// printed hands on a program's output and looks for outputs in it, line by line. None is missed where a long output is
// not kept as a whole. A carriage return ends a line too, as in progress bars.
type printed struct {
	to       *proc.Output
	patterns []*regexp.Regexp
	line     []byte
	found    [][]string
	units    []string          // behind the last number that each pattern found, "" for none that is known
	said     func(line string) // is told the last line now and then; nil for nobody
	last     time.Time         // when it was told
}

// say tells the last line of p that is not empty, at most once a second: it is work beside the run that is measured.
func (x *printed) say(p []byte) {
	if x.said == nil || time.Since(x.last) < time.Second {
		return
	}
	p = bytes.TrimSpace(p)
	p = p[bytes.LastIndexAny(p, "\r\n")+1:]
	if len(p) > 0 {
		x.last = time.Now()
		x.said(strings.ToValidUTF8(string(p[:min(len(p), 400)]), "\uFFFD"))
	}
}

// look begins to look for patterns, which are known to be right.
func (x *printed) look(patterns []string) {
	x.patterns = measure.Map(patterns, regexp.MustCompile)
	x.found, x.units = make([][]string, len(patterns)), make([]string, len(patterns))
}

// Write never fails.
func (x *printed) Write(p []byte) (int, error) {
	const longestLine = 64 << 10 // the part of a line in bytes that is searched for outputs
	n := len(p)
	x.to.Write(p)
	x.say(p)
	for len(x.patterns) > 0 && len(p) > 0 {
		end := bytes.IndexAny(p, "\r\n")
		part := p
		if end >= 0 {
			part = p[:end]
		}
		x.line = append(x.line, part[:min(len(part), longestLine-len(x.line))]...)
		if end < 0 {
			break
		}
		x.match()
		p = p[end+1:]
	}
	return n, nil
}

// match looks for outputs in the line that has ended: the whole number around the group. Two matches are as wrong as
// more.
func (x *printed) match() {
	line := strings.ToValidUTF8(string(x.line), "\uFFFD")
	x.line = x.line[:0]
	for i, p := range x.patterns {
		for _, m := range p.FindAllStringSubmatchIndex(line, 2) {
			if len(x.found[i]) < 2 {
				number, behind := cells.Around(line, max(0, m[2]), max(0, m[3]), p)
				x.found[i], x.units[i] = append(x.found[i], number), unitOf(behind)
			}
		}
	}
}

// unitWord matches the word behind a number, which may be its unit.
var unitWord = input.Pattern(`^ ?([\pLµ%][^\s,;:()\[\]{}<>|]*)`)

// unitOf is the unit that a program prints behind a number, as in 9.5 ms and 12us; "" for a word that is none.
func unitOf(behind string) string {
	word := unitWord().FindStringSubmatch(behind)
	if word == nil {
		return ""
	}
	if _, _, known := measure.BaseUnit(word[1]); !known {
		return ""
	}
	return word[1]
}

// end returns the matches, the last line included.
func (x *printed) end() [][]string {
	if len(x.line) > 0 {
		x.match()
	}
	return x.found
}

// unprofiledOf are the unprofiled runs of base and head. They have succeeded.
func unprofiledOf(runs []Run) (base, head []model.Unprofiled) {
	for _, r := range runs {
		if !r.Unprofiled {
			continue
		}
		u := model.Unprofiled{Start: r.Start.UTC(), Wall: r.Duration, Overlapped: r.Held != nil, Results: r.Results,
			Load: r.Load, LeftOut: r.LeftOut, Units: r.Units,
			Outputs: measure.Map(r.Found, func(found []string) float64 { return outputValue(found[0]) })}
		if r.Base {
			base = append(base, u)
		} else {
			head = append(head, u)
		}
	}
	return base, head
}

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
	const mostResults = 1000 // bounds the files in which one run leaves its results
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
