package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/measure"
)

// texts writes the verdict on all workloads, a line for each, then the report on each that does not pass.
func texts(whole *view) string {
	p := newPage(whole.Options)
	p.verdict(whole.Word, styles[whole.Tone], whole.Reason)
	name, word := 0, 0
	for _, v := range whole.each {
		name, word = max(name, columns(v.Workload)), max(word, columns(v.Word))
	}
	name = min(name, p.Width/3)
	for _, v := range whole.each {
		p.line(2, name+word+6, span{pad(bind(Elide(v.Workload, name)), name) + nb + " ", none}, span{pad(bind(v.Word), word) + nb + " ", styles[v.Tone]}, span{v.told(maxHeadline - name - word - 6), none})
	}
	if p.Quiet {
		return p.b.String()
	}
	p.warnings(whole.Warnings)
	for _, v := range whole.each {
		if v.Tone == good && !p.Verbose && len(v.Warnings) == 0 {
			continue
		}
		p.b.WriteByte('\n')
		p.line(0, 0, span{bind(Rule(v.Workload, p.Width)), dim})
		own := *v
		own.Ways = nil // they are of the whole
		section, _ := text(&own)
		p.b.WriteString(section)
	}
	p.way(whole)
	if p.Verbose {
		p.compared(whole)
	}
	return p.b.String()
}

// Rule is the line above the report on one workload of several.
func Rule(workload string, width int) string {
	name := Elide(Clean(workload), width-8)
	return "── " + name + " " + strings.Repeat("─", max(width-columns(name)-4, 2))
}

// text writes the verdict, why, where the time went and the next commands. Only commands and paths may exceed Options.Width.
func text(v *view) (string, error) {
	if v.several() {
		return texts(v), nil
	}
	p := newPage(v.Options)
	p.headline(v)
	if p.Quiet {
		return p.b.String(), nil
	}
	p.told(v)
	if told := v.unjudged(); told != "" {
		p.line(2, 14, span{bind("Not judged") + nb + " ", dim}, span{told, none})
	}
	if s := v.Report.Measured; s != nil {
		p.title("Measured: " + headline(s))
		p.panels(s, p.Verbose)
	}
	p.differences(v)
	if !v.judged() {
		p.whys(v)
	}
	if t := overview(v); len(t.Rows) > 0 {
		p.title(t.Title)
		p.table(t)
	}
	if p.Verbose {
		p.all(v)
	}
	p.way(v)
	if p.Verbose {
		p.compared(v)
	}
	return p.b.String(), nil
}

// headline writes the first line, and GPU, runs and their bars behind it or below.
func (p *page) headline(v *view) {
	s := styles[v.Tone]
	if v.Tone == good && v.Report.Counts.Warned > 0 {
		s = yellow
	}
	word := bind(v.Word)
	rest := strings.TrimPrefix(v.headline(), v.Word)
	tail := ""
	if r := v.effect(); v.Report.Verdict == result.Fail || v.Report.Verdict == result.Pass && v.Report.Undecided {
		if tail = v.sides(); r != nil && r.runs() != "" {
			tail += nb + nb + r.runs()
		}
	}
	line := columns(word + rest)
	if tail != "" && line+3+columns(tail) <= p.Width {
		p.line(0, columns(word)+2, span{word, s}, span{rest, none}, span{nb + nb + " " + tail, dim})
		return
	}
	p.line(0, columns(word)+2, span{word, s}, span{rest, none})
	p.dim(2, strings.Replace(tail, nb+nb, nb+" ", 1))
}

// differences writes a table of the comparisons that differ and were not judged.
func (p *page) differences(v *view) {
	rows := untold(v.of(differing))
	if p.Verbose {
		rows = unfollowed(rows)
	} else {
		rows = notable(rows)
	}
	if len(rows) == 0 {
		return
	}
	t := differences(rows)
	if !p.Verbose {
		t.most(maxDifferences, func(left int) string { return fmt.Sprintf("%d more", left) + wrapped(" (", v.ShowAll, ")") })
	}
	title := "Differences, " + rows[0].Reason
	if unitOf(v.Report.Head) == "run" && v.number(measure.StepTime.Name) != nil {
		title += "; steps are what repeats, all else is of the run"
	}
	p.title(title)
	p.table(t)
	for _, g := range groups(rows) {
		if told := strings.Join(nonempty(append([]string{g[0].Match}, g.evidence()...)...), "; "); told != "" {
			p.line(2, 4, span{"• " + bind(Elide(g[0].Subject, 40)) + ": " + told, none})
		}
	}
}

// whys writes the causes that counters give for comparisons that were not judged.
func (p *page) whys(v *view) {
	for _, g := range groups(untold(v.of(differing, open, harmless, added, removed, unchanged, same))) {
		small := math.Abs(float64(g[0].F.Change)) < 0.03
		if c := g.cause(); c != nil && (len(c.Reasons) > 0 || !small) {
			p.b.WriteByte('\n')
			p.line(2, 4, span{g[0].Subject + nb + " " + g[0].Metric + nb + g[0].Values + wrapped(" (", g[0].Change, ")"), none})
			p.line(4, 9, span{"why" + nb + " ", dim}, span{because(c), none})
		}
	}
}

// all writes every changed finding in full, the ranks, and a table of all comparisons.
func (p *page) all(v *view) {
	rows := untold(v.of(failing, warned, open, increased, improved, added, removed))
	for _, r := range v.of(harmless, unchanged, same) {
		if len(r.Parts) > 0 { // which no other table names
			rows = append(rows, r)
		}
	}
	for i, g := range groups(rows) {
		if i == 0 {
			p.title("Findings")
		} else {
			p.b.WriteByte('\n')
		}
		p.block(g)
	}
	p.ranks(v.Ranks, true)
	if len(v.Rows) > 0 {
		t := comparisons(untold(v.Rows))
		p.title(t.Title)
		p.table(t)
	}
}

func (p *page) compared(v *view) {
	if len(v.Facts) > 0 {
		p.title("Compared")
	}
	p.facts(v.Facts, 8)
	for _, c := range v.Commands { // on a line of its own, unbroken so that it can be copied
		p.title(c.Label)
		p.unbroken(c.Text)
	}
}

// way writes the commands that follow a failed gate.
func (p *page) way(v *view) {
	list := factsOf(fact{"Intended?", v.Report.Accept})
	for _, x := range v.Ways {
		list = append(list, fact{x[0], x[1]})
	}
	if v.Report.Verdict != result.Fail || len(list) == 0 {
		return
	}
	p.b.WriteByte('\n')
	width := 0
	for _, f := range list {
		width += columns(f.Label) + 2 + columns(f.Text) + 6
	}
	if width-4 <= p.Width {
		var spans []span
		for i, f := range list {
			if i > 0 {
				spans = append(spans, span{strings.Repeat(nb, 5) + " ", none})
			}
			spans = append(spans, span{bind(f.Label) + nb + " ", dim}, span{bind(f.Text), none})
		}
		p.line(2, 2, spans...)
		return
	}
	for _, f := range list { // unbroken, so that it can be copied
		p.unbroken(pad(f.Label, 9) + "  " + f.Text)
	}
}

// block writes the findings on one subject in full.
func (p *page) block(g group) {
	f := g[0]
	p.line(2, 4, span{f.Subject, styles[f.Tone()]}, span{wrapped(nb+" ", f.About(), ""), dim})
	for _, r := range g {
		p.line(4, 8, span{r.Metric + nb + " " + r.describe(), none}, span{wrapped(nb+" ", r.runs(), ""), dim})
	}
	for _, x := range f.Parts {
		p.line(4, 8, span{map[bool]string{true: "-", false: "+"}[x.Gone()] + nb + x.Time() + nb + " ", dim}, span{x.Subject, dim})
	}
	for _, t := range g.said() {
		p.line(4, 6, span{"• ", none}, span{t, none})
	}
	if c := g.cause(); c != nil {
		p.line(4, 9, span{"why" + nb + " ", dim}, span{because(c), none})
	}
	for line, rest := split(f.FullName, p.Width-4); line != ""; line, rest = split(rest, p.Width-4) { // whole, on as many lines as it takes
		p.dim(4, bind(line))
	}
}
