package report

import (
	"cmp"
	"fmt"
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
	return v.markdown("## "+v.Icon()+" nsgate: "+strings.ToLower(v.Word)+" · "+code(v.Workload), limit, true), nil
}

// markdown writes the report on one workload under a title, in at most limit bytes; next adds the next steps and commands.
func (v *view) markdown(title string, limit int, next bool) string {
	head := title + "\n\n**" + prose(v.lead()) + "**" + wrapped(" ", prose(flat(v.unsaid())), "") + wrapped(" · ", prose(v.sides()), "") + "\n"
	body := ""
	if v.judged() && v.Report.Undecided {
		body += "\n" + prose(v.Reason) + "\n"
	}
	body += wrapped("\nNot judged: ", prose(v.unjudged()), "\n") + v.why(limit/3) + bullets("Warnings", v.Warnings, limit/4)
	if v.Report.Verdict != result.Pass && v.Fall != nil && len(v.Fall.Rows) > 0 {
		body += v.Fall.table().markdown(limit / 4)
	}
	if s := v.Report.Measured; s != nil {
		body += panelsMarkdown("\nMeasured: "+prose(headline(s))+"\n", s, false, limit/3)
	}
	body += ranksMarkdown(v.Ranks, limit/4)
	if t := overview(v); len(t.Rows) > 0 {
		body += t.markdown(limit / 4)
	}
	foot := v.compared(limit / 4)
	if next {
		foot += v.next(limit / 4)
	}
	room := limit - len(head) - len(foot)
	if room < 0 {
		return Cut(head, limit)
	}
	if len(body) > room {
		body = v.why(room)
	}
	rows := slices.Concat(v.of(failing, warned, open, increased), notable(v.of(differing)), v.of(improved, added, removed))
	body += v.changed(rows, room-len(body))
	return head + body + v.counters(room-len(body)) + foot
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
	foot += whole.next(limit / 8)
	if room := limit - len(text) - len(foot); room < 0 {
		return Cut(text, limit)
	}
	for i, v := range changed {
		room := (limit - len(text) - len(foot)) / (len(changed) - i)
		text += v.markdown("\n### "+v.Icon()+" "+code(v.Workload)+": "+strings.ToLower(v.Word), room, false)
	}
	return text + foot
}

func (v *view) why(room int) string {
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
			line += "; " + v.linked(file, n)
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

func (v *view) at(c cause) (file string, line int) {
	for _, r := range c.Rows {
		if file, line = v.place(r.F); file != "" {
			return file, line
		}
	}
	return "", 0
}

// linked is a file and line, with a link where the host is known.
func (v *view) linked(file string, line int) string {
	at := code(fmt.Sprintf("%s:%d", file, line))
	if link := v.Source.file(v.Report.Head.Commit, file, line); link != "" {
		return `<a href="` + entities.Replace(link) + `">` + at + "</a>"
	}
	return at
}

// changed is the table of changed rows. Three columns fit GitHub's page without scrolling; details stand below in smaller type.
func (v *view) changed(rows []row, room int) string {
	t := &table{limit: maxRows, Columns: []column{{Title: "Name", markup: true}, {Title: "Before → after", markup: true}, {Title: "Change", Right: true, markup: true}}}
	for _, r := range untold(rows) {
		t.add(wrapped("", classes[r.Class].mark, nb)+code(r.Subject)+below(prose(Elide(r.Metric, 30)), prose(Elide(r.Result(), 60)), bind(prose(wrapped("", r.Share, " of GPU time"))), prose(Elide(r.Geometry, 60))),
			bind(prose(r.Values))+below(r.runs()), bind(prose(r.Change))+below(join(", ", bind(prose(r.Interval)), bind(prose(wrapped("limit ", r.Limit, ""))))))
	}
	return t.markdown(room)
}

// below puts details under the text of a cell, in smaller type.
func below(texts ...string) string {
	return wrapped("<br><sub>", join(" · ", texts...), "</sub>")
}

// counters are the tables of counters behind causes, folded away, as many as fit into room bytes.
func (v *view) counters(room int) string {
	text := ""
	for _, c := range slices.Concat(v.Causes, v.Open) {
		i := slices.IndexFunc(c.Rows, func(r row) bool { return r.F.Cause != nil && len(r.F.Cause.Metrics) > 0 })
		if i < 0 {
			continue
		}
		t := counterTable(c.Rows[i].F.Cause)
		t.Title = ""
		more := folded("Counters of "+code(c.Rows[i].Subject), wrapped("\n", prose(bounds(c.Rows[i].F.Cause)), "\n")+t.markdown(room-len(text)-200))
		if len(text)+len(more) > room {
			return text
		}
		text += more
	}
	return text
}

func (v *view) compared(room int) string {
	text := ""
	for _, f := range v.Facts {
		text += fmt.Sprintf("- %s: %s\n", f.Label, prose(f.Text))
	}
	if len(text) > room {
		return ""
	}
	return folded("What was compared", wrapped("\n", text, ""))
}

// next lists next steps and commands, in at most room bytes.
func (v *view) next(room int) string {
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
