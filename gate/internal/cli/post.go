package cli

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/git"
	"github.com/nsgate/nsgate/gate/internal/proc"
	"github.com/nsgate/nsgate/gate/internal/report"
	"github.com/nsgate/nsgate/gate/internal/report/codehost"
	"github.com/nsgate/nsgate/gate/internal/report/story"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// posts reports whether a report goes to the code host.
func (v *given) posts() bool {
	comment := v.value("comment")
	return v.is("check") || comment != "false" && comment != ""
}

// findHost finds the code host for a report that is posted, before any code of the change runs, and hides its tokens
// from that. An error is a warning: it changes no verdict.
func (e *env) findHost(v *given) {
	if v.posts() || v.value("accept-label") != "" {
		e.event = codehost.ReviewOf(e.getenv)
	}
	token := proc.Secret(codehost.Descriptor)
	if !v.posts() {
		return
	}
	if token == "" && proc.Supported && proc.Guarded() && codehost.Token(e.getenv) != "" {
		token = codehost.Token(e.getenv)
		codehost.Hide(os.Unsetenv)
		err := proc.Again(codehost.Descriptor, token) // where it succeeds, the token comes back by the descriptor
		fmt.Fprintln(e.Err, "nsgate: programs of this job can read the token in its environment:", err)
	}
	if token != "" {
		codehost.Hand(os.Setenv, token)
	}
	host, err := codehost.New(e.getenv)
	codehost.Hide(os.Unsetenv)
	if err != nil {
		fmt.Fprintln(e.Err, "nsgate:", err)
		return
	}
	host.ForFork = "nsgate init --fork-comments"
	e.host = host
}

func (v *reported) postOf(e *env, r *result.Report, options report.Options, policy, gpu string) codehost.Post {
	whole := report.Options{Locate: options.Locate, Source: options.Source}
	p := codehost.Post{Subject: r.Workload, GPU: gpu, Update: v.comment == "failures" && r.Gate.Code == ExitPass}
	if file := git.Within(app.Repository(), policy); file != policyFile {
		p.Policy = file
	}
	for _, w := range slices.Backward(r.Each()) {
		p.GPU = cmp.Or(w.Head.Environment.GPU, w.Base.Environment.GPU, p.GPU)
	}
	if v.comment != "false" {
		pages := report.Pages{Run: e.event.Run}
		for _, w := range r.Each() {
			pages.Accept = cmp.Or(pages.Accept, w.Accept)
		}
		if v.patch != "" && (pages.Accept != "" || r.Verdict != result.Fail || len(r.Workloads) > 0) {
			pages.Accept = v.apply()
		}
		p.Comment = report.Comment(r, whole, pages)
	}
	if !v.checkRun {
		return p
	}
	for _, w := range r.Each() {
		conclusion := "success"
		switch {
		case w.Gate.Code != ExitPass:
			conclusion = "failure"
		case w.Verdict != result.Pass && w.Gate.Way != result.Accepted:
			conclusion = "neutral"
		}
		var summary strings.Builder
		report.Render("markdown", &summary, w, whole) // a strings.Builder takes everything
		name := report.Elide(report.Clean(cmp.Or(w.Workload, "default")), 80)
		of := story.Join(", ", report.Elide(report.Clean(cmp.Or(w.Head.Environment.GPU, p.GPU)), 40),
			report.Elide(report.Clean(codehost.Job(e.getenv)), 80))
		p.Checks = append(p.Checks, codehost.Check{Name: "nsgate: " + name + story.Wrapped(" (", of, ")"),
			Conclusion: conclusion, Title: report.Headline(w, whole), Summary: summary.String()})
	}
	return p
}

// labelled is the label with which the pull request passes, and who has set it; "" where it has none.
func (v *reported) labelled(e *env) string {
	by, ok := e.event.Labelled(v.label)
	if v.label == "" || !ok {
		return ""
	}
	return "label " + v.label + story.Wrapped(" by ", by, "")
}
