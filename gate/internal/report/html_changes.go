package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/plot"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/measure"
)

// rowClass is how a row is coloured and filtered.
func rowClass(r row) string {
	switch r.Class {
	case failing, warned, increased:
		return "worse"
	case open, harmless:
		return "doubt"
	case improved:
		return "better"
	case added, removed, differing:
		return "new"
	}
	return "same"
}

// changes are the rows, those that add most to a step first.
func (s *reportSheet) changes(all []group) {
	type entry struct {
		row
		adds result.Number
	}
	var list []entry
	for _, g := range all {
		if g[0].F.Scope != measure.ScopeWorkload {
			e := entry{g[0], unknown}
			for i := range g {
				if e.adds = g[i].cost(); e.adds.Known() {
					break
				}
			}
			list = append(list, e)
			continue
		}
		for _, r := range g { // each of its metrics is one of its own
			if r.Class != unchanged || r.F.Unit == ns {
				list = append(list, entry{r, r.cost()})
			}
		}
	}
	size := func(e entry) float64 {
		if !e.adds.Known() {
			return -1
		}
		return math.Abs(float64(e.adds))
	}
	slices.SortStableFunc(list, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.Class/same, b.Class/same), cmp.Compare(size(b), size(a)))
	})
	untold := max(len(list)-maxChanges, 0)
	list = list[:len(list)-untold]
	var limits, seen []float64
	for _, e := range list {
		seen = append(seen, float64(e.F.Change))
		if e.F.Limit.Known() && e.F.Limit > 0 {
			limits = append(limits, float64(e.F.Limit))
		}
	}
	bend := 0.03
	if slices.Sort(limits); len(limits) > 0 {
		bend = limits[len(limits)/2]
	}
	forest := plot.NewForest(bend, seen)
	t := &table{Title: "Every comparison, by what it adds to a step", Class: "rows", Columns: []column{{Title: "Name", Sorted: true, Up: true}, {Title: "Baseline → head"},
		{Title: "Change", Right: true, Sorted: true}, {Title: "Interval", Pic: true, Head: forest.Axis(func(c float64) string { return tidy(measure.Change(c)) })},
		{Title: "A step", Right: true, Sorted: true}, {Title: "GPU time", Right: true, Sorted: true}, {Title: "Outcome", Sorted: true, Up: true}}}
	told := map[measure.Subject]bool{}
	for _, e := range list {
		t.Rows = append(t.Rows, s.change(e.row, e.adds, forest, told))
	}
	if untold > 0 {
		t.More = fmt.Sprintf("%d more rows, which changed a step least, are not drawn; the report inside has them.", untold)
	}
	s.add(part{ID: "changes", Title: "Changes", Nav: "Changes", Table: t, Search: s.At == "", About: "Each row is a kernel, range or number of the workload, those that changed a step most first: " +
		"its change as a dot with the interval, in the shaded band what its limit allows. The scale is linear up to " + percent(result.Number(bend)) + ", logarithmic beyond."})
}

func (s *reportSheet) change(r row, adds result.Number, forest plot.Forest, told map[measure.Subject]bool) tableRow {
	f, subject := r.F, r.F.Subject()
	name := cell{Text: Elide(r.Subject, maxName), Full: r.FullName, Note: Elide(Clean(f.Role), maxName)}
	about := r.Metric
	if subject == measure.Workload {
		name.Text, about = r.Metric, "of the workload"
	}
	if f.Scope == measure.ScopeKernel && len(r.Parts) == 0 {
		name.Full = join(" ", name.Full, wrapped("[", r.Geometry, "]"))
	}
	out := tableRow{Outcome: rowClass(r)}
	switch {
	case s.articles[subject]:
		name.Link = s.link(subject)
	case !told[subject]:
		out.ID = s.links[subject]
	}
	told[subject] = true
	class, calm := out.Outcome, out.Outcome
	if class == "same" {
		class = ""
	}
	if calm == "same" || calm == "new" {
		calm = "calm"
	}
	step := ""
	if adds.Known() {
		step = signed(adds)
	}
	result := strings.TrimLeft(r.Result(), "❌⚠️✅ ")
	out.Cells = []cell{name, {Text: r.Values, Note: about}, {Text: r.Change, Sort: brief(f.Change), Class: class},
		{Text: r.Interval, SVG: forest.Row(calm, float64(f.Change), float64(f.Low), float64(f.High), float64(f.Limit))},
		{Text: step, Sort: brief(adds)}, {Text: r.Share, Sort: brief(f.Share)}, {Text: result, Class: class}}
	return out
}

// brief is a number to sort by, "" where it is not known.
func brief(n result.Number) string {
	if !n.Known() {
		return ""
	}
	return strconv.FormatFloat(float64(n), 'g', 4, 64)
}

// tidy takes zeros off the end of a number that has a unit behind it: "84.00 µs" is "84 µs".
func tidy(text string) string {
	number, unit, ok := strings.Cut(text, " ")
	if strings.Contains(number, ".") {
		number = strings.TrimRight(strings.TrimRight(number, "0"), ".")
	}
	if !ok {
		return number
	}
	return number + nb + unit
}

// tick prints a value at an axis.
func tick(unit string) func(float64) string {
	return func(v float64) string { return tidy(measure.Quantity(v, Clean(unit))) }
}
