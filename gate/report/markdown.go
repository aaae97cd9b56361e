package report

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"github.com/nsgate/nsgate/gate"
	"github.com/nsgate/nsgate/gate/measure"
)

func init() {
	register(Format{Name: "markdown", Suffix: ".md", About: "job summaries, comments on merge requests", render: markdown, summary: summaryMarkdown})
}

// Limits of the Markdown form.
const (
	defaultMaxBytes = 900 << 10 // GitHub drops a job summary above 1 MiB
	maxRows         = 50        // rows of the first table
	maxNotes        = 20        // reasons, warnings and next steps
	maxProse        = 500       // runes of a sentence
	maxCause        = 1500      // runes of a kernel's cause
	maxCommand      = 4000      // runes of a command
)

// markdown writes the report for a job summary or a merge request of GitHub or GitLab: the verdict, a table of what
// failed and what is open, the rest folded away. It never exceeds Options.MaxBytes; rows that do not fit are counted.
func markdown(v *view, o Options) (string, error) {
	limit := cmp.Or(max(o.MaxBytes, 0), defaultMaxBytes)
	head := fmt.Sprintf("## %s nsgate: %s\n\n**%s**\n", v.Icon(), strings.ToLower(v.Word), prose(v.Reason))
	sections := v.Sections()
	top := groups(sections[0].Rows)
	notes := bullets("Why", reasons(top), limit/3)
	notes += bullets("Warnings", proses(v.Warnings), limit/3-len(notes))
	notes += counters(top, limit/3-len(notes))
	notes = fallTable(v.Fall, limit/3-len(notes)) + notes
	tail := footer(v, limit/3)
	room := limit - len(head) - len(notes) - len(tail)
	if room < 0 { // too small for anything but the verdict
		return Cut(head, limit), nil
	}
	for i, s := range sections {
		title := fmt.Sprintf("%s (%d)", s.Title, len(s.Rows))
		text := fold(title, table(s.Rows, len(s.Rows), room-len(fold(title, " "))))
		if i == 0 {
			text = table(s.Rows, maxRows, room)
			notes = text + notes
		} else {
			notes += text
		}
		room -= len(text)
	}
	return head + notes + tail, nil
}

// fold hides a text that is not empty under a title.
func fold(title, body string) string {
	if body == "" {
		return ""
	}
	return "\n<details><summary>" + title + "</summary>\n" + body + "\n</details>\n"
}

// table writes at most as many rows as given, and as fit into room bytes.
func table(rows []row, most, room int) string {
	var b strings.Builder
	b.WriteString("\n| | Name | Metric | Before → after | Change | Interval | Limit | GPU time | Runs |\n" +
		"| --- | --- | --- | --- | ---: | --- | ---: | ---: | --- |\n")
	room -= 100 // for the note about rows that are cut
	shown := 0
	for _, r := range rows[:min(most, len(rows))] {
		name := code(r.Subject)
		if r.Geometry != "" {
			name += "<br><sub>" + prose(Elide(r.Geometry, 60)) + "</sub>"
		}
		cells := []string{r.Result(), name, prose(Elide(r.Metric, 30))}
		for _, s := range []string{r.Values, r.Change, r.Interval, r.Limit, r.Share, r.Runs} {
			cells = append(cells, bind(prose(s)))
		}
		line := "| " + strings.Join(cells, " | ") + " |\n"
		if b.Len()+len(line) > room {
			break
		}
		b.WriteString(line)
		shown++
	}
	if shown == 0 {
		return ""
	}
	if cut := len(rows) - shown; cut > 0 {
		fmt.Fprintf(&b, "\n%d more rows are cut here; the JSON report holds all.\n", cut)
	}
	return b.String()
}

// bullets lists lines under a title, at most [maxNotes] and as many as fit into room bytes.
func bullets(title string, lines []string, room int) string {
	text := "\n**" + title + "**\n\n"
	for i, l := range lines {
		if i == maxNotes || len(text)+len(l)+64 > room {
			if i == 0 {
				text = ""
			}
			return text + fmt.Sprintf("- … and %d more\n", len(lines)-i)
		}
		text += "- " + l + "\n"
	}
	if len(lines) == 0 {
		return ""
	}
	return text
}

func proses(texts []string) []string {
	var out []string
	for _, t := range texts {
		out = append(out, prose(t))
	}
	return out
}

// reasons says of each subject why it is where it is.
func reasons(top []group) []string {
	var out []string
	for _, g := range top {
		said := nonempty(g[0].Match)
		for _, r := range g {
			if r.Reason != "" {
				said = append(said, r.Metric+": "+r.Reason)
			}
		}
		said = proses(append(said, nonempty(g.evidence()...)...))
		said = said[:min(len(said), 8)]
		if c, told := g.cause(); c != nil {
			said = append(said, "why: "+paragraph(told, maxCause)+guides(c))
		}
		if len(said) > 0 {
			out = append(out, code(g[0].Subject)+": "+strings.Join(said, "; "))
		}
	}
	return out
}

// documentation is where the links of a cause lead; a saved report may hold others, which are not shown.
var documentation = regexp.MustCompile(`^https://docs\.nvidia\.com/[A-Za-z0-9/_.#-]+$`)

// guides links to what NVIDIA says of the reasons.
func guides(c *gate.Cause) string {
	var links []string
	for _, g := range c.Guides {
		if documentation.MatchString(g.Link) {
			links = append(links, "["+paragraph(g.Title, 120)+"]("+g.Link+")")
		}
	}
	if len(links) == 0 {
		return ""
	}
	return " Read: " + strings.Join(links[:min(len(links), 3)], ", ")
}

// counters gives the metrics behind each cause, folded away, as many tables as fit into room bytes.
func counters(top []group, room int) string {
	text := ""
	for _, g := range top {
		c, _ := g.cause()
		if c == nil || len(c.Metrics) == 0 {
			continue
		}
		var t strings.Builder
		if base, head := prose(c.Base), prose(c.Head); base != "" || head != "" {
			fmt.Fprintf(&t, "\nBefore: %s. After: %s.\n", cmp.Or(base, measure.Unknown), cmp.Or(head, measure.Unknown))
		}
		t.WriteString("\n| Metric | Before | After |\n| --- | ---: | ---: |\n")
		for _, m := range c.Metrics {
			fmt.Fprintf(&t, "| %s | %s | %s |\n", prose(Elide(metric(m.Name), 30)),
				bind(prose(quantity(m.Base, m.Unit))), bind(prose(quantity(m.Head, m.Unit))))
		}
		more := fold("Counters of "+code(g[0].Subject), t.String())
		if len(text)+len(more) > room {
			break
		}
		text += more
	}
	return text
}

// footer says what was compared and how to go on, the next steps in at most room bytes.
func footer(v *view, room int) string {
	compared := ""
	for _, f := range v.Facts {
		compared += fmt.Sprintf("| %s | %s |\n", f.Label, prose(f.Text))
	}
	if compared != "" {
		compared = "\n| | |\n| --- | --- |\n" + compared
	}
	text := fold("What was compared", compared) + bullets("Next", proses(v.Next), room)
	for _, c := range v.Commands {
		text += "\n" + c.Label + ":\n\n" + pre(c.Text) + "\n"
	}
	return text
}
