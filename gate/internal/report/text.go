package report

import (
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/report/story"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// texts writes the verdict on all workloads, a line for each, then the report on each that does not pass.
func texts(whole *story.Story) string {
	p := newPage(whole.Options)
	p.verdict(whole.Word, styles[whole.Tone], whole.Reason)
	name, word := 0, 0
	for _, v := range whole.Each {
		name, word = max(name, story.Columns(v.Workload)), max(word, story.Columns(v.Word))
	}
	name = min(name, p.Width/3)
	for _, v := range whole.Each {
		p.line(2, name+word+6, span{story.Pad(story.Bind(story.Elide(v.Workload, name)), name) + story.NB + " ", none}, span{story.Pad(story.Bind(v.Word), word) + story.NB + " ", styles[v.Tone]}, span{v.Told(story.MaxHeadline - name - word - 6), none})
	}
	if p.Quiet {
		return p.b.String()
	}
	p.warnings(whole.Warnings)
	for _, v := range whole.Each {
		more := slices.Concat(v.Warnings, v.Besides().Lines, v.Omitted().Lines)
		if v.Tone == story.Good && !p.Verbose && len(more) == 0 {
			continue
		}
		p.b.WriteByte('\n')
		p.line(0, 0, span{story.Bind(Rule(v.Workload, p.Width)), dim})
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
	name := story.Elide(story.Clean(workload), width-8)
	return "── " + name + " " + strings.Repeat("─", max(width-story.Columns(name)-4, 2))
}

// text writes the verdict, why, where the time went and the next commands. Only commands and paths may exceed Options.Width.
func text(v *story.Story) (string, error) {
	if v.Several() {
		return texts(v), nil
	}
	p := newPage(v.Options)
	p.headline(v)
	if p.Quiet {
		return p.b.String(), nil
	}
	p.told(v)
	if told := v.Unjudged(); told != "" {
		p.line(2, 14, span{story.Bind("Not judged") + story.NB + " ", dim}, span{told, none})
	}
	if s := v.Report.Measured; s != nil {
		p.title("Measured: " + story.Headline(s))
		p.panels(s, p.Verbose)
	}
	p.differences(v)
	for _, x := range v.Whys() {
		p.b.WriteByte('\n')
		p.line(2, 4, span{x.Label, none})
		p.line(4, 9, span{"why" + story.NB + " ", dim}, span{x.Text, none})
	}
	if t := story.Overview(v); len(t.Rows) > 0 {
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
func (p *page) headline(v *story.Story) {
	s := styles[v.Tone]
	if v.Tone == story.Good && v.Counts.Warned > 0 {
		s = yellow
	}
	word := story.Bind(v.Word)
	rest := strings.TrimPrefix(v.Headline, v.Word)
	tail := v.Behind()
	line := story.Columns(word + rest)
	if tail != "" && line+3+story.Columns(tail) <= p.Width {
		p.line(0, story.Columns(word)+2, span{word, s}, span{rest, none}, span{story.NB + story.NB + " " + tail, dim})
		return
	}
	p.line(0, story.Columns(word)+2, span{word, s}, span{rest, none})
	p.dim(2, strings.Replace(tail, story.NB+story.NB, story.NB+" ", 1))
}

// differences writes the table of comparisons that were not judged, with notes on them.
func (p *page) differences(v *story.Story) {
	t, said := v.Differences()
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
func (p *page) all(v *story.Story) {
	for i, g := range v.Changed() {
		if i == 0 {
			p.title("Findings")
		} else {
			p.b.WriteByte('\n')
		}
		p.block(g)
	}
	p.ranks(v.Ranks, true)
	if len(v.Rows) > 0 {
		t := story.Comparisons(story.Untold(v.Rows))
		p.title(t.Title)
		p.table(t)
	}
}

func (p *page) compared(v *story.Story) {
	if len(v.Facts) > 0 {
		p.title("Compared")
	}
	p.facts(v.Facts, 8)
	for _, c := range v.Commands { // on a line of its own, unbroken so that it can be copied
		p.title(c.Label)
		p.unbroken(c.Text)
	}
}

// way writes the commands that follow a gate.
func (p *page) way(v *story.Story) {
	list := v.Further()
	if len(list) == 0 {
		return
	}
	p.b.WriteByte('\n')
	width := measure.Sum(list, func(f story.Fact) int { return story.Columns(f.Label) + 2 + story.Columns(f.Text) + 6 })
	if width-4 <= p.Width {
		var spans []span
		for i, f := range list {
			if i > 0 {
				spans = append(spans, span{strings.Repeat(story.NB, 5) + " ", none})
			}
			spans = append(spans, span{story.Bind(f.Label) + story.NB + " ", dim}, span{story.Bind(f.Text), none})
		}
		p.line(2, 2, spans...)
		return
	}
	for _, f := range list { // unbroken, so that it can be copied
		p.unbroken(story.Pad(f.Label, 9) + "  " + f.Text)
	}
}

// block writes the findings on one subject in full.
func (p *page) block(g story.Group) {
	f := g[0]
	p.line(2, 4, span{f.Subject, styles[f.Tone()]}, span{story.Wrapped(story.NB+" ", f.About(), ""), dim})
	for _, r := range g {
		p.line(4, 8, span{r.Metric + story.NB + " " + r.Describe(), none}, span{story.Wrapped(story.NB+" ", r.Runs(), ""), dim})
	}
	for _, x := range f.Parts {
		p.line(4, 8, span{map[bool]string{true: "-", false: "+"}[x.Gone()] + story.NB + x.Time() + story.NB + " ", dim}, span{x.Subject, dim})
	}
	for _, t := range g.Said() {
		p.line(4, 6, span{"• ", none}, span{t, none})
	}
	if c := g.Cause(); c != nil {
		p.line(4, 9, span{"why" + story.NB + " ", dim}, span{story.Because(c), none})
	}
	for line, rest := story.Split(f.FullName, p.Width-4); line != ""; line, rest = story.Split(rest, p.Width-4) { // whole, on as many lines as it takes
		p.dim(4, story.Bind(line))
	}
}

func summaryText(s *result.Summary, o story.Options) (string, error) {
	p := newPage(o)
	p.line(0, 2, span{story.Headline(s), none})
	p.b.WriteByte('\n')
	p.facts(story.Recording(s), 4)
	p.panels(s, o.Verbose)
	p.list("Patterns", "•", yellow, story.Sentences(s.Patterns))
	p.warnings(story.Nonempty(s.Warnings...))
	return p.b.String(), nil
}

func (p *page) panels(s *result.Summary, all bool) {
	inside := func(path []string) string {
		return strings.Repeat(story.NB, 2*min(len(path)-1, 8)) + path[len(path)-1]
	}
	for _, t := range story.Panels(s, all, all, inside) {
		p.b.WriteByte('\n')
		p.line(0, 2, span{t.Title, none}, span{story.NB + " " + t.About, dim})
		p.table(t)
	}
	p.ranks(story.NewRanks(s.Ranks), true)
}

// ranks writes the ranks of the head: sentences, spreads and, with all set, a row for each.
func (p *page) ranks(r *story.Ranks, all bool) {
	if r == nil {
		return
	}
	p.title("Ranks")
	for _, t := range r.Told {
		p.line(2, 4, span{"• ", yellow}, span{t, none})
	}
	p.facts(r.About, 7)
	if all || len(r.Told) > 0 && len(r.Table.Rows) == story.RankRows {
		p.dim(2, r.Table.About)
		p.table(r.Table)
	}
}
