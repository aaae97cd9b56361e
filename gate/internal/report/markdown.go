package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/result"
)

// Limits of the Markdown form.
const (
	defaultMaxBytes = 60_000 // a comment on GitHub has at most 65,536 characters
	maxRows         = 50     // rows of the table of changes
	maxNotes        = 20     // reasons, warnings and next steps
)

// markdown writes the report for a job summary or a comment on a merge request of GitHub or GitLab: the verdict, why, where the time
// went, and what changed. It never exceeds Options.MaxBytes; rows that do not fit are counted.
func markdown(v *view) (string, error) {
	limit := cmp.Or(max(v.MaxBytes, 0), defaultMaxBytes)
	if v.several() {
		return markdowns(v, limit), nil
	}
	return markdownOf(v, "## "+v.Icon()+" nsgate: "+strings.ToLower(v.Word)+" · "+code(v.Workload), limit, true), nil
}

// markdownOf writes the report on one workload under a title, in at most limit bytes; next adds the next steps and commands.
func markdownOf(v *view, title string, limit int, next bool) string {
	head := title + "\n\n**" + prose(v.lead()) + "**" + wrapped(" ", prose(flat(v.unsaid())), "") + wrapped(" · ", prose(v.sides()), "") + "\n"
	body := ""
	if v.judged() && v.Report.Undecided {
		body += "\n" + prose(v.Reason) + "\n"
	}
	body += wrapped("\nNot judged: ", prose(v.unjudged()), "\n") + whyMarkdown(v, limit/3) + bullets("Warnings", v.Warnings, limit/4)
	if v.Report.Verdict != result.Pass && v.Fall != nil && len(v.Fall.Rows) > 0 {
		body += tableMarkdown(v.Fall.table(), limit/4)
	}
	if s := v.Report.Measured; s != nil {
		body += panelsMarkdown("\nMeasured: "+prose(headline(s))+"\n", s, false, limit/3)
	}
	body += ranksMarkdown(v.Ranks, limit/4)
	if t := overview(v); len(t.Rows) > 0 {
		body += tableMarkdown(t, limit/4)
	}
	foot := comparedMarkdown(v, limit/4)
	if next {
		foot += nextMarkdown(v, limit/4)
	}
	room := limit - len(head) - len(foot)
	if room < 0 {
		return Cut(head, limit)
	}
	if len(body) > room {
		body = whyMarkdown(v, room)
	}
	rows := slices.Concat(v.of(failing, warned, open, increased), notable(v.of(differing)), v.of(improved, added, removed))
	body += changedMarkdown(v, rows, room-len(body))
	return head + body + countersMarkdown(v, room-len(body)) + foot
}

// markdowns writes the verdict on all workloads with a row for each, then the report on each that does not plainly pass.
func markdowns(whole *view, limit int) string {
	text := fmt.Sprintf("## %s nsgate: %s\n\n**%s**\n\n| Workload | Verdict | Effect |\n| --- | --- | --- |\n", whole.Icon(), strings.ToLower(whole.Word), prose(whole.Reason))
	var changed []*view
	for _, v := range whole.each {
		text += fmt.Sprintf("| %s | %s %s | %s |\n", code(v.Workload), v.Icon(), strings.ToLower(v.Word), prose(v.told(maxHeadline)))
		if v.Tone != good || len(v.Warnings) > 0 {
			changed = append(changed, v)
		}
	}
	foot := bullets("Warnings", whole.Warnings, limit/8)
	for _, v := range changed { // the first that a workload has
		if whole.Next == nil {
			whole.Next = v.Next
		}
	}
	foot += nextMarkdown(whole, limit/8)
	if room := limit - len(text) - len(foot); room < 0 {
		return Cut(text, limit)
	}
	for i, v := range changed {
		room := (limit - len(text) - len(foot)) / (len(changed) - i)
		text += markdownOf(v, "\n### "+v.Icon()+" "+code(v.Workload)+": "+strings.ToLower(v.Word), room, false)
	}
	return text + foot
}

func whyMarkdown(v *view, room int) string {
	var lines []string
	for _, c := range slices.Concat(v.Causes, v.Open) {
		name, line := Elide(c.lead().Subject, 60), ""
		for i, t := range c.Why[:min(len(c.Why), 6)] {
			if rest, ok := strings.CutPrefix(t, name); ok && i == 0 {
				line = code(name) + prose(rest)
				continue
			}
			line += "; " + prose(t)
		}
		if c.Class != increased && c.Class != failing && c.lead().Reason != "" {
			line += "; " + prose(c.lead().Reason)
		}
		if file, n := v.at(c); file != "" {
			line += "; " + linkedMarkdown(v, file, n)
		}
		if cause := group(c.Rows).cause(); cause != nil {
			for i, g := range guides(cause) {
				line += [...]string{". Read ", ", "}[min(i, 1)] + "[" + prose(g.Title) + "](" + g.Link + ")"
			}
		}
		lines = append(lines, strings.TrimPrefix(line, "; "))
	}
	return listed("Why", lines, room)
}

// linkedMarkdown is a file and line, with a link where the host is known.
func linkedMarkdown(v *view, file string, line int) string {
	at := code(fmt.Sprintf("%s:%d", file, line))
	if link := v.Source.file(v.Report.Head.Commit, file, line); link != "" {
		return `<a href="` + entities.Replace(link) + `">` + at + "</a>"
	}
	return at
}

// changedMarkdown is the table of changed rows. Three columns fit GitHub's page without scrolling; details stand below in smaller type.
func changedMarkdown(v *view, rows []row, room int) string {
	t := &table{limit: maxRows, Columns: []column{{Title: "Name", markup: true}, {Title: "Before → after", markup: true}, {Title: "Change", Right: true, markup: true}}}
	for _, r := range untold(rows) {
		t.add(wrapped("", classes[r.Class].mark, nb)+code(r.Subject)+below(prose(Elide(r.Metric, 30)), prose(Elide(r.Result(), 60)), bind(prose(wrapped("", r.Share, " of GPU time"))), prose(Elide(r.Geometry, 60))),
			bind(prose(r.Values))+below(r.runs()), bind(prose(r.Change))+below(join(", ", bind(prose(r.Interval)), bind(prose(wrapped("limit ", r.Limit, ""))))))
	}
	return tableMarkdown(t, room)
}

// below puts details under the text of a cell, in smaller type.
func below(texts ...string) string {
	return wrapped("<br><sub>", join(" · ", texts...), "</sub>")
}

// countersMarkdown are the tables of counters behind causes, folded away, as many as fit into room bytes.
func countersMarkdown(v *view, room int) string {
	text := ""
	for _, c := range slices.Concat(v.Causes, v.Open) {
		i := slices.IndexFunc(c.Rows, func(r row) bool { return r.F.Cause != nil && len(r.F.Cause.Metrics) > 0 })
		if i < 0 {
			continue
		}
		t := counterTable(c.Rows[i].F.Cause)
		t.Title = ""
		more := folded("Counters of "+code(c.Rows[i].Subject), wrapped("\n", prose(bounds(c.Rows[i].F.Cause)), "\n")+tableMarkdown(t, room-len(text)-200))
		if len(text)+len(more) > room {
			return text
		}
		text += more
	}
	return text
}

func comparedMarkdown(v *view, room int) string {
	text := ""
	for _, f := range v.Facts {
		text += fmt.Sprintf("- %s: %s\n", f.Label, prose(f.Text))
	}
	if len(text) > room {
		return ""
	}
	return folded("What was compared", wrapped("\n", text, ""))
}

// nextMarkdown lists next steps and commands, in at most room bytes.
func nextMarkdown(v *view, room int) string {
	text := bullets("Next", v.Next, room)
	for _, c := range v.Commands {
		if more := "\n" + c.Label + ":\n\n" + pre(c.Text) + "\n"; len(text)+len(more) <= room {
			text += more
		}
	}
	return text
}

// folded hides a text that is not empty under a title.
func folded(title, body string) string {
	return wrapped("\n<details><summary>"+title+"</summary>\n", body, "\n</details>\n")
}

// bullets lists texts under a title, at most [maxNotes] and as many as fit into room bytes.
func bullets(title string, texts []string, room int) string {
	lines := make([]string, len(texts))
	for i, t := range texts {
		lines[i] = prose(t)
	}
	return listed(title, lines, room)
}

func listed(title string, lines []string, room int) string {
	text := "\n**" + title + "**\n\n"
	for i, l := range lines {
		if i == maxNotes || len(text)+len(l)+64 > room {
			if i == 0 {
				return ""
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

// tableMarkdown writes the table in at most room bytes, and counts the rows that do not fit.
func tableMarkdown(t *table, room int) string {
	at := t.Shown(false)
	if len(t.Rows) == 0 || len(at) == 0 {
		return ""
	}
	var b strings.Builder
	if t.Title != "" {
		b.WriteString("\n**" + t.Title + "**")
		if t.About != "" {
			b.WriteString(": " + prose(t.About))
		}
		b.WriteByte('\n')
	}
	head, rule := "|", "|"
	for _, i := range at {
		head += " " + cmp.Or(t.Columns[i].Title, "name") + " |"
		rule += map[bool]string{true: " ---: |", false: " --- |"}[t.Columns[i].Right]
	}
	b.WriteString("\n" + head + "\n" + rule + "\n")
	const note = 100 // bytes of the note on rows that are cut
	for r, row := range t.Rows {
		line := "|"
		for _, i := range at {
			switch text := row.Cells[i].Text; {
			case t.Columns[i].markup:
				line += " " + text + " |"
			case t.Columns[i].Name && text != "":
				line += " " + code(text) + " |"
			case t.Columns[i].wrap:
				line += " " + prose(text) + " |"
			default:
				line += " " + bind(prose(text)) + " |"
			}
		}
		if b.Len()+len(line)+note > room || r+1 > cmp.Or(t.limit, math.MaxInt) {
			if r == 0 {
				return ""
			}
			return b.String() + fmt.Sprintf("\n%d more rows are cut here; the JSON report holds all.\n", len(t.Rows)-r)
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// summaryMarkdown writes the summary for a page of GitHub or GitLab, never more than Options.MaxBytes.
func summaryMarkdown(s *result.Summary, o Options) (string, error) {
	limit := cmp.Or(max(o.MaxBytes, 0), defaultMaxBytes)
	text := "## nsgate: " + prose(headline(s)) + "\n\n"
	for _, f := range recording(s) {
		text += fmt.Sprintf("- %s: %s\n", f.Label, prose(f.Text))
	}
	text += bullets("Patterns", sentences(s.Patterns), limit/4) + bullets("Warnings", nonempty(s.Warnings...), limit/4)
	return panelsMarkdown(text, s, o.Verbose, limit), nil
}

// panelsMarkdown adds the tables of a summary to a text, to at most limit bytes in all.
func panelsMarkdown(text string, s *result.Summary, all bool, limit int) string {
	for _, t := range panels(s, all, all, func(path []string) string { return strings.Join(path, "/") }) {
		more := tableMarkdown(t, limit-len(text)-100)
		if text += more; more == "" || strings.Contains(more, "more rows are cut here") {
			return Cut(text, limit-100) + "\n\nThe rest is cut here; the JSON form holds all.\n"
		}
	}
	return Cut(text+ranksMarkdown(newRanks(s.Ranks), limit-len(text)), limit)
}

// ranksMarkdown is [page.ranks] in Markdown, in at most room bytes.
func ranksMarkdown(r *ranks, room int) string {
	if r == nil {
		return ""
	}
	text := bullets("Ranks", r.Told, room)
	for _, f := range r.About {
		text += "\n" + f.Label + ": " + bind(prose(f.Text)) + "\n"
	}
	list := *r.Table
	list.Title, list.About = "", ""
	text += folded(cmp.Or(r.Table.About, "Ranks one by one"), tableMarkdown(&list, room))
	if len(text) > room {
		return ""
	}
	return text
}
