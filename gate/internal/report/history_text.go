package report

import (
	"cmp"
	"fmt"
	"math"
	"strconv"

	"github.com/nsgate/nsgate/gate/internal/history"
	"github.com/nsgate/nsgate/gate/internal/report/codehost"
	"github.com/nsgate/nsgate/gate/internal/report/story"
)

// historyRows is the most trends that text shows without --verbose.
const historyRows = 15

// historied is what changed and when, then every trend as a line.
func historied(h *history.History, o story.Options) story.Document {
	head := story.Join(", ", fmt.Sprintf("%s of %s%s", story.Count(len(h.Moments), "session"),
		cmp.Or(story.Clean(h.Workload), "the workload"), story.Wrapped(" on ", story.Clean(h.GPU), "")),
		story.Period(h.Moments))
	levels, none := story.LevelTable(h, codehost.Source{})
	most := historyRows
	if o.Verbose {
		most = math.MaxInt
	}
	changes := story.Lines{Title: "Changes of level"}
	for _, r := range levels.Rows[:min(most, len(levels.Rows))] {
		c := r.Cells
		changes.List = append(changes.List, story.Paragraph(1, r.Tone.Of(c[2].Text+" "),
			story.Plain.Of(fmt.Sprintf("%s %s: %s on %s, %s", c[0].Text, c[0].Note, c[1].Text, c[3].Text, c[4].Text))))
	}
	if more := len(levels.Rows) - most; more > 0 {
		none = story.Join("", strconv.Itoa(more), " smaller", story.Wrapped(" (", o.ShowAll, ")"))
	}
	changes.List = append(changes.List, story.Note(1, none))
	t := story.TrendTable(h, max(10, min(40, o.Columns()-76)), most)
	t.Title = "Trends"
	t.Hint(o)
	d := story.Document{story.Lines{List: []story.Line{story.Paragraph(0, story.Plain.Of(head))}}, changes, t}
	if len(t.Rows) == 0 {
		d = append(d, story.Lines{Title: t.Title, List: []story.Line{
			story.Note(1, "none: a trend takes two sessions of the same step, model of GPU and profiler")}})
	}
	return append(d, story.List("Measured with something else from", "-", story.Plain, story.Elsewhere(h)))
}
