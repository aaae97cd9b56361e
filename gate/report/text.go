package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/nsgate/nsgate/gate/measure"
)

func init() {
	register(Format{Name: "text", Suffix: ".txt", About: "a person at a terminal or before a log", render: text, calibration: calibrationText, summary: summaryText})
}

// text writes the verdict, what failed, what is open, what was compared, and the commands that go on from here. Only
// commands and paths may be wider than Options.Width.
func text(v *view, o Options) (string, error) {
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
	p.fall(v.Fall, verbose)
	hidden := false
	for c, x := range classes {
		if class(c) == improved {
			p.warnings(v.Warnings)
		}
		if x.most == 0 {
			continue
		}
		all, named := groups(v.of(class(c))), make(map[string]int)
		for _, g := range all {
			named[g[0].F.Kernel]++
		}
		for i, g := range all {
			if i == 0 {
				p.title(x.title)
			}
			if i == x.most && !verbose {
				hidden = true
				p.dim(2, fmt.Sprintf("… and %d more", len(all)-i))
				break
			}
			if x.part == lookAt {
				if i > 0 {
					p.b.WriteByte('\n')
				}
				p.block(g, styles[x.tone], verbose)
				continue
			}
			p.short(g, styles[x.tone])
			if verbose || named[g[0].F.Kernel] > 1 {
				p.name(g[0].FullName, verbose)
			}
		}
	}
	if verbose && len(v.Rows) > 0 {
		p.all(v.Rows)
	} else if !verbose {
		p.rest(v, hidden)
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

// block writes the findings on one subject in full.
func (p *page) block(g group, s style, verbose bool) {
	f := g[0]
	about := join(f.about(), f.Geometry)
	heading := []span{{bind(Elide(f.Subject, max(p.width-4-columns(about), 20))), s}}
	if about != "" {
		heading = append(heading, span{" " + nb + about, dim})
	}
	p.line(2, 4, heading...)
	if f.F.Scope == measure.ScopeKernel {
		p.name(f.FullName, verbose)
	}
	if f.Match != "" {
		p.dim(4, f.Match)
	} else if f.F.Role != "" {
		p.dim(4, "in "+f.F.Role)
	}
	label := 0
	for _, r := range g {
		label = max(label, min(columns(r.Metric), 24))
	}
	in := 4 + label + 2
	for i, r := range g {
		spans := []span{{pad(Elide(r.Metric, 24), label) + nb + " ", none}, {r.Values, none}}
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
		if i == 0 || r.Reason != g[i-1].Reason {
			p.line(in, in, span{r.Reason, none})
		}
	}
	for _, e := range g.evidence() {
		p.line(4, 6, span{"• ", none}, span{e, none})
	}
	if c, told := g.cause(); c != nil {
		p.line(4, 9, span{"why" + nb + " ", dim}, span{told, none})
	}
}

// about is a subject's share of the GPU time in words.
func (r row) about() string {
	if r.Share == "" {
		return ""
	}
	return r.Share + nb + "of GPU time"
}

// name writes a full name: on one line, or with verbose on as many as it needs.
func (p *page) name(name string, verbose bool) {
	room := p.width - 4
	if !verbose {
		name = Elide(name, room)
	}
	for name != "" {
		line, rest := split(name, room)
		for strings.HasPrefix(rest, ":") { // a line that begins with a colon pair is a command to a CI runner
			_, n := utf8.DecodeLastRuneInString(line)
			if n == len(line) {
				break
			}
			line, rest = line[:len(line)-n], name[len(line)-n:]
		}
		p.dim(4, bind(line))
		name = rest
	}
}

// short writes the findings on one subject in a line.
func (p *page) short(g group, s style) {
	spans := []span{{bind(Elide(g[0].Subject, max(p.width/2, 20))) + " ", s}}
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
	if facts := join(g[0].about(), g[0].Geometry, g[0].Match); facts != "" {
		spans = append(spans, span{"· " + facts, dim})
	}
	p.line(2, 4, spans...)
	p.dim(4, strings.Join(g.evidence(), "; "))
}

// join puts facts behind each other, leaving out those that are unknown.
func join(facts ...string) string {
	return strings.Join(slices.DeleteFunc(facts, func(f string) bool { return f == "" }), " · ")
}

// rest says in a line what is not shown.
func (p *page) rest(v *view, hidden bool) {
	var parts []string
	for c, x := range slices.Backward(classes[:]) {
		if n := len(v.of(class(c))); n > 0 && x.most == 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, strings.ToLower(x.title)))
		}
	}
	if len(parts) == 0 && !hidden {
		return
	}
	p.b.WriteByte('\n')
	p.dim(0, strings.Join(nonempty(strings.Join(parts, ", "), "--verbose shows all."), "; "))
}

// all writes every finding in a table.
func (p *page) all(rows []row) {
	titles := []column{
		{title: "outcome"}, {title: "name", least: 20}, {title: "geometry", rank: 5}, {title: "metric"}, {title: "before", rank: 1, right: true},
		{title: "after", rank: 1, right: true}, {title: "change", right: true}, {title: "interval", rank: 2, right: true},
		{title: "limit", rank: 4, right: true}, {title: "share", rank: 3, right: true},
	}
	var cells [][]string
	for _, r := range rows {
		line := []string{
			string(r.F.Outcome), r.Subject, r.Geometry, Elide(r.Metric, 16), quantity(r.F.Base, r.F.Unit), quantity(r.F.Head, r.F.Unit),
			cmp.Or(r.Change, measure.Unknown), r.Interval, cmp.Or(r.Limit, measure.Unknown), share(r.F.Share),
		}
		for i := range line {
			if titles[i].least == 0 {
				line[i] = Elide(line[i], 30)
			}
		}
		cells = append(cells, line)
	}
	p.title("All comparisons")
	p.table(titles, cells, func(i int) style { return styles[rows[i].Tone()] })
}
