package story

import (
	"cmp"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// Guides are the links of a cause. A saved report may hold other links, which are not shown.
func Guides(c *result.Cause) []result.Guide {
	var out []result.Guide
	for _, g := range c.Guides {
		if isDocumentation(g.Link) && len(out) < 3 {
			out = append(out, result.Guide{Title: Elide(Clean(g.Title), 120), Link: g.Link})
		}
	}
	return out
}

func Because(c *result.Cause) string {
	return Join(" ", Trimmed(c.Summary), Wrapped("(", Trimmed(c.Note), ")"))
}

// Bounds says what limits a kernel on both sides, "" where it is unknown.
func Bounds(c *result.Cause) string {
	base, head := Trimmed(c.Base), Trimmed(c.Head)
	if base == "" && head == "" {
		return ""
	}
	return "Baseline: " + cmp.Or(base, measure.Unknown) + ". Head: " + cmp.Or(head, measure.Unknown) + "."
}

func CounterTable(c *result.Cause) *Table {
	t := &Table{Title: "Counters of Nsight Compute", Class: "counters",
		Columns: []Column{{Title: "Counter"}, {Title: "Baseline", Right: true, Label: "baseline"},
			{Title: "Head", Right: true, Label: "head"}, {Title: "Change", Right: true}}}
	for _, m := range c.Metrics {
		change := ""
		if m.Base > 0 && m.Head.Known() && m.Head != m.Base {
			change = Changed(m.Head/m.Base - 1)
		}
		t.Add(Elide(Metric(m.Name), 40), Quantity(m.Base, m.Unit), Quantity(m.Head, m.Unit), change)
	}
	return t
}
