package report

import (
	"io/fs"

	"github.com/nsgate/nsgate/gate/internal/locate"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/measure"
)

// Locator says where in a repository a finding of a report is written down; file is relative to its root.
type Locator func(r *result.Report, f result.Finding) (file string, line int, ok bool)

// NewLocator finds the definition of a finding's kernel in a repository, and where it knows none asks rows, which says
// where in the baseline a finding stands. Either may be nil. The repository is searched once, when it is first needed.
func NewLocator(root fs.FS, rows Locator) Locator {
	definition := func(string) (string, int, bool) { return "", 0, false }
	if root != nil {
		definition = locate.Kernels(root)
	}
	return func(r *result.Report, f result.Finding) (string, int, bool) {
		if f.Scope == measure.ScopeKernel {
			if file, line, ok := definition(f.Kernel); ok {
				return file, line, true
			}
		}
		if rows == nil {
			return "", 0, false
		}
		return rows(r, f)
	}
}

// Remark is what a reviewer should see beside the code: the findings on one kernel, range or workload.
type Remark struct {
	Fails bool // the gate; else it is a warning
	Title string
	Lines []string // harmless for a CI runner
	File  string   // relative to the repository, "" where that is unknown
	Line  int
}

// Waterfall is the change of a report's step and what it is made of, a line each, harmless for a CI runner; none where there is
// nothing to tell.
func Waterfall(r *result.Report) []string {
	var out []string
	for _, l := range newView(r, Options{}).Fall.Lines() {
		out = append(out, Line(l))
	}
	return out
}

// Remarks are about what failed, then about what warns or is undecided, each worst first.
func Remarks(r *result.Report, o Options) []Remark {
	var failed, others []Remark
	for _, w := range r.Each() {
		v, of := newView(w, o), ""
		if len(r.Workloads) > 0 {
			of = v.Workload + ": "
		}
		failed = append(failed, v.remarks(of, failing)...)
		others = append(others, v.remarks(of, warned, open)...)
	}
	return append(failed, others...)
}

// remarks are about the rows of some classes; of goes before their titles.
func (v *view) remarks(of string, classes ...class) []Remark {
	var out []Remark
	for _, g := range groups(v.of(classes...)) {
		x := Remark{Fails: g[0].Class == failing, Title: of + g[0].title()}
		x.File, x.Line = v.place(g[0].F)
		var lines []string
		for _, r := range g {
			lines = append(lines, r.Metric+": "+r.describe(), r.Reason)
		}
		if g[0].F.Subject() == measure.Workload {
			lines = append(lines, v.Fall.Lines()...)
			if v.Ranks != nil {
				lines = append(lines, v.Ranks.Told...)
			}
		}
		lines = append(lines, g.evidence()...)
		if c := g.cause(); c != nil {
			lines = append(lines, c.Summary)
		}
		for _, l := range nonempty(append(lines, Elide(g[0].FullName, 600))...) {
			x.Lines = append(x.Lines, Line(l))
		}
		out = append(out, x)
	}
	return out
}
