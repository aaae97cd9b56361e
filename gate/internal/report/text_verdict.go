package report

import (
	"strings"

	"github.com/nsgate/nsgate/gate/internal/report/story"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// told writes what stands below the headline: the labelled lines, the slow rank, the waterfall, warnings and next steps.
func (p *page) told(v *story.Story) {
	rest, sides := v.Below()
	p.line(2, 2, span{rest, none})
	p.dim(2, sides)
	first, last := v.Says()
	p.labelled(first)
	if v.SlowRank() && v.Ranks != nil {
		p.labelled([]story.Said{{Label: "Ranks", Lines: v.Ranks.Strips, Apart: true}})
		if len(v.Ranks.Table.Rows) == story.RankRows {
			p.dim(2, v.Ranks.Table.About)
			p.table(v.Ranks.Table)
		}
	}
	if v.Falls() {
		p.waterfall(v)
	}
	p.notes(v)
	p.labelled(last)
}

func (p *page) labelled(list []story.Said) {
	for _, x := range list {
		if x.Apart && len(x.Lines) > 0 {
			p.b.WriteByte('\n')
		}
		in, head := 10, story.Pad(story.Bind(x.Label), 7)+" "
		if p.Width < 60 {
			in, head = 4, story.Bind(x.Label)+story.NB+" "
		}
		for _, t := range x.Lines {
			p.line(2, in, span{head, dim}, span{t, styles[x.Tone]})
			head = story.Pad("", in-3) + " "
		}
	}
}

// waterfall writes the parts of the step's change, and the times of the whole program that the headline leaves out.
func (p *page) waterfall(v *story.Story) {
	drawn := v.Fall != nil && len(v.Fall.Rows) > 0
	if drawn {
		p.b.WriteByte('\n')
		p.line(2, 2, span{"Where the time went, per step", none})
		width := 0
		for _, r := range v.Fall.Rows {
			width = max(width, story.Columns(r.Text))
		}
		for _, r := range v.Fall.Rows {
			what := r.What
			if r.Class == "" && !v.Verbose {
				what += story.Wrapped(story.NB+"(", story.Bind(v.ShowAll), ")")
			}
			p.line(4, 4+width+3, span{strings.Repeat(story.NB, width-story.Columns(r.Text)) + r.Text + story.NB + story.NB + " ", none}, span{what, none})
		}
	}
	if drawn && len(v.Fall.Rest) > 0 {
		p.fallRest(v.Fall.Rest)
	}
	if whole := v.Whole(); whole != "" {
		if !drawn {
			p.b.WriteByte('\n')
		}
		p.line(2, 4, span{whole, none})
	}
}

// fallRest writes the parts of everything else.
func (p *page) fallRest(rows []story.FallRow) {
	p.line(4, 4, span{"Everything else consists of changes that are small or not certain:", dim})
	width := 0
	for _, r := range rows {
		width = max(width, story.Columns(r.Text))
	}
	for _, r := range rows {
		p.line(6, 6+width+3, span{strings.Repeat(story.NB, width-story.Columns(r.Text)) + r.Text + story.NB + story.NB + " ",
			dim}, span{r.What, dim})
	}
}

func (p *page) notes(v *story.Story) {
	if len(v.Warnings) > 0 && (v.Report.Verdict == result.Fail || len(v.Warnings) > 1) {
		p.b.WriteByte('\n')
	}
	for _, t := range v.Warnings {
		p.line(2, 4, span{"! ", yellow}, span{t, none})
	}
}
