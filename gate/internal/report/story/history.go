package story

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/history"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/report/codehost"
)

// TrendTable lists every number over time, the largest change first, drawn in at most width bars.
func TrendTable(h *history.History, width, most int) *Table {
	t := &Table{Title: "Numbers over time", Columns: []Column{{Title: "", Least: 16, Sorted: true, Up: true},
		{Title: ""}, {Title: "Over time", Pic: true, Class: "line"}, {Title: "over time", text: true},
		{Title: "first", Right: true, Rank: 1, Label: "first"},
		{Title: "last", Right: true, Label: "last"}, {Title: "change", Right: true, Sorted: true, Label: "change"},
		{Title: "since " + AnchorOf(h), Right: true, Optional: true, Label: "since the anchor"}}}
	for _, x := range h.Trends {
		values, since := Known(x.Values), ""
		if x.SinceAnchor != nil {
			since = Changed(*x.SinceAnchor)
		}
		t.Rows = append(t.Rows, TableRow{Cells: []Cell{{Text: Elide(Subject(x.Scope, x.Title()), MaxName)},
			{Text: Metric(x.Metric)}, {}, {Text: BarsOf(values, width)}, {Text: Quantity(values[0], x.Unit)},
			{Text: Quantity(values[len(values)-1], x.Unit)}, {Text: Changed(x.Change), Sort: Brief(x.Change)},
			{Text: since}}})
	}
	t.Most(most, func(left int) string { return fmt.Sprintf("… and %s that changed less", Count(left, "trend")) })
	return t
}

// AnchorOf is the name of the anchor session, "" for none.
func AnchorOf(h *history.History) string {
	at := h.Anchor()
	switch {
	case at < 0:
		return ""
	case h.Moments[at].Anchor == "yes":
		return "anchor of " + Day(h.Moments[at].At)
	}
	return Elide(Trimmed(h.Moments[at].Anchor), 20)
}

// LevelTable lists every change of level; none is the sentence where there are none.
func LevelTable(h *history.History, source codehost.Source) (t *Table, none string) {
	t = &Table{Title: "When the level of a number changed", Columns: []Column{{Title: "Name"},
		{Title: "Before → after", Class: "wide"}, {Title: "Change", Right: true}, {Title: "When"},
		{Title: "Where", Class: "wide"}}}
	type level struct {
		*history.Trend
		history.LevelChange
	}
	enough, levels := false, []level{}
	for i := range h.Trends {
		enough = enough || h.Trends[i].Enough
		of := func(c history.LevelChange) level { return level{&h.Trends[i], c} }
		levels = slices.Concat(levels, measure.Map(h.Trends[i].Changes, of))
	}
	measure.Sort(levels, func(a, b level) int {
		return cmp.Compare(math.Abs(float64(b.LevelChange.Change)), math.Abs(float64(a.LevelChange.Change)))
	})
	for _, x := range levels {
		c, at := x.LevelChange, h.Moments[x.Moment]
		m, _ := measure.MetricByName(x.Metric)
		r := TableRow{Tone: Bad}
		class, where := "worse", "between "+origin(c.From, at)+" and "+origin(c.To, at)
		if (c.Change < 0) == (m.Better != measure.Higher) {
			class, r.Tone = "better", Good
		}
		if len(c.Elsewhere) > 0 {
			class, r.Tone = "doubt", Doubtful
			where = "with another " + Clean(strings.Join(c.Elsewhere, " and ")) + ", which is no change of the code"
		}
		r.Cells = []Cell{{Text: Elide(Subject(x.Scope, x.Title()), MaxName), Note: m.Title()},
			{Text: pair(c.Before, c.After, x.Unit, 4)}, {Text: Changed(c.Change), Class: class}, {Text: When(at)},
			{Text: where}}
		if at.Commit != "" {
			r.Cells[4].Link = source.Commit(c.To)
		}
		t.Rows = append(t.Rows, r)
	}
	const few = "too few sessions to tell: ten are needed; below is the change from the first to the last"
	return t, measure.Either(enough, measure.Either(len(t.Rows) == 0, "none", ""), few)
}

// Period is the first and the last time of moments, one where they are the same.
func Period(all []history.Moment) string {
	first, last := When(all[0]), When(all[len(all)-1])
	return first + measure.Either(first == last, "", " to "+last)
}

// When is the day of a moment, or the file that a harness wrote without one.
func When(m history.Moment) string {
	return measure.Either(m.At.IsZero() && m.File != "", Elide(Clean(m.File), MaxName), Day(m.At))
}

// Elsewhere lists the sessions since which the driver, the clock or the like is another.
func Elsewhere(h *history.History) []string {
	var lines []string
	for _, m := range h.Moments {
		if what := Others(m); len(what) > 0 {
			lines = append(lines, When(m)+": another "+Clean(strings.Join(what, ", ")))
		}
	}
	return lines
}

// Others are the changes of the environment at a moment, without a change of host.
func Others(m history.Moment) []string {
	return slices.DeleteFunc(slices.Clone(m.Since), func(s string) bool { return s == "host" })
}

// origin is the commit of a level, or the file where the moment has none.
func origin(of string, at history.Moment) string {
	most := measure.Either(at.Commit == "" && at.File != "", MaxName, 12)
	return cmp.Or(Elide(Clean(of), most), "an unknown commit")
}
