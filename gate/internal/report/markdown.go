package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
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
	if v.several() {
		return markdowns(v, o)
	}
	limit := cmp.Or(max(o.MaxBytes, 0), defaultMaxBytes)
	head := fmt.Sprintf("## %s nsgate: %s\n\n**%s**\n", v.Icon(), strings.ToLower(v.Word), prose(v.Reason))
	sections := v.Sections()
	all := groups(sections[0].Rows)
	top := fewDevices(all)
	notes := bullets("Why", reasons(top), limit/3)
	notes += bullets("Warnings", proses(v.Warnings), limit/3-len(notes))
	notes += counters(top, limit/3-len(notes))
	if s := v.Report.Measured; s != nil {
		notes += panelsMarkdown("\nMeasured: "+prose(headline(s))+"\n", s, false, limit/3)
	}
	fall := fallTable(v.Fall, limit/3-len(notes))
	fall += ranksMarkdown(v.Ranks, limit/3-len(notes)-len(fall))
	tail := footer(v, limit/3)
	room := limit - len(head) - len(fall) - len(notes) - len(tail)
	if room < 0 { // too small for anything but the verdict
		return Cut(head, limit), nil
	}
	for i, s := range sections {
		title := fmt.Sprintf("%s (%d)", s.Title, len(s.Rows))
		text := fold(title, table(s.Rows, len(s.Rows), room-len(fold(title, " "))))
		if i == 0 {
			rows, left := s.Rows, len(all)-len(top)
			if left > 0 {
				rows = slices.Concat(top...)
			}
			if text = table(rows, maxRows, room); left > 0 && text != "" {
				text += fmt.Sprintf("\n%s besides; the JSON report holds all.\n", count(left, "slower device"))
			}
			notes = fall + text + notes
		} else {
			notes += text
		}
		room -= len(text)
	}
	return head + notes + tail, nil
}

// markdowns writes the verdict on all workloads with a line for each, and the report on each below.
func markdowns(whole *view, o Options) (string, error) {
	limit := cmp.Or(max(o.MaxBytes, 0), defaultMaxBytes)
	text := fmt.Sprintf("## %s nsgate: %s\n\n**%s**\n\n| workload | verdict | |\n| --- | --- | --- |\n", whole.Icon(), strings.ToLower(whole.Word), prose(whole.Reason))
	for _, v := range whole.each {
		text += fmt.Sprintf("| %s | %s %s | %s |\n", code(v.Workload), v.Icon(), strings.ToLower(v.Word), prose(v.Reason))
	}
	text += bullets("Warnings", proses(whole.Warnings), limit/8) + footer(whole, limit/8)
	if room := limit - len(text); room < 0 {
		return Cut(text, limit), nil
	}
	o.MaxBytes = (limit-len(text))/len(whole.each) - 100
	for _, v := range whole.each {
		section, err := markdown(v, o)
		if err != nil {
			return "", err
		}
		text += "\n" + strings.Replace(section, "nsgate: ", code(v.Workload)+": ", 1)
	}
	return Cut(text, limit), nil
}

// reasons says of each subject why it is where it is.
func reasons(top []group) []string {
	var out []string
	for _, g := range top {
		said := proses(g.said())
		said = said[:min(len(said), 8)]
		if c := g.cause(); c != nil {
			why := "why: " + paragraph(c.Summary, maxCause)
			for i, guide := range c.Guides {
				why += [...]string{" Read: ", ", "}[min(i, 1)] + "[" + paragraph(guide.Title, 120) + "](" + guide.Link + ")"
			}
			said = append(said, why)
		}
		if len(said) > 0 {
			out = append(out, code(g[0].Subject)+": "+strings.Join(said, "; "))
		}
	}
	return out
}

// counters gives the metrics behind each cause, folded away, as many tables as fit into room bytes.
func counters(top []group, room int) string {
	text := ""
	for _, g := range top {
		c := g.cause()
		if c == nil || len(c.Counters) == 0 {
			continue
		}
		t := ""
		if c.Before != "" {
			t = fmt.Sprintf("\nBefore: %s. After: %s.\n", prose(c.Before), prose(c.After))
		}
		t += "\n| Metric | Before | After |\n| --- | ---: | ---: |\n"
		for _, m := range c.Counters {
			t += fmt.Sprintf("| %s | %s | %s |\n", prose(m[0]), bind(prose(m[1])), bind(prose(m[2])))
		}
		more := fold("Counters of "+code(g[0].Subject), t)
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
