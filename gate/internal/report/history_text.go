package report

import (
	"cmp"
	"fmt"
	"math"

	"github.com/nsgate/nsgate/gate/internal/history"
	"github.com/nsgate/nsgate/gate/internal/report/story"
)

// historyRows is the most trends that text shows without --verbose.
const historyRows = 15

// historyText writes for a person at a terminal: what changed and when, then every trend as a line.
func historyText(h *history.History, o story.Options) (string, error) {
	p := newPage(o)
	first, last := h.Moments[0], h.Moments[len(h.Moments)-1]
	p.line(0, 2, span{fmt.Sprintf("%s of %s on %s, %s to %s", story.Count(len(h.Moments), "session"), cmp.Or(story.Clean(h.Workload), "the workload"), story.Clean(h.GPU), story.Day(first.At), story.Day(last.At)), none})
	levels, none := story.LevelTable(h, story.Source{})
	p.title("Changes of level")
	for _, r := range levels.Rows {
		c := r.Cells
		p.line(2, 4, span{c[2].Text + " ", styles[r.Tone]}, span{fmt.Sprintf("%s %s: %s on %s, %s", c[0].Text, c[0].Note, c[1].Text, c[3].Text, c[4].Text), ""})
	}
	p.dim(2, none)
	most := historyRows
	if o.Verbose {
		most = math.MaxInt
	}
	t := story.TrendTable(h, max(10, min(40, p.Width-76)), most)
	t.More = story.Join("; ", t.More, story.Wrapped("", map[bool]string{true: o.ShowAll}[t.More != ""], " shows all"))
	p.title("Trends")
	if len(t.Rows) == 0 {
		p.dim(2, "none: a trend takes two sessions of the same step, model of GPU and profiler")
	} else {
		p.table(t)
	}
	p.list("Measured with something else from", "-", "", story.Elsewhere(h))
	return p.b.String(), nil
}
