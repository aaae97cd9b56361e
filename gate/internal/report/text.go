package report

import (
	"fmt"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/measure"
)

func init() {
	register(Format{Name: "text", Suffix: ".txt", About: "a person at a terminal or before a log", render: text, calibration: calibrationText, summary: summaryText, bisection: bisectionText, history: historyText})
}

// texts writes the verdict on all workloads, that on each, and below what text writes of each.
func texts(whole *view, o Options) (string, error) {
	p := newPage(o)
	p.verdict(whole.Word, styles[whole.Tone], whole.Reason)
	width := 0
	for _, v := range whole.each {
		width = max(width, columns(v.Workload))
	}
	width = min(width, p.width/3)
	for _, v := range whole.each {
		p.line(2, width+4, span{pad(bind(Elide(v.Workload, width)), width) + nb + " ", none}, span{bind(v.Word) + nb + " ", styles[v.Tone]}, span{v.Reason, none})
	}
	if o.Quiet {
		return p.b.String(), nil
	}
	p.body(whole, o.Verbose)
	for _, v := range whole.each {
		p.b.WriteByte('\n')
		p.line(0, 0, span{bind(Rule(v.Workload, p.width)), dim})
		section, err := text(v, o)
		if err != nil {
			return "", err
		}
		p.b.WriteString(section)
	}
	return p.b.String(), nil
}

// Rule is the line above what is about one workload of several, so many columns wide.
func Rule(workload string, width int) string {
	name := Elide(Line(workload), width-8)
	return "── " + name + " " + strings.Repeat("─", max(width-columns(name)-4, 2))
}

// text writes the verdict, what failed, what is open, what was compared, and the commands that go on from here. Only
// commands and paths may be wider than Options.Width.
func text(v *view, o Options) (string, error) {
	if v.several() {
		return texts(v, o)
	}
	p := newPage(o)
	s := styles[v.Tone]
	if v.Tone == good && v.Report.Counts.Warned > 0 {
		s = yellow
	}
	p.verdict(v.Word, s, v.Reason)
	if !o.Quiet {
		p.body(v, o.Verbose)
	}
	return p.b.String(), nil
}

// body writes everything below the verdict.
func (p *page) body(v *view, verbose bool) {
	if s := v.Report.Measured; s != nil {
		p.title("Measured: " + headline(s))
		p.panels(s, verbose)
	}
	p.fall(v.Fall, verbose)
	p.ranks(v.Ranks, verbose)
	lists, rest := v.Lists(verbose)
	for _, l := range lists {
		if l.class == improved {
			p.warnings(v.Warnings)
		}
		if l.class == differing {
			p.differences(l)
			continue
		}
		for i, g := range l.Groups {
			if i == 0 {
				p.title(l.title)
			}
			if l.part == lookAt {
				if i > 0 {
					p.b.WriteByte('\n')
				}
				p.block(g, styles[l.tone], verbose)
				continue
			}
			p.short(g, styles[l.tone])
			if c := g.cause(); c != nil {
				p.line(4, 9, span{"why" + nb + " ", dim}, span{c.Summary, none})
			}
			if verbose {
				p.name(g[0].FullName)
			}
		}
		if l.More > 0 {
			p.dim(2, fmt.Sprintf("… and %d more", l.More))
		}
	}
	if verbose && len(v.Rows) > 0 {
		p.title("All comparisons")
		var cells [][]string
		for _, r := range v.Rows {
			cells = append(cells, r.cells())
		}
		p.table(comparisons, cells, func(i int) style { return styles[v.Rows[i].Tone()] })
	}
	if rest != "" {
		p.b.WriteByte('\n')
		p.dim(0, rest)
	}
	if len(v.Facts) > 0 {
		p.title("Compared")
	}
	for _, f := range v.Facts {
		p.line(2, 12, span{pad(f.Label, 8) + nb + " ", dim}, span{f.Text, none})
	}
	p.next(v.Next)
	for _, c := range v.Commands { // on a line of its own, unbroken so that it can be copied
		p.title(c.Label)
		p.b.WriteString("  " + defuse(c.Text) + "\n")
	}
}

// differences writes what differs and cannot be judged in a table.
func (p *page) differences(l list) {
	if len(l.Rows) == 0 {
		return
	}
	var cells [][]string
	for _, r := range l.Rows {
		cells = append(cells, r.difference())
	}
	p.title(l.title + ", " + l.Rows[0].Reason)
	p.table(differences, cells, nil)
	for _, g := range groups(l.Rows) {
		if told := strings.Join(nonempty(append([]string{g[0].Match}, g.evidence()...)...), "; "); told != "" {
			p.line(2, 4, span{"• " + bind(Elide(g[0].Subject, 40)) + ": " + told, none})
		}
	}
}

// block writes the findings on one subject in full.
func (p *page) block(g group, s style, verbose bool) {
	f := g[0]
	about := g.about("")
	// A name keeps all that tells it apart, on as many lines as it needs.
	if about != "" && columns(f.Subject) <= p.width-4-columns(about) {
		p.line(2, 4, span{bind(f.Subject) + " ", s}, span{nb + about, dim})
	} else {
		p.line(2, 4, span{f.Subject, s})
		p.dim(4, about)
	}
	if len(f.Parts) > 0 {
		p.parts(f)
	} else {
		if f.F.Scope == measure.ScopeKernel && verbose {
			p.name(f.FullName)
		}
		p.dim(4, g.origin())
	}
	label := 0
	for _, r := range g {
		label = max(label, min(columns(r.Metric), 24))
	}
	in := 4 + label + 2
	for i, r := range g {
		spans := []span{{pad(Elide(r.Metric, 24), label) + nb + " ", none}, {r.Values, none}}
		if p.width < narrow { // a long interval may go on in the next line
			r.Interval = strings.ReplaceAll(r.Interval, nb+"…"+nb, " …"+nb)
		}
		if r.Change != "" {
			spans = append(spans, span{" (", none}, span{r.Change, s}, span{strings.TrimPrefix(r.delta(), r.Change) + ")", none})
		}
		if r.Allowed != "" {
			spans = append(spans, span{", " + r.Allowed, none})
		}
		p.line(4, in, spans...)
		if r.Runs != "" && (i == 0 || verbose) {
			p.dim(in, r.Runs+" "+nb+fmt.Sprintf("%d and %s", len(r.F.BaseRuns), count(len(r.F.HeadRuns), "run")))
		}
		if (i == 0 || r.Reason != g[i-1].Reason) && !(r.F.ReasonKey == "one-run" && r.F.Cause != nil) {
			p.line(in, in, span{r.Reason, none})
		}
	}
	for _, e := range g.evidence() {
		p.line(4, 6, span{"• ", none}, span{e, none})
	}
	if c := g.cause(); c != nil {
		p.line(4, 9, span{"why" + nb + " ", dim}, span{c.Summary, none})
	}
}

// parts writes the kernels of a replacement.
func (p *page) parts(r row) {
	p.dim(4, "in "+Clean(r.F.Role))
	for _, x := range r.Parts {
		mark, time := "+", x.F.Head
		if x.F.Outcome == result.Removed {
			mark, time = "-", x.F.Base
		}
		p.line(4, 8, span{mark + nb + bind(quantity(time, x.F.Unit)) + nb + " ", dim}, span{x.Subject, dim})
	}
}

// short writes the findings on one subject in a line.
func (p *page) short(g group, s style) {
	spans := []span{{g[0].Subject + " ", s}}
	for i, r := range g {
		text := nb
		if i > 0 {
			text = "· "
		}
		text += bind(Elide(r.Metric, 24)) + nb + r.Values
		if d := r.delta(); d != "" {
			text += " (" + d + ")"
		}
		spans = append(spans, span{text + " ", none})
	}
	if about := g.about(g[0].Match); about != "" {
		spans = append(spans, span{"· " + about, dim})
	}
	p.line(2, 4, spans...)
	p.dim(4, strings.Join(g.evidence(), "; "))
}
