package report

import (
	"net/url"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/report/story"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/terminal"
)

// Limits of a comment, whose headline, link and command take up to eight of its twenty lines.
const (
	maxCommentBytes = 60_000
	maxSaid         = 12 // lines between headline and link
	maxOfLabel      = 3  // lines of one label
)

// Pages are the link and the command at the end of a comment.
type Pages struct {
	Run    string // address of the run with its artifacts, "" for none
	Accept string // command that accepts the change, "" for none
}

// Comment is a report as a comment on a change, in at most 20 lines of Markdown: one line for a gate that plainly
// passes, else the headline, why, what to do, the link and the command that accepts the change.
func Comment(r *result.Report, o Options, p Pages) string {
	v := story.Tell(r, o)
	passes := v.Gate.Code == 0
	text := "**" + v.Icon() + " nsgate: " + strings.ToLower(v.Word) + "** · "
	text += measure.Either(v.Several(), prose(v.Reason), code(v.Workload)+": "+prose(v.Lead))
	link := ""
	if u, err := url.Parse(p.Run); err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http") {
		link = `<a href="` + entities.Replace(strings.ReplaceAll(u.String(), `"`, "%22")) + `">report and page</a>`
	}
	said, warns := commentLines(v, p.Accept != ""), func(w *story.Story) bool { return len(w.Warnings) > 0 }
	if len(v.Warnings) == 0 && !slices.ContainsFunc(v.Each, warns) && (v.Tone == story.Good || passes && !v.Judged()) {
		said = nil
	}
	if len(said) == 0 {
		if passes && !v.Judged() && p.Accept != "" {
			text += " · first baseline: " + code(p.Accept)
		}
		text += story.Wrapped(" · ", link, "") + "\n"
	} else {
		text += "\n\n" + strings.Join(said, "\n") + "\n" + story.Wrapped("\n", link, "\n")
		if v.Report.Verdict == result.Fail && p.Accept != "" {
			text += "\nIntended?\n" + pre(story.Clean(p.Accept)) + "\n"
		}
	}
	return terminal.Line(story.Cut(text, maxCommentBytes))
}

// commentLines are the lines between headline and link, as list items: the cause first, and room for warnings. Where a
// command that accepts stands below, a gate that fails has no other step.
func commentLines(v *story.Story, accepts bool) (lines []string) {
	add := func(label string, texts []string) {
		for _, t := range texts[:min(len(texts), maxOfLabel)] {
			t = prose(story.Flat(t))
			if t != "" {
				lines = append(lines, "- **"+label+"** "+t)
			}
		}
	}
	steps := func(w *story.Story) []string {
		return measure.Either(accepts && w.Report.Verdict == result.Fail, nil, w.Next)
	}
	if v.Several() {
		for _, w := range v.Each {
			if w.Tone != story.Good || len(w.Warnings) > 0 {
				texts := slices.Concat([]string{w.Told(story.MaxHeadline)}, w.Warnings, steps(w))
				lines = append(lines, "- "+w.Icon()+" "+code(w.Workload)+": "+prose(story.Join("; ", texts...)))
			}
		}
	} else {
		add("Reason", story.Nonempty(v.Rest))
		first, last := v.Says()
		for _, x := range append(first, last...) {
			if x.Label != "Next" || len(steps(v)) > 0 {
				add(x.Label, x.Lines)
			}
		}
	}
	if most := maxSaid - min(len(v.Warnings), maxOfLabel); len(lines) > most {
		lines = append(lines[:most-1], "- … "+story.Count(len(lines)-most+1, "more line")+" in the report")
	}
	add("Warning", v.Warnings)
	return lines
}

// Headline is the first line of a report, fit for one line of any text.
func Headline(r *result.Report, o Options) string {
	return story.Clean(story.Flat(story.Tell(r, o).Headline()))
}
