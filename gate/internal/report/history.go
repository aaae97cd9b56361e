package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/history"
	"github.com/nsgate/nsgate/gate/measure"
)

// trendTable lists every number over time, the largest change first, drawn in at most width bars.
func trendTable(h *history.History, width, most int) *table {
	t := &table{Title: "Numbers over time", Columns: []column{{Title: "", least: 16, Sorted: true, Up: true}, {Title: ""}, {Title: "Over time", Pic: true, Class: "line"}, {Title: "over time", text: true}, {Title: "first", Right: true, rank: 1, Label: "first"},
		{Title: "last", Right: true, Label: "last"}, {Title: "change", Right: true, Sorted: true, Label: "change"}, {Title: "since " + anchorOf(h), Right: true, optional: true, Label: "since the anchor"}}}
	for _, x := range h.Trends {
		values, since := known(x.Values), ""
		if x.SinceAnchor != nil {
			since = changed(*x.SinceAnchor)
		}
		t.Rows = append(t.Rows, tableRow{Cells: []cell{{Text: Elide(subject(x.Scope, x.Title()), maxName)}, {Text: metric(x.Metric)}, {}, {Text: barsOf(values, width)}, {Text: quantity(values[0], x.Unit)},
			{Text: quantity(values[len(values)-1], x.Unit)}, {Text: changed(x.Change), Sort: brief(x.Change)}, {Text: since}}})
	}
	t.most(most, func(left int) string { return fmt.Sprintf("… and %s that changed less", count(left, "trend")) })
	return t
}

// anchorOf is the name of the anchor session, "" for none.
func anchorOf(h *history.History) string {
	at := h.Anchor()
	switch {
	case at < 0:
		return ""
	case h.Moments[at].Anchor == "yes":
		return "anchor of " + day(h.Moments[at].At)
	}
	return Elide(trimmed(h.Moments[at].Anchor), 20)
}

// levelTable lists every change of level; none is the sentence where there are none.
func levelTable(h *history.History, source Source) (t *table, none string) {
	t = &table{Title: "When the level of a number changed", Columns: []column{{Title: "Name"}, {Title: "Before → after", Class: "wide"}, {Title: "Change", Right: true}, {Title: "When"}, {Title: "Where", Class: "wide"}}}
	enough := false
	for _, x := range h.Trends {
		enough = enough || x.Enough
		m, _ := measure.MetricByName(x.Metric)
		for _, c := range x.Changes {
			r := tableRow{tone: bad}
			class, where := "worse", "between "+orUnknown(c.From)+" and "+orUnknown(c.To)
			if (c.Change < 0) == (m.Better != measure.Higher) {
				class, r.tone = "better", good
			}
			if len(c.Elsewhere) > 0 {
				class, r.tone, where = "doubt", doubtful, "with another "+Clean(strings.Join(c.Elsewhere, " and "))+", which is no change of the code"
			}
			r.Cells = []cell{{Text: Elide(subject(x.Scope, x.Title()), maxName), Note: m.Title()}, {Text: pair(c.Before, c.After, x.Unit, 4)}, {Text: changed(c.Change), Class: class},
				{Text: day(h.Moments[c.Moment].At)}, {Text: where, Link: source.commit(c.To)}}
			t.Rows = append(t.Rows, r)
		}
	}
	switch {
	case !enough:
		return t, "too few sessions to tell: ten are needed; below is the change from the first to the last"
	case len(t.Rows) == 0:
		return t, "none"
	}
	return t, ""
}

// elsewhere lists the sessions since which the driver, the clock or the like is another.
func elsewhere(h *history.History) []string {
	var lines []string
	for _, m := range h.Moments {
		if what := others(m); len(what) > 0 {
			lines = append(lines, day(m.At)+": another "+Clean(strings.Join(what, ", ")))
		}
	}
	return lines
}

// others are the changes of the environment at a moment, without a change of host.
func others(m history.Moment) []string {
	return slices.DeleteFunc(slices.Clone(m.Since), func(s string) bool { return s == "host" })
}

func orUnknown(commit string) string { return cmp.Or(Elide(Clean(commit), 12), "an unknown commit") }
