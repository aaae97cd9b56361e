package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
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
		up := float64(r.F.Limit)
		limit = float64(r.F.Base) * (1 + measure.Either(r.F.Direction() == measure.Higher, -up, up))
	}
	class := colourOf(&r)
	class = measure.Either(class == "worse" || class == "better", class, "head")
	return plot.Runs(r.Subject+": "+r.Metric+" in every run", []plot.Group{
		{Name: "baseline", Class: "base", Runs: drawn(r.F.BaseRuns),
			Sessions: sessionsOf(&s.Report.Base, len(r.F.BaseRuns)), Typical: float64(r.F.Base)},
		{Name: "head", Class: class, Runs: drawn(r.F.HeadRuns), Sessions: sessionsOf(&s.Report.Head, len(r.F.HeadRuns)),
			Typical: float64(r.F.Head)},
	}, limit, tick(r.F.Unit))
}

// drawn converts runs for a picture, with NaN for unknown values.
func drawn(runs []result.Number) []float64 {
	return measure.Map(runs, func(v result.Number) float64 { return float64(v.Or(result.Unknown)) })
}

// sessionsOf is the number of runs of each session, of the profiled or the unprofiled runs, whichever add up to runs.
func sessionsOf(side *result.Side, runs int) []int {
	sum := measure.Sum(side.SessionRuns, func(n int) int { return n })
	return measure.Either(sum == runs, side.SessionRuns, side.SessionUnprofiled)
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
	return measure.First(d.Launches, func(x *model.DrawnLaunches) bool {
		return x.Subject >= 0 && x.Subject < len(d.Subjects) && d.Subjects[x.Subject] == subject
	})
}

// change is a row of the table of comparisons.
type change struct {
	story.Row
	adds result.Number // to a step, in ns
}

// colourOf is the CSS class of a row for colours and filters of a page.
func colourOf(r *story.Row) string {
	return [...]string{story.Failing: "worse", story.Warned: "worse", story.Increased: "worse", story.Open: "doubt",
		story.Harmless: "doubt", story.Faster: "better", story.New: "new", story.Gone: "new", story.Differing: "new",
		story.Same: "same", story.Within: "same"}[r.Class]
}

// changes adds the table of comparisons by the time that each adds to a step: one row a kernel or range and one a
// number of the workload.
func (s *reportSheet) changes(all []story.Group) {
	var list []change
	for _, g := range all {
		if g[0].F.Scope != measure.ScopeWorkload {
			list = append(list, change{g[0], g.Cost()})
			continue
		}
		for _, r := range g { // each number of the workload has a row
			if r.Class != story.Within || r.F.Unit == story.NS {
				list = append(list, change{r, r.Cost()})
			}
		}
	}
	size := func(c change) float64 { return measure.Either(c.adds.Known(), math.Abs(float64(c.adds)), -1) }
	measure.Sort(list, func(a, b change) int {
		return cmp.Or(cmp.Compare(a.Class/story.Same, b.Class/story.Same), cmp.Compare(size(b), size(a)))
	})
	more := ""
	if left := len(list) - maxChanges; left > 0 {
		list = list[:maxChanges]
		more = fmt.Sprintf("%d more rows, which changed a step least, are not drawn; the report inside has them.", left)
	}
	if len(list) == 0 {
		return
	}
	bend := 0.03
	var limits, seen []float64
	for _, c := range list {
		seen = append(seen, float64(c.F.Change))
		if c.F.Limit.Known() && c.F.Limit > 0 {
			limits = append(limits, float64(c.F.Limit))
		}
	}
	if slices.Sort(limits); len(limits) > 0 {
		bend = limits[len(limits)/2]
	}
	forest := plot.NewForest(bend, seen)
	axis := forest.Axis(func(c float64) string { return story.Bind(measure.ScaleChange(c).Tidy().String()) })
	what, order := "Rows of the files", "the worst first"
	for _, c := range list {
		if c.F.Scope != measure.ScopeBenchmark {
			what = "Kernels, ranges and numbers of the workload"
		}
		if c.adds.Known() {
			order = "by the time that each adds to a step"
		}
	}
	t := &story.Table{Title: "Every comparison, " + order, Class: "rows", Columns: []story.Column{
		{Title: "Name", Sorted: true, Up: true}, {Title: "Baseline → head"},
		{Title: "Change", Right: true, Sorted: true}, {Pic: true, Head: axis, Class: "axis"},
		{Title: "A step", Right: true, Sorted: true, Optional: true, Class: "cost"},
		{Title: "GPU time", Right: true, Sorted: true, Optional: true, Class: "share"},
		{Title: "Outcome", Sorted: true, Up: true, Wrap: true, Class: "outcome"}}}
	named := map[measure.Subject]bool{}
	t.Rows = measure.Map(list, func(c change) story.TableRow { return s.change(c, forest, named) })
	s.add(part{ID: "changes", Title: "Changes", Nav: "Changes", Search: s.At == "", More: more, Table: t,
		About: what + ", " + order + ". A dot is the change, a line its interval, the shaded band the limit. " +
			"The scale is linear up to " +
			story.Percent(result.Number(bend)) + ", logarithmic beyond."})
}

// change is the row of a comparison; named are the subjects with an earlier row.
func (s *reportSheet) change(c change, forest plot.Forest, named map[measure.Subject]bool) story.TableRow {
	f, subject := c.F, c.F.Subject()
	outcome := colourOf(&c.Row)
	row := story.TableRow{Class: outcome}
	name, about := story.Cell{Text: c.Subject, Full: c.FullName, Note: c.Role()}, c.Metric
	if subject == measure.Workload {
		name.Text, about = c.Metric, "of the workload"
	}
	if f.Scope == measure.ScopeKernel && len(c.Parts) == 0 {
		name.Full = story.Join(" ", c.FullName, story.Wrapped("[", c.Geometry, "]"))
	}
	switch {
	case s.articles[subject]:
		name.Link = "#" + s.links[subject]
	case !named[subject]:
		row.ID = s.links[subject]
	}
	named[subject] = true
	colour := measure.Either(outcome == "same", "", outcome)
	dot := measure.Either(outcome == "same" || outcome == "new", "calm", outcome)
	row.Cells = []story.Cell{name, {Text: c.Values, Note: about},
		{Text: c.Change, Class: colour, Sort: story.Brief(f.Change)},
		{Text: c.Interval, SVG: forest.Row(dot, float64(f.Change), float64(f.Low), float64(f.High), float64(f.Limit))},
		{Text: story.Signed(c.adds), Sort: story.Brief(c.adds)},
		{Text: c.Share, Sort: story.Brief(f.Share)}, {Text: c.Result(), Class: colour}}
	return row
}

func tick(unit string) func(float64) string {
	return func(v float64) string {
		s := measure.Scale(v, story.Clean(unit)).Tidy()
		return story.Join(story.NB, s.Number, s.Unit)
	}
}
