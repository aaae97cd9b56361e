package report

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/nsgate/nsgate/gate"
	"github.com/nsgate/nsgate/gate/measure"
)

// Limits of the Markdown form.
const (
	defaultMaxBytes = 900 << 10 // GitHub drops a job summary above 1 MiB
	maxRows         = 50        // rows of the first table
	maxNotes        = 20        // reasons, warnings and next steps
	maxProse        = 500       // runes of a sentence
	maxCause        = 1500      // runes of a kernel's cause
	maxCommand      = 4000      // runes of a command
)

// Markdown writes the report for a job summary or a merge request of GitHub or GitLab: the verdict, a table of what
// failed and what is open, the rest folded away. It never exceeds Options.MaxBytes; rows that do not fit are counted.
func Markdown(w io.Writer, r *gate.Report, o Options) error {
	limit := cmp.Or(max(o.MaxBytes, 0), defaultMaxBytes)
	_, err := io.WriteString(w, markdown(r, limit))
	return err
}

func markdown(r *gate.Report, limit int) string {
	word, reason := verdict(r)
	head := fmt.Sprintf("## %s nsgate: %s\n\n**%s**\n", icon(word), strings.ToLower(word), prose(reason))

	var tables []*table
	for i, s := range sections(r) {
		t := &table{title: s.title, findings: s.findings, most: len(s.findings)}
		if i == 0 {
			t.title, t.most = "", maxRows
		}
		tables = append(tables, t)
	}
	top := tables[0].findings

	notes, tail := notes(top, r.Warnings, limit/3), footer(r)
	notes += counters(top, limit/3-len(notes))
	room := limit - len(head) - len(notes) - len(tail)
	if room < 0 {
		// Too small for anything but the verdict.
		return clip(head, limit)
	}
	for _, t := range tables {
		room = t.fill(room)
	}
	var b strings.Builder
	b.WriteString(head)
	tables[0].write(&b)
	b.WriteString(notes)
	for _, t := range tables[1:] {
		t.write(&b)
	}
	b.WriteString(tail)
	return b.String()
}

// icon marks a verdict's word.
func icon(word string) string {
	return cmp.Or(map[string]string{"PASS": "✅", "FAIL": "❌"}[word], "⚠️")
}

// section is a part of a report's findings.
type section struct {
	title    string
	findings []gate.Finding
}

// sections splits the findings: first those that a reader has to look at, then the rest by what came of them.
func sections(r *gate.Report) []section {
	out := []section{{"Look at", append(append(Failing(r), Warned(r)...), Open(r)...)}}
	for _, s := range []struct {
		title    string
		outcomes []gate.Outcome
	}{
		{"Improved", []gate.Outcome{gate.Improved}},
		{"Added and removed", []gate.Outcome{gate.Added, gate.Removed}},
		{"Slower and ignored by the policy", []gate.Outcome{gate.Regressed}},
		{"Undecided that cannot fail the gate", []gate.Outcome{gate.Inconclusive}},
		{"Unchanged", []gate.Outcome{gate.Unchanged}},
	} {
		out = append(out, section{s.title, pick(r, func(f gate.Finding) bool {
			shown := f.Undecided || f.Outcome == gate.Regressed && (f.Gates || f.Severity != "ignore")
			return !shown && slices.Contains(s.outcomes, f.Outcome)
		})})
	}
	return out
}

// table is a list of findings that may have to be cut.
type table struct {
	title    string // of the fold; "" for none
	findings []gate.Finding
	most     int
	rows     []string
}

const (
	tableHead = "| | Name | Metric | Before → after | Change | Interval | Limit | GPU time | Runs |\n" +
		"| --- | --- | --- | --- | ---: | --- | ---: | ---: | --- |\n"
	// What a table costs beside its rows, its title and the note about cut rows included.
	tableCost = len(tableHead) + 200
)

// fill makes as many rows as fit into room bytes and returns what is left.
func (t *table) fill(room int) int {
	if len(t.findings) == 0 || room < tableCost {
		return room
	}
	room -= tableCost
	for _, f := range t.findings[:min(t.most, len(t.findings))] {
		r := row(f)
		if len(r) > room {
			break
		}
		t.rows = append(t.rows, r)
		room -= len(r)
	}
	return room
}

func (t *table) write(b *strings.Builder) {
	if len(t.rows) == 0 {
		return
	}
	if t.title != "" {
		fmt.Fprintf(b, "\n<details><summary>%s (%d)</summary>\n", t.title, len(t.findings))
	}
	b.WriteString("\n" + tableHead)
	for _, r := range t.rows {
		b.WriteString(r)
	}
	if cut := len(t.findings) - len(t.rows); cut > 0 {
		fmt.Fprintf(b, "\n%d more rows are cut here; the JSON report holds all.\n", cut)
	}
	if t.title != "" {
		b.WriteString("\n</details>\n")
	}
}

// result is a finding's outcome, with a mark where it matters.
func result(f gate.Finding) string {
	switch {
	case f.Outcome == gate.Regressed && f.Gates:
		return "❌ regressed"
	case f.Outcome == gate.Regressed:
		return "⚠️ slower"
	case f.Outcome == gate.Inconclusive:
		return "⚠️ undecided"
	case f.Outcome == gate.Improved:
		return "✅ improved"
	}
	return string(f.Outcome)
}

// row is one finding as a line of the table.
func row(f gate.Finding) string {
	name := code(Elide(subject(f), 80))
	if g := geometry(f); g != "" {
		name += "<br><sub>" + prose(Elide(g, 60)) + "</sub>"
	}
	cells := []string{
		result(f), name, prose(Elide(Metric(f), 30)), number(values(f)), "", number(interval(f.Change, f.Low, f.High)), "", "",
		number(spark(f.BaseRuns, f.HeadRuns, f.Limit)),
	}
	if f.Change.Known() {
		cells[4] = number(percentChange(f.Change))
	}
	if limit := allowed(f); limit != "" {
		cells[6] = number(limit)
	}
	if f.Share.Known() && f.Scope != measure.ScopeWorkload {
		cells[7] = number(part(f.Share))
	}
	return "| " + strings.Join(cells, " | ") + " |\n"
}

// documentation is where the links of a cause lead; a saved report may hold others, which are not shown.
var documentation = regexp.MustCompile(`^https://docs\.nvidia\.com/[A-Za-z0-9/_.#-]+$`)

// guides links to what NVIDIA says of the reasons.
func guides(c *gate.Cause) string {
	var links []string
	for _, g := range c.Guides {
		if documentation.MatchString(g.Link) {
			links = append(links, "["+escape(clipRunes(Clean(g.Title), 120), true)+"]("+g.Link+")")
		}
	}
	if len(links) == 0 {
		return ""
	}
	return " Read: " + strings.Join(links[:min(len(links), 3)], ", ")
}

// notes gives the report's warnings and the reasons behind the first rows, in at most room bytes.
func notes(top []gate.Finding, warnings []string, room int) string {
	var b strings.Builder
	bullets := func(title string, lines []string) {
		for i, l := range lines {
			if i == maxNotes || b.Len()+len(l)+64 > room {
				fmt.Fprintf(&b, "- … and %d more\n", len(lines)-i)
				return
			}
			if i == 0 {
				b.WriteString("\n**" + title + "**\n\n")
			}
			b.WriteString("- " + l + "\n")
		}
	}
	var why []string
	for _, g := range Group(top) {
		var parts []string
		if m := match(g[0]); m != "" {
			parts = append(parts, prose(m))
		}
		for _, f := range g {
			if f.Reason != "" {
				parts = append(parts, prose(Metric(f)+": "+f.Reason))
			}
		}
		for _, e := range evidence(g) {
			parts = append(parts, prose(e))
		}
		parts = parts[:min(len(parts), 8)]
		if c := cause(g); c != nil {
			parts = append(parts, "why: "+escape(clipRunes(told(c), maxCause), true)+guides(c))
		}
		if len(parts) > 0 {
			why = append(why, code(Elide(subject(g[0]), 80))+": "+strings.Join(parts, "; "))
		}
	}
	bullets("Why", why)
	var doubts []string
	for _, s := range warnings {
		doubts = append(doubts, prose(s))
	}
	bullets("Warnings", doubts)
	return b.String()
}

// counters gives the metrics behind each cause, folded away, as many tables as fit into room bytes.
func counters(top []gate.Finding, room int) string {
	var b strings.Builder
	for _, g := range Group(top) {
		c := cause(g)
		if c == nil || len(c.Metrics) == 0 {
			continue
		}
		var t strings.Builder
		fmt.Fprintf(&t, "\n<details><summary>Counters of %s</summary>\n", code(Elide(subject(g[0]), 80)))
		if base, head := prose(c.Base), prose(c.Head); base != "" || head != "" {
			fmt.Fprintf(&t, "\nBefore: %s. After: %s.\n", cmp.Or(base, unknown), cmp.Or(head, unknown))
		}
		t.WriteString("\n| Metric | Before | After |\n| --- | ---: | ---: |\n")
		for _, m := range c.Metrics {
			fmt.Fprintf(&t, "| %s | %s | %s |\n", prose(Elide(strings.ReplaceAll(Clean(m.Name), "_", " "), 30)),
				number(quantity(m.Base, m.Unit)), number(quantity(m.Head, m.Unit)))
		}
		t.WriteString("\n</details>\n")
		if b.Len()+t.Len() > room {
			break
		}
		b.WriteString(t.String())
	}
	return b.String()
}

var entities = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "#", "&#35;", "`", "&#96;")

// footer says what was compared and how to go on.
func footer(r *gate.Report) string {
	var b strings.Builder
	if facts := comparison(r); len(facts) > 0 {
		b.WriteString("\n<details><summary>What was compared</summary>\n\n| | |\n| --- | --- |\n")
		for _, f := range facts {
			fmt.Fprintf(&b, "| %s | %s |\n", f.label, prose(f.text))
		}
		b.WriteString("\n</details>\n")
	}
	if len(r.Next) > 0 {
		b.WriteString("\n**Next**\n\n")
		for _, s := range r.Next[:min(len(r.Next), maxNotes)] {
			b.WriteString("- " + prose(s) + "\n")
		}
	}
	for _, c := range []struct{ title, command string }{
		{"To reproduce", r.Reproduce}, {"To accept as the new baseline", r.Accept},
	} {
		if s := strings.TrimSpace(Clean(c.command)); s != "" {
			// Inside <pre> nothing is Markdown, so only HTML needs care.
			fmt.Fprintf(&b, "\n%s:\n\n<pre>%s</pre>\n", c.title, entities.Replace(clipRunes(s, maxCommand)))
		}
	}
	return b.String()
}

// number keeps a quantity, its unit and its arrow on one line of a cell.
func number(s string) string { return strings.ReplaceAll(prose(s), " ", nb) }

// code shows a name literally. A code span in backticks would leave HTML unescaped; mentions are inert in <code>.
func code(s string) string { return "<code>" + escape(s, false) + "</code>" }

// prose makes a sentence inert: no markup, mentions, references or links come from its words.
func prose(s string) string { return escape(strings.TrimSpace(clipRunes(Clean(s), maxProse)), true) }

// escape writes text so that Markdown shows it as it is, in table cells too.
func escape(s string, breakReferences bool) string {
	const gap = "&#8203;" // zero width space
	runes := []rune(Clean(s))
	at := func(i int) rune {
		if i < 0 || i >= len(runes) {
			return ' '
		}
		return runes[i]
	}
	wordy := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	var b strings.Builder
	for i, r := range runes {
		switch r {
		case '<', '>', '&', '$', '#', '@', '`':
			fmt.Fprintf(&b, "&#%d;", r)
		case '\\', '*', '[', ']', '|', '~':
			b.WriteString(`\` + string(r))
		case '_':
			if !wordy(at(i-1)) || !wordy(at(i+1)) {
				b.WriteByte('\\')
			}
			b.WriteByte('_')
		default:
			b.WriteRune(r)
		}
		if !breakReferences {
			continue
		}
		switch r {
		case '@', '#', '!', '~', '$', '&':
			if wordy(at(i + 1)) {
				b.WriteString(gap)
			}
		case ':', '.': // https://, www.
			if r == ':' && at(i+1) == '/' || r == '.' && i >= 3 && strings.EqualFold(string(runes[i-3:i]), "www") {
				b.WriteString(gap)
			}
		}
	}
	return b.String()
}

// clipRunes cuts a text after n runes.
func clipRunes(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

// clip cuts a text after n bytes, at the end of a rune.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
