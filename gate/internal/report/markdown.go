package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/report/story"
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
func markdown(v *story.Story) (string, error) {
	limit := cmp.Or(max(v.MaxBytes, 0), defaultMaxBytes)
	if v.Several() {
		return markdowns(v, limit), nil
	}
	return markdownOf(v, "## "+v.Icon()+" nsgate: "+strings.ToLower(v.Word)+" · "+code(v.Workload), limit), nil
}

// markdownOf writes the report on one workload under a title, in at most limit bytes.
func markdownOf(v *story.Story, title string, limit int) string {
	head := title + "\n\n**" + prose(v.Lead) + "**" + story.Wrapped(" ", prose(story.Flat(v.Rest)), "") + story.Wrapped(" · ", prose(v.Sides()), "") + "\n"
	body := ""
	if v.Judged() && v.Report.Undecided {
		body += "\n" + prose(v.Reason) + "\n"
	}
	body += story.Wrapped("\nNot judged: ", prose(v.Unjudged()), "\n") +
		story.Wrapped("\nOmitted: ", prose(strings.Join(v.Omitted().Lines, "; ")), "\n") +
		whyMarkdown(v, limit/3) + bullets("Warnings", v.Warnings, limit/4)
	if v.Report.Verdict != result.Pass && v.Fall != nil && len(v.Fall.Rows) > 0 {
		body += tableMarkdown(v.Fall.Table(), limit/4)
	}
	if s := v.Report.Measured; s != nil {
		body += panelsMarkdown("\nMeasured: "+prose(story.Headline(s))+"\n", s, false, limit/3)
	}
	body += ranksMarkdown(v.Ranks, limit/4)
	if t := story.Overview(v); len(t.Rows) > 0 {
		body += tableMarkdown(t, limit/4)
	}
	foot := comparedMarkdown(v, limit/4) + nextMarkdown(v, limit/4)
	room := limit - len(head) - len(foot)
	if room < 0 {
		return story.Cut(head, limit)
	}
	if len(body) > room {
		body = whyMarkdown(v, room)
	}
	rows := slices.Concat(v.ByCause(v.Causes, v.Open), story.Notable(v.Of(story.Differing)), v.ByCause(v.Gains),
		v.Of(story.New, story.Gone))
	body += changedMarkdown(v, rows, room-len(body))
	return head + body + countersMarkdown(v, room-len(body)) + foot
}

// markdowns writes the verdict on all workloads with a row for each, then the report on each that does not plainly pass.
func markdowns(whole *story.Story, limit int) string {
	text := fmt.Sprintf("## %s nsgate: %s\n\n**%s**\n\n| Workload | Verdict | Effect |\n| --- | --- | --- |\n", whole.Icon(), strings.ToLower(whole.Word), prose(whole.Reason))
	var changed []*story.Story
	for _, v := range whole.Each {
		text += fmt.Sprintf("| %s | %s %s | %s |\n", code(v.Workload), v.Icon(), strings.ToLower(v.Word), prose(v.Told(story.MaxHeadline)))
		if v.Tone != story.Good || len(v.Warnings) > 0 {
			changed = append(changed, v)
		}
	}
	foot := bullets("Warnings", whole.Warnings, limit/8)
	foot += nextMarkdown(whole, limit/8)
	if room := limit - len(text) - len(foot); room < 0 {
		return story.Cut(text, limit)
	}
	for i, v := range changed {
		room := (limit - len(text) - len(foot)) / (len(changed) - i)
		text += markdownOf(v, "\n### "+v.Icon()+" "+code(v.Workload)+": "+strings.ToLower(v.Word), room)
	}
	return text + foot
}

func whyMarkdown(v *story.Story, room int) string {
	var lines []string
	for _, c := range slices.Concat(v.Causes, v.Open) {
		name, line := story.Elide(c.Lead().Subject, 60), ""
		for i, t := range c.Why[:min(len(c.Why), 6)] {
			if rest, ok := strings.CutPrefix(t, name); ok && i == 0 {
				line = code(name) + prose(rest)
				continue
			}
			line += "; " + prose(t)
		}
		if c.Class != story.Increased && c.Class != story.Failing && c.Lead().Reason != "" {
			line += "; " + prose(c.Lead().Reason)
		}
		line += story.Wrapped("; do: ", prose(c.Do), "")
		if file, n := v.PlaceOf(c); file != "" {
			line += "; " + linkedMarkdown(v, file, n)
		}
		if cause := story.Group(c.Rows).Cause(); cause != nil {
			for i, g := range story.Guides(cause) {
				line += [...]string{". Read ", ", "}[min(i, 1)] + "[" + prose(g.Title) + "](" + g.Link + ")"
			}
		}
		lines = append(lines, strings.TrimPrefix(line, "; "))
	}
	return listed("Why", lines, room)
}

// linkedMarkdown is a file and line, with a link where the host is known.
func linkedMarkdown(v *story.Story, file string, line int) string {
	at := code(fmt.Sprintf("%s:%d", file, line))
	if link := v.Source.File(v.Report.Head.Commit, file, line); link != "" {
		return `<a href="` + entities.Replace(link) + `">` + at + "</a>"
	}
	return at
}

// changedMarkdown is the table of changed rows. Three columns fit GitHub's page without scrolling; details stand below in smaller type.
func changedMarkdown(v *story.Story, rows []story.Row, room int) string {
	t := &story.Table{Limit: maxRows, Columns: []story.Column{{Title: "Name", Markup: true}, {Title: "Before → after", Markup: true}, {Title: "Change", Right: true, Markup: true}}}
	for _, r := range story.Untold(rows) {
		mark := story.Classes[r.Class].Mark
		switch {
		case r.Part:
			mark = "↳"
		case r.Class == story.Failing && v.Gate.Code == 0:
			mark = story.Classes[story.Warned].Mark
		}
		t.Add(story.Wrapped("", mark, story.NB)+code(r.Subject)+
			below(prose(story.Elide(r.Metric, 30)), prose(story.Elide(r.Result(), 60)),
				story.Bind(prose(story.Wrapped("", r.Share, " of GPU time"))), prose(story.Elide(r.Geometry, 60))),
			story.Bind(prose(r.Values))+below(r.Runs()), story.Bind(prose(r.Change))+below(story.Join(", ", story.Bind(prose(r.Interval)), story.Bind(prose(story.Wrapped("limit ", r.Limit, ""))))))
	}
	return tableMarkdown(t, room)
}

// below puts details under the text of a cell, in smaller type.
func below(texts ...string) string {
	return story.Wrapped("<br><sub>", story.Join(" · ", texts...), "</sub>")
}

// countersMarkdown are the tables of counters behind causes, folded away, as many as fit into room bytes.
func countersMarkdown(v *story.Story, room int) string {
	text := ""
	for _, c := range slices.Concat(v.Causes, v.Open) {
		i := slices.IndexFunc(c.Rows, func(r story.Row) bool { return r.F.Cause != nil && len(r.F.Cause.Metrics) > 0 })
		if i < 0 {
			continue
		}
		t := story.CounterTable(c.Rows[i].F.Cause)
		t.Title = ""
		more := folded("Counters of "+code(c.Rows[i].Subject), story.Wrapped("\n", prose(story.Bounds(c.Rows[i].F.Cause)), "\n")+tableMarkdown(t, room-len(text)-200))
		if len(text)+len(more) > room {
			return text
		}
		text += more
	}
	return text
}

func comparedMarkdown(v *story.Story, room int) string {
	text := ""
	for _, f := range v.Facts {
		text += fmt.Sprintf("- %s: %s\n", f.Label, prose(f.Text))
	}
	if len(text) > room {
		return ""
	}
	return folded("What was compared", story.Wrapped("\n", text, ""))
}

// nextMarkdown lists next steps and commands, in at most room bytes.
func nextMarkdown(v *story.Story, room int) string {
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
	return story.Wrapped("\n<details><summary>"+title+"</summary>\n", body, "\n</details>\n")
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
func tableMarkdown(t *story.Table, room int) string {
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

// summaryMarkdown writes the summary for a page of GitHub or GitLab, never more than Options.MaxBytes.
func summaryMarkdown(s *result.Summary, o story.Options) (string, error) {
	limit := cmp.Or(max(o.MaxBytes, 0), defaultMaxBytes)
	text := "## nsgate: " + prose(story.Headline(s)) + "\n\n"
	for _, f := range story.Recording(s) {
		text += fmt.Sprintf("- %s: %s\n", f.Label, prose(f.Text))
	}
	text += bullets("Patterns", story.Sentences(s.Patterns), limit/4) + bullets("Warnings", story.Nonempty(s.Warnings...), limit/4)
	return panelsMarkdown(text, s, o.Verbose, limit), nil
}

// panelsMarkdown adds the tables of a summary to a text, to at most limit bytes in all.
func panelsMarkdown(text string, s *result.Summary, all bool, limit int) string {
	for _, t := range story.Panels(s, all, all, func(path []string) string { return strings.Join(path, "/") }) {
		more := tableMarkdown(t, limit-len(text)-100)
		if text += more; more == "" || strings.Contains(more, "more rows are cut here") {
			return story.Cut(text, limit-100) + "\n\nThe rest is cut here; the JSON form holds all.\n"
		}
	}
	return story.Cut(text+ranksMarkdown(story.NewRanks(s.Ranks), limit-len(text)), limit)
}

// ranksMarkdown is [page.ranks] in Markdown, in at most room bytes.
func ranksMarkdown(r *story.Ranks, room int) string {
	if r == nil {
		return ""
	}
	text := bullets("Ranks", r.Told, room)
	for _, f := range r.About {
		text += "\n" + f.Label + ": " + story.Bind(prose(f.Text)) + "\n"
	}
	list := *r.Table
	list.Title, list.About = "", ""
	text += folded(cmp.Or(r.Table.About, "Ranks one by one"), tableMarkdown(&list, room))
	if len(text) > room {
		return ""
	}
	return text
}
