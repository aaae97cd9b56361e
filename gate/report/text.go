package report

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/nsgate/nsgate/gate"
	"github.com/nsgate/nsgate/gate/measure"
)

// Text writes the report for a person at a terminal: the verdict, what failed, what is open, what was compared, and
// the commands that go on from here. Only commands and paths may be wider than Options.Width.
func Text(w io.Writer, r *gate.Report, o Options) error {
	width := cmp.Or(o.Width, 100)
	p := &page{width: max(width, 40), color: o.Color}
	p.verdict(r)
	if !o.Quiet {
		p.body(r, o.Verbose)
	}
	_, err := io.WriteString(w, p.b.String())
	return err
}

// body writes everything below the verdict.
func (p *page) body(r *gate.Report, verbose bool) {
	hidden := false
	// section prints at most as many groups as given, all of them where verbose.
	section := func(title string, most int, groups [][]gate.Finding, print func(i int, g []gate.Finding)) {
		if len(groups) > 0 {
			p.title(title)
		}
		for i, g := range groups {
			if i >= most && !verbose {
				p.dim(2, fmt.Sprintf("… and %d more", len(groups)-i))
				hidden = true
				return
			}
			print(i, g)
		}
	}
	blocks := func(title string, findings []gate.Finding, s style, most int) {
		section(title, most, Group(findings), func(i int, g []gate.Finding) {
			if i > 0 {
				p.b.WriteByte('\n')
			}
			p.block(g, s, verbose)
		})
	}
	lines := func(title string, outcome gate.Outcome, s style, most int) {
		groups := Group(pick(r, func(f gate.Finding) bool { return f.Outcome == outcome }))
		named := make(map[string]int)
		for _, g := range groups {
			named[g[0].Kernel]++
		}
		section(title, most, groups, func(_ int, g []gate.Finding) {
			p.short(g, s)
			if f := g[0]; f.Name != f.Kernel && (verbose || named[f.Kernel] > 1) {
				p.name(f.Name, verbose)
			}
		})
	}
	blocks("Regressed", Failing(r), red, 20)
	blocks("Slower, without failing the gate", Warned(r), yellow, 5)
	blocks("Undecided", Open(r), yellow, 5)
	if len(r.Warnings) > 0 {
		p.title("Warnings")
		for _, s := range r.Warnings {
			p.line(2, 4, span{"! ", yellow}, span{s, none})
		}
	}
	lines("Improved", gate.Improved, green, 5)
	lines("Added", gate.Added, none, 10)
	lines("Removed", gate.Removed, none, 10)

	p.rest(r, verbose, hidden)
	if verbose && len(r.Findings) > 0 {
		p.title("All comparisons")
		p.table(r.Findings)
	}
	if facts := comparison(r); len(facts) > 0 {
		p.title("Compared")
		for _, f := range facts {
			p.line(2, 12, span{pad(f.label, 8) + nb + " ", dim}, span{f.text, none})
		}
	}
	if len(r.Next) > 0 {
		p.title("Next")
		for _, s := range r.Next {
			p.line(2, 4, span{"- ", none}, span{s, none})
		}
	}
	p.command("To reproduce", r.Reproduce)
	p.command("To accept as the new baseline", r.Accept)
}

// verdict writes the first line.
func (p *page) verdict(r *gate.Report) {
	word, reason := verdict(r)
	s := green
	switch {
	case r.Verdict == gate.Fail:
		s = red
	case r.Verdict != gate.Pass || r.Undecided || r.Counts.Warned > 0:
		s = yellow
	}
	p.line(0, utf8.RuneCountInString(word)+2, span{bind(word) + nb + " ", s}, span{reason, none})
}

// block writes the findings on one subject in full.
func (p *page) block(g []gate.Finding, s style, verbose bool) {
	f := g[0]
	p.heading(f, s)
	if f.Name != f.Kernel && f.Scope == measure.ScopeKernel {
		p.name(f.Name, verbose)
	}
	if m := match(f); m != "" {
		p.dim(4, m)
	} else if f.Role != "" {
		p.dim(4, "in "+f.Role)
	}
	label := 0
	for _, f := range g {
		label = max(label, min(utf8.RuneCountInString(Metric(f)), 20))
	}
	in := 4 + label + 2
	for i, f := range g {
		spans := []span{{pad(Elide(Metric(f), 20), label) + nb + " ", none}, {values(f), none}}
		if f.Change.Known() {
			spans = append(spans, span{" (", none}, span{percentChange(f.Change), s})
			if i := interval(f.Change, f.Low, f.High); i != "" {
				spans = append(spans, span{", interval" + nb + i, none})
			}
			spans = append(spans, span{")", none})
		}
		if l := limit(f); l != "" {
			spans = append(spans, span{", " + l, none})
		}
		p.line(4, in, spans...)
		if bars := spark(f.BaseRuns, f.HeadRuns, f.Limit); bars != "" && (i == 0 || verbose) {
			p.dim(in, bars+" "+nb+fmt.Sprintf("%d and %s", len(f.BaseRuns), count(len(f.HeadRuns), "run")))
		}
		if f.Reason != "" && (i == 0 || f.Reason != g[i-1].Reason) {
			p.line(in, in, span{f.Reason, none})
		}
	}
	for _, e := range evidence(g) {
		p.line(4, 6, span{"• ", none}, span{e, none})
	}
	if c := cause(g); c != nil {
		p.line(4, 9, span{"why" + nb + " ", dim}, span{told(c), none})
	}
}

// heading writes a subject's name, its share and its geometry.
func (p *page) heading(f gate.Finding, s style) {
	facts := join(share(f), geometry(f))
	room := max(p.width-4-utf8.RuneCountInString(facts), 20)
	spans := []span{{bind(Elide(subject(f), room)), s}}
	if facts != "" {
		spans = append(spans, span{" " + nb + facts, dim})
	}
	p.line(2, 4, spans...)
}

// name writes a full name: on one line, or with verbose on as many as it needs.
func (p *page) name(s string, verbose bool) {
	name, room := []rune(Clean(s)), p.width-4
	if !verbose {
		name = []rune(Elide(string(name), room))
	}
	for len(name) > 0 {
		n := min(room, len(name))
		for n > 1 && n < len(name) && name[n] == ':' {
			n-- // a line that begins with a colon pair is a command to a CI runner
		}
		p.dim(4, bind(string(name[:n])))
		name = name[n:]
	}
}

// short writes the findings on one subject in a line.
func (p *page) short(g []gate.Finding, s style) {
	spans := []span{{bind(Elide(subject(g[0]), max(p.width/2, 20))) + " ", s}}
	for i, f := range g {
		sep := nb
		if i > 0 {
			sep = "· "
		}
		text := sep + bind(Elide(Metric(f), 20)) + nb + values(f)
		if c := change(f); c != "" {
			text += " (" + c + ")"
		}
		spans = append(spans, span{text + " ", none})
	}
	if facts := join(share(g[0]), geometry(g[0]), match(g[0])); facts != "" {
		spans = append(spans, span{"· " + facts, dim})
	}
	p.line(2, 4, spans...)
	if len(g[0].Evidence) > 0 {
		p.dim(4, strings.Join(evidence(g), "; "))
	}
}

// join puts facts behind each other, leaving out those that are unknown.
func join(facts ...string) string {
	var known []string
	for _, f := range facts {
		if f != "" {
			known = append(known, f)
		}
	}
	return strings.Join(known, " · ")
}

// rest says in a line what is not shown.
func (p *page) rest(r *gate.Report, verbose, hidden bool) {
	if verbose {
		return
	}
	var unchanged, open, ignored int
	for _, f := range r.Findings {
		switch {
		case f.Outcome == gate.Unchanged:
			unchanged++
		case f.Outcome == gate.Inconclusive && !f.Undecided:
			open++
		case f.Outcome == gate.Regressed && !f.Gates && f.Severity == "ignore":
			ignored++
		}
	}
	var parts []string
	for _, c := range []struct {
		n    int
		what string
	}{
		{unchanged, "unchanged"}, {open, "undecided that cannot fail the gate"}, {ignored, "slower and ignored by the policy"},
	} {
		if c.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c.n, c.what))
		}
	}
	if len(parts) == 0 && !hidden {
		return
	}
	text := "--verbose shows all"
	if len(parts) > 0 {
		text = strings.Join(parts, ", ") + "; " + text
	}
	p.b.WriteByte('\n')
	p.dim(0, text+".")
}

// A column of the table; those with a higher rank go first where the page is narrow.
type column struct {
	title string
	rank  int
	right bool
	cell  func(gate.Finding) string
}

var columns = []column{
	{"outcome", 0, false, func(f gate.Finding) string { return string(f.Outcome) }},
	{"name", 0, false, nil}, // takes what the others leave
	{"geometry", 5, false, geometry},
	{"metric", 0, false, func(f gate.Finding) string { return Elide(Metric(f), 16) }},
	{"before", 1, true, func(f gate.Finding) string { return quantity(f.Base, f.Unit) }},
	{"after", 1, true, func(f gate.Finding) string { return quantity(f.Head, f.Unit) }},
	{"change", 0, true, func(f gate.Finding) string { return percentChange(f.Change) }},
	{"interval", 2, true, func(f gate.Finding) string { return interval(f.Change, f.Low, f.High) }},
	{"limit", 4, true, func(f gate.Finding) string { return cmp.Or(allowed(f), unknown) }},
	{"share", 3, true, func(f gate.Finding) string { return part(f.Share) }},
}

// table writes every finding in aligned columns, leaving out those for which the page is too narrow.
func (p *page) table(findings []gate.Finding) {
	const gap, minName = 2, 20
	cells := make([][]string, len(columns))
	widths := make([]int, len(columns))
	longest := 0
	for c, col := range columns {
		widths[c] = len(col.title)
		for _, f := range findings {
			if col.cell == nil {
				longest = max(longest, utf8.RuneCountInString(subject(f)))
				continue
			}
			s := Elide(col.cell(f), 30)
			cells[c] = append(cells[c], s)
			widths[c] = max(widths[c], utf8.RuneCountInString(s))
		}
	}
	room := func(rank int) int {
		room := p.width - 2
		for c, col := range columns {
			if col.cell != nil && col.rank <= rank {
				room -= widths[c] + gap
			}
		}
		return room
	}
	rank := 5
	for rank > 0 && room(rank) < min(minName, longest) {
		rank--
	}
	row := func(s style, cell func(c int) string) {
		var line strings.Builder
		for c, col := range columns {
			if col.rank > rank {
				continue
			}
			if line.Len() > 0 {
				line.WriteString(strings.Repeat(nb, gap))
			}
			text, n := cell(c), widths[c]
			if col.cell == nil {
				n = max(min(room(rank), longest), len(col.title))
				text = Elide(text, n)
			}
			if fill := strings.Repeat(nb, max(n-utf8.RuneCountInString(text), 0)); col.right {
				line.WriteString(fill + bind(text))
			} else {
				line.WriteString(bind(text) + fill)
			}
		}
		p.line(2, 2, span{line.String(), s})
	}
	row(dim, func(c int) string { return columns[c].title })
	for i, f := range findings {
		row(outcomeStyle(f), func(c int) string {
			if columns[c].cell == nil {
				return subject(f)
			}
			return cells[c][i]
		})
	}
}

func outcomeStyle(f gate.Finding) style {
	switch {
	case f.Outcome == gate.Regressed && f.Gates:
		return red
	case f.Outcome == gate.Regressed, f.Undecided:
		return yellow
	case f.Outcome == gate.Improved:
		return green
	}
	return none
}

// style is an SGR colour, "" for none.
type style string

const (
	none   style = ""
	red    style = "31"
	green  style = "32"
	yellow style = "33"
	dim    style = "2"
)

// span is a stretch of text in one style. Spaces of any kind may become line ends, bound spaces (nb) never.
type span struct {
	text  string
	style style
}

// page collects lines of at most width columns. All text passes through [page.line], which makes it safe.
type page struct {
	b     strings.Builder
	width int
	color bool
}

// title starts a section.
func (p *page) title(s string) {
	p.b.WriteByte('\n')
	p.line(0, 0, span{s, none})
}

// dim writes text of lesser weight.
func (p *page) dim(indent int, text string) { p.line(indent, indent, span{text, dim}) }

// command writes a command on a line of its own, unbroken so that it can be copied.
func (p *page) command(title, command string) {
	if strings.TrimSpace(command) == "" {
		return
	}
	p.title(title)
	p.b.WriteString("  " + defuse(strings.TrimSpace(Clean(command))) + "\n")
}

// line writes spans as one paragraph: its first line indented by first, the following by rest. Spans join without a
// space unless one of them has it. A word wider than a line loses its middle.
func (p *page) line(first, rest int, spans ...span) {
	rest = min(rest, p.width/2)
	type piece struct {
		text  string
		style style
	}
	var words [][]piece
	open := false // the last word goes on
	for _, s := range spans {
		text := s.text
		for text != "" {
			i := strings.IndexFunc(text, breakable)
			word := text
			if i >= 0 {
				word = text[:i]
			}
			if word != "" {
				if !open {
					words = append(words, nil)
				}
				last := len(words) - 1
				words[last] = append(words[last], piece{Clean(word), s.style})
				open = true
			}
			if i < 0 {
				break
			}
			open = false
			_, n := utf8.DecodeRuneInString(text[i:])
			text = text[i+n:]
		}
	}
	var line []piece
	indent, used := first, first
	flush := func() {
		var plain, painted strings.Builder
		for i, w := range line {
			plain.WriteString(w.text)
			open := p.color && w.style != none
			if open && (i == 0 || line[i-1].style != w.style) {
				painted.WriteString("\x1b[" + string(w.style) + "m")
			}
			painted.WriteString(w.text)
			if open && (i == len(line)-1 || line[i+1].style != w.style) {
				painted.WriteString("\x1b[0m")
			}
		}
		text := plain.String()
		if p.color {
			text = painted.String()
		}
		p.b.WriteString(strings.TrimRight(strings.Repeat(" ", indent)+defuse(text), " ") + "\n")
		line, indent, used = nil, rest, rest
	}
	for _, w := range words {
		n := 0
		for _, x := range w {
			n += utf8.RuneCountInString(x.text)
		}
		long := n > p.width-rest && p.width-used > 20 // loses its middle anyway: it may as well stay on this line
		if len(line) > 0 && used+1+n > p.width && !long {
			flush()
		}
		if len(line) > 0 {
			line = append(line, piece{" ", line[len(line)-1].style})
			used++
		}
		if room := p.width - used; n > room {
			var whole strings.Builder
			for _, x := range w {
				whole.WriteString(x.text)
			}
			w = []piece{{Elide(whole.String(), room), w[0].style}}
			n = room
		}
		line = append(line, w...)
		used += n
	}
	if len(line) > 0 {
		flush()
	}
}

func breakable(r rune) bool { return string(r) != nb && unicode.IsSpace(r) }

// bind keeps a text on one line.
func bind(s string) string { return strings.ReplaceAll(s, " ", nb) }

func pad(s string, n int) string { return s + strings.Repeat(nb, max(n-utf8.RuneCountInString(s), 0)) }

var commandStart = regexp.MustCompile(`^((?:\x1b\[[0-9]*m| )*)::`)

// defuse keeps CI runners from obeying a line: GitHub's reads "::command" at its start and "##[command]" anywhere. A
// character that looks alike takes the place of the first.
func defuse(line string) string {
	return commandStart.ReplaceAllString(strings.ReplaceAll(line, "##[", "♯#["), "$1∶:")
}
