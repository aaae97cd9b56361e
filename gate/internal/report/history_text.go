package report

import (
	"cmp"
	"fmt"
	"math"
	"strconv"

	"github.com/nsgate/nsgate/gate/internal/history"
	"github.com/nsgate/nsgate/gate/internal/report/story"
)

// historyRows is the most trends that text shows without --verbose.
const historyRows = 15

// historyText writes for a person at a terminal: what changed and when, then every trend as a line.
func historyText(h *history.History, o story.Options) (string, error) {
	p := newPage(o)
	first, last := h.Moments[0], h.Moments[len(h.Moments)-1]
	p.line(0, 2, span{story.Join(", ", fmt.Sprintf("%s of %s%s", story.Count(len(h.Moments), "session"),
		cmp.Or(story.Clean(h.Workload), "the workload"), story.Wrapped(" on ", story.Clean(h.GPU), "")),
		story.When(first)+" to "+story.When(last)), none})
	levels, none := story.LevelTable(h, story.Source{})
	p.title("Changes of level")
	most := historyRows
	if o.Verbose {
		most = math.MaxInt
	}
	for _, r := range levels.Rows[:min(most, len(levels.Rows))] {
		c := r.Cells
		p.line(2, 4, span{c[2].Text + " ", styles[r.Tone]},
			span{fmt.Sprintf("%s %s: %s on %s, %s", c[0].Text, c[0].Note, c[1].Text, c[3].Text, c[4].Text), ""})
	}
	if more := len(levels.Rows) - most; more > 0 {
		none = story.Join("", strconv.Itoa(more), " smaller", story.Wrapped(" (", o.ShowAll, ")"))
	}
	p.dim(2, none)
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
