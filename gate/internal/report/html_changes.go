package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/plot"
	"github.com/nsgate/nsgate/gate/internal/report/story"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// changes is the table of comparisons on a page, by the time that each adds to a step.
type changes struct {
	Rows []change
	Axis plot.SVG
}

type change struct {
	story.Row
	Name, About string
	Colour      string        // class of the numbers
	Outcome     string        // key of the filter of rows
	ID, Link    string        // the row's own name, or that of its finding
	Adds        result.Number // to a step, in ns
	Picture     plot.SVG
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

// changes adds the table of comparisons, one row a kernel or range and one a number of the workload.
func (s *reportSheet) changes(all []story.Group) {
	var list []change
	for _, g := range all {
		if g[0].F.Scope != measure.ScopeWorkload {
			list = append(list, change{Row: g[0], Adds: g.Cost()})
			continue
		}
		for _, r := range g { // each number of the workload has a row
			if r.Class != story.Within || r.F.Unit == story.NS {
				list = append(list, change{Row: r, Adds: r.Cost()})
			}
		}
	}
	size := func(c change) float64 {
		if !c.Adds.Known() {
			return -1
		}
		return math.Abs(float64(c.Adds))
	}
	slices.SortStableFunc(list, func(a, b change) int {
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
	named := map[measure.Subject]bool{}
	for i := range list {
		s.change(&list[i], forest, named)
	}
	s.add(part{ID: "changes", Title: "Changes", Nav: "Changes", Search: s.At == "", More: more,
		Changes: &changes{list, forest.Axis(func(c float64) string { return tidy(measure.Change(c)) })},
		About: "Kernels, ranges and numbers of the workload, by the time that each adds to a step. " +
			"A dot is the change, a line its interval, the shaded band the limit. The scale is linear up to " + story.Percent(result.Number(bend)) + ", logarithmic beyond."})
}

// change completes a row; named are the subjects with an earlier row.
func (s *reportSheet) change(c *change, forest plot.Forest, named map[measure.Subject]bool) {
	f, subject := c.F, c.F.Subject()
	c.Name, c.About, c.Outcome = c.Subject, c.Metric, colourOf(&c.Row)
	if subject == measure.Workload {
		c.Name, c.About = c.Metric, "of the workload"
	}
	if f.Scope == measure.ScopeKernel && len(c.Parts) == 0 {
		c.FullName = story.Join(" ", c.FullName, story.Wrapped("[", c.Geometry, "]"))
	}
	switch {
	case s.articles[subject]:
		c.Link = s.links[subject]
	case !named[subject]:
		c.ID = s.links[subject]
	}
	named[subject] = true
	dot := c.Outcome
	if c.Colour = dot; dot == "same" {
		c.Colour, dot = "", "calm"
	} else if dot == "new" {
		dot = "calm"
	}
	c.Picture = forest.Row(dot, float64(f.Change), float64(f.Low), float64(f.High), float64(f.Limit))
}

// tidy removes trailing zeros of a number with a unit: "84.00 µs" becomes "84 µs".
func tidy(text string) string {
	number, unit, ok := strings.Cut(text, " ")
	if strings.Contains(number, ".") {
		number = strings.TrimRight(strings.TrimRight(number, "0"), ".")
	}
	if !ok {
		return number
	}
	return number + story.NB + unit
}

func tick(unit string) func(float64) string {
	return func(v float64) string { return tidy(measure.Quantity(v, story.Clean(unit))) }
}
