package report

import (
	"strings"

	"github.com/nsgate/nsgate/gate/internal/result"
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
	for _, x := range v.whys() {
		p.title(x.Label)
		p.line(4, 9, span{"why" + nb + " ", dim}, span{x.Text, none})
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
	tail := v.behind()
	line := columns(word + rest)
	if tail != "" && line+3+columns(tail) <= p.Width {
		p.line(0, columns(word)+2, span{word, s}, span{rest, none}, span{nb + nb + " " + tail, dim})
		return
	}
	p.line(0, columns(word)+2, span{word, s}, span{rest, none})
	p.dim(2, strings.Replace(tail, nb+nb, nb+" ", 1))
}

// differences writes the table of comparisons that were not judged, and what is said of them.
func (p *page) differences(v *view) {
	t, said := v.differences()
	if len(t.Rows) == 0 {
		return
	}
	p.title(t.Title)
	p.table(t)
	for _, text := range said {
		p.line(2, 4, span{"• " + text, none})
	}
}

// all writes every changed finding in full, the ranks, and a table of all comparisons.
func (p *page) all(v *view) {
	for i, g := range v.changed() {
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
	list := v.further()
	if len(list) == 0 {
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

func summaryText(s *result.Summary, o Options) (string, error) {
	p := newPage(o)
	p.line(0, 2, span{headline(s), none})
	p.b.WriteByte('\n')
	p.facts(recording(s), 4)
	p.panels(s, o.Verbose)
	p.list("Patterns", "•", yellow, sentences(s.Patterns))
	p.warnings(nonempty(s.Warnings...))
	return p.b.String(), nil
}

func (p *page) panels(s *result.Summary, all bool) {
	inside := func(path []string) string {
		return strings.Repeat(nb, 2*min(len(path)-1, 8)) + path[len(path)-1]
	}
	for _, t := range panels(s, all, all, inside) {
		p.b.WriteByte('\n')
		p.line(0, 2, span{t.Title, none}, span{nb + " " + t.About, dim})
		p.table(t)
	}
	p.ranks(newRanks(s.Ranks), true)
}

// ranks writes the ranks of the head: sentences, spreads and, with all set, a row for each.
func (p *page) ranks(r *ranks, all bool) {
	if r == nil {
		return
	}
	p.title("Ranks")
	for _, t := range r.Told {
		p.line(2, 4, span{"• ", yellow}, span{t, none})
	}
	p.facts(r.About, 7)
	if all || len(r.Told) > 0 && len(r.Table.Rows) == rankRows {
		p.dim(2, r.Table.About)
		p.table(r.Table)
	}
}
