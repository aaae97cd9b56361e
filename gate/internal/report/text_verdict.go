package report

import (
	"strings"

	"github.com/nsgate/nsgate/gate/internal/result"
)

// told writes what stands below the headline: the labelled lines, the slow rank, the waterfall, warnings and next steps.
func (p *page) told(v *view) {
	rest, sides := v.below()
	p.line(2, 2, span{rest, none})
	p.dim(2, sides)
	first, last := v.says()
	p.labelled(first)
	if v.slowRank() && v.Ranks != nil {
		p.labelled([]said{{Label: "Ranks", Lines: v.Ranks.strips, Apart: true}})
		if len(v.Ranks.Table.Rows) == rankRows {
			p.dim(2, v.Ranks.Table.About)
			p.table(v.Ranks.Table)
		}
	}
	if v.falls() {
		p.waterfall(v)
	}
	p.notes(v)
	p.labelled(last)
}

func (p *page) labelled(list []said) {
	for _, x := range list {
		if x.Apart && len(x.Lines) > 0 {
			p.b.WriteByte('\n')
		}
		in, head := 10, pad(bind(x.Label), 7)+" "
		if p.Width < 60 {
			in, head = 4, bind(x.Label)+nb+" "
		}
		for _, t := range x.Lines {
			p.line(2, in, span{head, dim}, span{t, styles[x.Tone]})
			head = pad("", in-3) + " "
		}
	}
}

// waterfall writes the parts of the step's change, and the times of the whole program that the headline leaves out.
func (p *page) waterfall(v *view) {
	drawn := v.Fall != nil && len(v.Fall.Rows) > 0
	if drawn {
		p.b.WriteByte('\n')
		p.line(2, 2, span{"Where the time went, per step", none})
		width := 0
		for _, r := range v.Fall.Rows {
			width = max(width, columns(r.Text))
		}
		for _, r := range v.Fall.Rows {
			what := r.What
			if r.Class == "" {
				what += wrapped(nb+"(", bind(v.ShowAll), ")")
			}
			p.line(4, 4+width+3, span{strings.Repeat(nb, width-columns(r.Text)) + r.Text + nb + nb + " ", none}, span{what, none})
		}
	}
	if whole := v.whole(); whole != "" {
		if !drawn {
			p.b.WriteByte('\n')
		}
		p.line(2, 4, span{whole, none})
	}
}

func (p *page) notes(v *view) {
	if len(v.Warnings) > 0 && (v.Report.Verdict == result.Fail || len(v.Warnings) > 1) {
		p.b.WriteByte('\n')
	}
	for _, t := range v.Warnings {
		p.line(2, 4, span{"! ", yellow}, span{t, none})
	}
}
