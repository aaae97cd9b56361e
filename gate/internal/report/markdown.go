package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/report/story"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// Limits of the Markdown form.
const (
	defaultMaxBytes = 60_000 // a comment on GitHub has at most 65,536 characters
	maxRows         = 50     // rows of the table of changes
	maxNotes        = 20     // reasons, warnings and next steps
)

// markdown prints the blocks of a document for a job summary or a comment on a merge request of GitHub or GitLab. It
// never exceeds Options.MaxBytes: the largest blocks go where there is no room for all, and rows that do not fit are
// counted.
func markdown(d story.Document, o Options) (string, error) {
	return inMarkdown(d, "##", cmp.Or(max(o.MaxBytes, 0), defaultMaxBytes)), nil
}

// inMarkdown prints blocks under a heading. Findings and sections share the room that the others leave.
func inMarkdown(d story.Document, heading string, limit int) string {
	texts, used, open := make([]string, len(d)), 0, 0
	flexible := func(b story.Block) bool {
		switch b.(type) {
		case story.Findings, story.Section:
			return true
		}
		return false
	}
	for i, b := range d {
		if flexible(b) {
			open++
			continue
		}
		texts[i] = blockMarkdown(b, heading, limit/4)
		used += len(texts[i])
	}
	for used > limit && len(strings.Join(texts[1:], "")) > 0 {
		largest := slices.MaxFunc(texts[1:], func(a, b string) int { return len(a) - len(b) })
		used, texts[1+slices.Index(texts[1:], largest)] = used-len(largest), ""
	}
	for i, b := range d {
		if flexible(b) {
			texts[i] = blockMarkdown(b, heading, max(limit-used, 0)/open)
			used, open = used+len(texts[i]), open-1
		}
	}
	return story.Cut(strings.Join(texts, ""), limit)
}

// blockMarkdown prints a block in about room bytes; findings and sections keep to them.
func blockMarkdown(block story.Block, heading string, room int) string {
	switch b := block.(type) {
	case story.Top:
		return topMarkdown(b, heading)
	case story.Labelled:
		return measure.Sum(b, func(x story.Said) string { return labelledMarkdown(x, room) })
	case story.Lines:
		return linesMarkdown(b, room)
	case story.Facts:
		return story.Wrapped("\n", measure.Sum(b.List, func(f story.Fact) string {
			return fmt.Sprintf("- %s: %s\n", f.Label, prose(f.Text))
		}), "")
	case story.Commands:
		return measure.Sum(b.List, func(c story.Fact) string {
			return "\n" + c.Label + measure.Either(b.Inline, "", ":") + "\n\n" + pre(c.Text) + "\n"
		})
	case *story.Table:
		return tableMarkdown(b, room)
	case story.Bars:
		return tableMarkdown(b.Table(), room)
	case story.Findings:
		text := changedMarkdown(b, room)
		return text + countersMarkdown(b, room-len(text))
	case story.Fold:
		return folded(b.Title, measure.Sum(b.Blocks, func(inner story.Block) string {
			return blockMarkdown(inner, heading, room)
		}))
	case story.Section:
		return "\n" + inMarkdown(b.Blocks, "###", room-1)
	}
	return ""
}

// topMarkdown is the heading and the headline, and a row for each workload.
func topMarkdown(b story.Top, heading string) string {
	word := strings.ToLower(story.Trimmed(b.Word.Text))
	switch {
	case word == "":
		return heading + " nsgate: " + prose(b.Text) + "\n"
	case heading == "##":
		heading += " " + b.Icon + " nsgate: " + word + result.Given(b.Workload, " · ", code(b.Workload))
	default:
		heading += " " + b.Icon + " " + code(b.Workload) + ": " + word
	}
	sides := cmp.Or(b.Sides, b.Behind)
	text := heading + "\n\n**" + prose(b.Lead) + "**" + story.Wrapped(" ", prose(story.Flat(b.Rest)), "") +
		story.Wrapped(" · ", prose(story.Flat(sides)), "") + "\n" +
		measure.Either(len(b.Each) > 0, "\n| Workload | Verdict | Effect |\n| --- | --- | --- |\n", "")
	for _, w := range b.Each {
		text += fmt.Sprintf("| %s | %s %s | %s |\n", code(w.Workload.Text), w.Icon.Text, strings.ToLower(w.Word.Text),
			prose(w.Effect.Text))
	}
	return text
}

// labelledMarkdown is one line behind its label, or a list below it.
func labelledMarkdown(x story.Said, room int) string {
	lines := measure.Map(x.Lines, story.Flat)
	if len(lines) == 1 {
		return "\n" + x.Label + ": " + prose(lines[0]) + "\n"
	}
	return bullets(x.Label, lines, room)
}

func linesMarkdown(b story.Lines, room int) string {
	var marked []string
	text := ""
	for _, x := range b.List {
		line := story.Flat(story.Join("", measure.Map(x.Spans, func(s span) string { return s.Text })...))
		switch {
		case x.Mark.Text != "":
			marked = append(marked, line)
		case line != "":
			text += "\n" + story.Wrapped("", x.Label, ": ") + prose(line) + "\n"
		}
	}
	if len(marked) > 0 {
		return bullets(b.Title, marked, room) + text
	}
	return story.Wrapped("\n**", prose(b.Title), "**\n") + text
}

// changedMarkdown is the table of changed rows. Three columns fit GitHub's page without scrolling; details stand below
// in smaller type.
func changedMarkdown(b story.Findings, room int) string {
	t := &story.Table{Limit: maxRows, Columns: []story.Column{{Title: "Name", Markup: true},
		{Title: "Before → after", Markup: true}, {Title: "Change", Right: true, Markup: true}}}
	for _, r := range b.Rows {
		mark := story.Classes[r.Class].Mark
		switch {
		case r.Part:
			mark = "↳"
		case r.Class == story.Failing && b.Warn:
			mark = story.Classes[story.Warned].Mark
		}
		t.Add(story.Wrapped("", mark, story.NB)+code(r.Subject)+below(prose(story.Elide(r.Metric, 30)),
			prose(story.Elide(r.Result(), 60)), story.Bind(prose(story.Wrapped("", r.Share, " of GPU time"))),
			prose(story.Elide(r.Geometry, 60))),
			story.Bind(prose(r.Values))+below(r.Runs()),
			story.Bind(prose(r.Change))+below(story.Join(", ", story.Bind(prose(r.Interval)),
				story.Bind(prose(story.Wrapped("limit ", r.Limit, ""))))))
	}
	return tableMarkdown(t, room)
}

// below puts details under the text of a cell, in smaller type.
func below(texts ...string) string {
	return story.Wrapped("<br><sub>", story.Join(" · ", texts...), "</sub>")
}

// countersMarkdown are the tables of counters behind findings, folded away with what to read, as many as fit into room
// bytes.
func countersMarkdown(b story.Findings, room int) string {
	text := ""
	for _, r := range b.Rows {
		c := r.F.Cause
		if c == nil || len(c.Metrics) == 0 {
			continue
		}
		t := story.CounterTable(c)
		t.Title = ""
		read := measure.Map(story.Guides(c), func(g result.Guide) string {
			return "[" + prose(g.Title) + "](" + g.Link + ")"
		})
		more := folded("Counters of "+code(r.Subject), story.Wrapped("\n", prose(story.Bounds(c)), "\n")+
			story.Wrapped("\nRead ", strings.Join(read, ", "), ".\n")+tableMarkdown(t, room-len(text)-200))
		if len(text)+len(more) > room {
			return text
		}
		text += more
	}
	return text
}

// folded hides a text that is not empty under a title.
func folded(title, body string) string {
	return story.Wrapped("\n<details><summary>"+title+"</summary>\n", body, "\n</details>\n")
}

// bullets lists texts under a title, at most [maxNotes] and as many as fit into room bytes.
func bullets(title string, texts []string, room int) string {
	head, list := "\n**"+title+"**\n\n", ""
	for i, t := range texts {
		line := prose(t)
		if i == maxNotes || len(head)+len(list)+len(line)+64 > room {
			list += result.Given(list, fmt.Sprintf("- … and %d more\n", len(texts)-i))
			break
		}
		list += "- " + line + "\n"
	}
	return story.Wrapped(head, list, "")
}

// tableMarkdown writes the table in at most room bytes, and counts the rows that do not fit.
func tableMarkdown(t *story.Table, room int) string {
	at := t.Shown(false)
	if len(t.Rows) == 0 || len(at) == 0 {
		return ""
	}
	var b strings.Builder
	if title := story.Join(": ", story.Wrapped("**", t.Title, "**"), prose(t.About)); title != "" {
		b.WriteString("\n" + title + "\n")
	}
	head, rule := "|", "|"
	for _, i := range at {
		head += " " + cmp.Or(t.Columns[i].Title, "name") + " |"
		rule += measure.Either(t.Columns[i].Right, " ---: |", " --- |")
	}
	b.WriteString("\n" + head + "\n" + rule + "\n")
	const note = 100 // bytes of the note on rows that are cut
	for r, row := range t.Rows {
		line := "|"
		for _, i := range at {
			switch text := row.Cells[i].Text; {
			case t.Columns[i].Markup:
				line += " " + text + " |"
			case t.Columns[i].Name && text != "":
				line += " " + code(text) + " |"
			case t.Columns[i].Wrap:
				line += " " + prose(text) + " |"
			default:
				line += " " + story.Bind(prose(text)) + " |"
			}
		}
		if b.Len()+len(line)+note > room || r+1 > cmp.Or(t.Limit, math.MaxInt) {
			if r == 0 {
				return ""
			}
			return b.String() + fmt.Sprintf("\n%d more rows are cut here; the JSON report holds all.\n", len(t.Rows)-r)
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}
