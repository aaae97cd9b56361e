package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/report/plot"
	"github.com/nsgate/nsgate/gate/internal/report/story"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// finding is the article on one subject; its row is the first of the subject.
type finding struct {
	story.Row
	ID, Colour string
	Source     *sourceLink
	Said       []string
	Pictures   []picture
	Cause      *counters
}

type counters struct {
	Summary, Limits string
	Guides          []result.Guide
	Table           *story.Table // nil for none
}

// findings are the articles on failing, warned and undecided subjects, the worst first, and the table of the runs of
// rows of files without a cause.
func (s *reportSheet) findings() (p, runs part) {
	all := story.Groups(story.Untold(s.Of(story.Failing, story.Warned, story.Open)))
	t := &story.Table{Title: "Every run of these rows", Class: "runs", Columns: []story.Column{{Title: "Name"},
		{Title: "Every run", Pic: true, Class: "line"}, {Title: "Outcome", Wrap: true}, {Title: "Why", Wrap: true}}}
	runs = part{ID: "runs", Title: "Runs", Nav: "Runs", Table: t, About: "Rows that fail the gate, are slower " +
		"without failing it, or are undecided. " + picturedRuns}
	p = part{ID: "findings", Title: "Findings", Nav: "Findings",
		About: "Kernels, ranges and numbers that fail the gate, are slower without failing it, or are undecided. " +
			picturedRuns + " Paper shows the first eight, four of them with pictures."}
	if len(all) > maxArticles {
		p.More, all = fmt.Sprintf("%d more stand in the table above.", len(all)-maxArticles), all[:maxArticles]
	}
	for _, g := range all {
		s.articles[g[0].F.Subject()] = true
		f := s.finding(g)
		if f.F.Scope != measure.ScopeBenchmark || f.Cause != nil {
			p.Findings = append(p.Findings, f)
			continue
		}
		for i, r := range g {
			row := story.TableRow{Cells: []story.Cell{
				{Text: r.Subject, Note: r.Metric + " " + story.Join(" · ", r.Values, r.Delta(), r.Allowed)},
				{SVG: s.runs(r)}, {Text: r.Result(), Class: colourOf(&r)}, {}}}
			if i == 0 {
				row.ID, row.Cells[3].Text = f.ID, strings.Join(f.Said, "; ")
			}
			t.Rows = append(t.Rows, row)
		}
	}
	if len(p.Findings) == 0 {
		t.More = p.More
	}
	return p, runs
}

// picturedRuns explains the pictures of [reportSheet.runs].
const picturedRuns = "Every dot is a run: the baseline above, the head below, the first at the top, runs of a " +
	"session close together. The solid line is the typical value, the dashed line the limit."

func (s *reportSheet) finding(g story.Group) finding {
	a := finding{Row: g[0], ID: s.links[g[0].F.Subject()], Colour: colourOf(&g[0])}
	if a.Class == story.Warned || a.Class == story.Open {
		a.Colour = "doubt"
	}
	if len(a.Parts) > 0 { // each has its own
		a.Geometry = ""
	}
	if len(a.Parts) > 0 || a.F.Scope != measure.ScopeKernel {
		a.FullName = ""
	}
	if file, line := s.Place(a.F); file != "" {
		a.Source = &sourceLink{fmt.Sprintf("%s:%d", file, line), s.Link(file, line)}
	}
	a.Said = g.Said()
	for i, x := range g {
		if svg := s.runs(x); svg != "" && i < 3 {
			a.Pictures = append(a.Pictures, picture{Title: x.Metric + ", every run",
				About: story.Join(" · ", x.Values, x.Delta(), x.Allowed), SVG: svg})
		}
	}
	a.Pictures = append(a.Pictures, s.launches(a.F.Subject())...)
	if c := g.Cause(); c != nil {
		a.Cause = &counters{Summary: story.Because(c), Limits: story.Bounds(c), Guides: story.Guides(c)}
		if len(c.Metrics) > 0 {
			a.Cause.Table = story.CounterTable(c)
		}
	}
	return a
}

func (s *reportSheet) runs(r story.Row) plot.SVG {
	if len(story.Known(r.F.BaseRuns)) == 0 || len(story.Known(r.F.HeadRuns)) == 0 {
		return ""
	}
	limit := math.NaN()
	if r.F.Limit.Known() && r.F.Base.Known() {
		limit = float64(r.F.Base) * (1 + float64(r.F.Limit))
		if r.F.Direction() == measure.Higher {
			limit = float64(r.F.Base) * (1 - float64(r.F.Limit))
		}
	}
	class := colourOf(&r)
	if class == "doubt" || class == "same" || class == "new" {
		class = "head"
	}
	base, head := r.F.Base, r.F.Head
	return plot.Runs(r.Subject+": "+r.Metric+" in every run", []plot.Group{
		{Name: "baseline", Class: "base", Runs: drawn(r.F.BaseRuns),
			Sessions: sessionsOf(&s.Report.Base, len(r.F.BaseRuns)), Typical: float64(base)},
		{Name: "head", Class: class, Runs: drawn(r.F.HeadRuns), Sessions: sessionsOf(&s.Report.Head, len(r.F.HeadRuns)),
			Typical: float64(head)},
	}, limit, tick(r.F.Unit))
}

// drawn converts runs for a picture, with NaN for unknown values.
func drawn(runs []result.Number) []float64 {
	out := make([]float64, len(runs))
	for i, v := range runs {
		out[i] = math.NaN()
		if v.Known() {
			out[i] = float64(v)
		}
	}
	return out
}

// sessionsOf is the number of runs of each session, of the profiled or the unprofiled runs, whichever add up to runs.
func sessionsOf(side *result.Side, runs int) []int {
	sum := measure.Sum(side.SessionRuns, func(n int) int { return n })
	if sum == runs {
		return side.SessionRuns
	}
	return side.SessionUnprofiled
}

func (s *reportSheet) launches(subject measure.Subject) []picture {
	d := s.Report.Drawn
	if d == nil || subject.Scope != measure.ScopeKernel {
		return nil
	}
	base, head := drawnOf(d.Base, subject), drawnOf(d.Head, subject)
	if base == nil || head == nil || min(len(base.Quantiles), len(head.Quantiles)) < 3 ||
		min(base.Count, head.Count) < 20 {
		return nil
	}
	return []picture{{Title: "time of single launches",
		About: measure.Count(base.Count, "launch", "launches") + " of the baseline above the line, " +
			measure.Count(head.Count, "launch", "launches") + " of the head below",
		SVG: plot.Spread(story.Clean(subject.Short())+": how the times of its launches are distributed",
			base.Quantiles, head.Quantiles, tick(story.NS))}}
}

// drawnOf is the drawing of a kernel's launches, nil for none.
func drawnOf(d *model.Drawing, subject measure.Subject) *model.DrawnLaunches {
	if d == nil {
		return nil
	}
	for i, x := range d.Launches {
		if x.Subject >= 0 && x.Subject < len(d.Subjects) && d.Subjects[x.Subject] == subject {
			return &d.Launches[i]
		}
	}
	return nil
}
