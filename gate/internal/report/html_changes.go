package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/report/plot"
	"github.com/nsgate/nsgate/gate/internal/report/story"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// change is a row of the table of comparisons.
type change struct {
	story.Row
	adds result.Number // to a step, in ns
}

// colourOf is the CSS class of a row for colours and filters of a page.
func colourOf(r *story.Row) string {
	switch r.Class {
	case story.Failing, story.Warned, story.Increased:
		return "worse"
	case story.Open, story.Harmless:
		return "doubt"
	case story.Faster:
		return "better"
	case story.New, story.Gone, story.Differing:
		return "new"
	}
	return "same"
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
	size := func(c change) float64 {
		if !c.adds.Known() {
			return -1
		}
		return math.Abs(float64(c.adds))
	}
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
	for _, c := range list {
		t.Rows = append(t.Rows, s.change(c, forest, named))
	}
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
	colour, dot := outcome, outcome
	if outcome == "same" {
		colour = ""
	}
	if outcome == "same" || outcome == "new" {
		dot = "calm"
	}
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
