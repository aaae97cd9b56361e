package cli

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/git"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/proc"
	"github.com/nsgate/nsgate/gate/internal/read/filter"
	"github.com/nsgate/nsgate/gate/internal/report"
	"github.com/nsgate/nsgate/gate/internal/report/codehost"
	"github.com/nsgate/nsgate/gate/internal/report/github"
	"github.com/nsgate/nsgate/gate/internal/report/story"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// editsBaselines reports whether the change under review edits what lies below the root of the baselines, or may.
func (e *env) editsBaselines(root string) bool {
	review := e.reviewed()
	if review == nil {
		return false
	}
	edits, known := review.Edits(e.ctx, []string{root}, nil)
	return !known || len(edits) > 0
}

// filterFiles are the files of filters that the policy names.
func (v *judging) filterFiles() (files []string) {
	if v.file == nil {
		return nil
	}
	for i := range v.file.Workloads {
		if name := v.file.Workloads[i].Rows(); filter.IsFile(name) {
			files = append(files, filepath.Join(filepath.Dir(v.file.File), name))
		}
	}
	return files
}

const ownTitle = "nsgate: the change edits what it is judged by"

// policiesOf are the files that may be the policy on either side of a change that judges by one, "" for none.
func policiesOf(policy string) []string {
	policy = cmp.Or(policy, policyFile)
	if filepath.Base(policy) != policyFile {
		return []string{policy}
	}
	return []string{policy, policyFile, filepath.Join(app.Repository(), policyFile)}
}

// eased says by which keys the policy file lets more pass than before the change under review.
func (v *judging) eased(e *env, r *result.Report) (notices []github.Notice) {
	review := e.reviewed()
	if review == nil || v.file == nil {
		return nil
	}
	text, known := review.Before(e.ctx, policiesOf(v.policy))
	was, err := thresholds.Parse(v.policy, []byte(text))
	if !known || err != nil || reflect.DeepEqual(was, v.file) { // one that cannot be read judged nothing
		return nil
	}
	for _, w := range r.Each() {
		for _, x := range v.file.For(w.Workload).Looser(was.For(w.Workload), measured(w)) {
			n := github.Notice{Title: ownTitle, File: git.Within(app.Repository(), v.policy), Line: 1,
				Message: fmt.Sprintf("this change loosens the %s of %s: %s → %s", x.Key, x.Of, x.Was, x.Is)}
			if _, line, ok := strings.Cut(x.Where, ":"); ok {
				n.Line, _ = strconv.Atoi(line)
			}
			notices = measure.Once(notices, n)
		}
	}
	return notices
}

func measured(r *result.Report) []thresholds.Measured {
	all := slices.Concat(measure.Map(r.HeadSessions, func(s model.Session) []model.Series { return s.Series })...)
	return measure.Map(all, func(x model.Series) thresholds.Measured {
		return thresholds.Measured{Subject: x.Subject, Metric: x.Metric}
	})
}

// ownEdits says whether the pull or merge request edits the baselines, below root, or the policy that it is judged by.
func ownEdits(e *env, r *result.Report, policies []string, root string) []github.Notice {
	review := e.reviewed()
	if review == nil {
		return nil
	}
	var baselines []string
	for _, w := range r.Each() {
		switch {
		case w.Baseline != "":
			baselines = append(baselines, app.At(w.Baseline))
		case w.Workload != "" && root != "": // the change may have deleted it
			baselines = append(baselines, app.BaselinesOf(root, w.Workload))
		}
	}
	var notices []github.Notice
	if e.getenv("GITHUB_EVENT_NAME") == "pull_request_target" {
		notices = append(notices, github.Notice{Title: "nsgate: the event is pull_request_target",
			Message: "pull_request_target measures the target, or runs the change with its rights: use pull_request"})
	}
	edits, known := review.Edits(e.ctx, baselines, policies)
	if !known {
		return append(notices, github.Notice{Title: ownTitle, Message: "cannot tell whether this change edits its " +
			"own baseline or policy: check out the base too (fetch-depth: 2), and let variables of one CI host alone " +
			"name its target"})
	}
	if review.Branch != "" {
		notices = append(notices, github.Notice{
			Title: "nsgate: edits of baselines and policy are not known for certain",
			Message: "the CI host names no base commit: edits of baselines and policy are known since " +
				review.Branch + " alone, which a build can move"})
	}
	for _, x := range edits {
		n := github.Notice{Title: ownTitle, File: x.File, Line: 1,
			Message: fmt.Sprintf(edited[x.How], x.What, x.File, measure.Count(x.Lines, "line"))}
		if x.How == "outside" {
			n.File, n.Line = "", 0
		}
		notices = append(notices, n)
	}
	return notices
}

// edited are sentences about an [app.Edit], by how it is one: of a baseline or policy, its file, and the lines.
var edited = map[string]string{
	"edited": "this change edits the %[1]s that it is judged by: %[3]s of %[2]s",
	"untracked": "no commit holds the %[1]s that this change is judged by: %[2]s was written by the job, and nobody " +
		"reviewed it",
	"submodule": "the %[1]s that this change is judged by lies in the submodule %[2]s, which this change moves or " +
		"adds: review its commits too",
	"outside": "cannot tell whether this change edits the %[1]s that it is judged by: %[2]s lies outside of the " +
		"repository",
	"linked": "the %[1]s that this change is judged by is a symbolic link: nobody reviews what %[2]s leads to",
}

// posts reports whether a report goes to the code host.
func (v *given) posts() bool {
	comment := v.value("comment")
	return v.is("check") || comment != "false" && comment != ""
}

// findHost finds the code host of a posted report and hides its tokens from the change's code; errors are warnings.
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
	return measure.Either(v.label == "" || !ok, "", "label "+v.label+story.Wrapped(" by ", by, ""))
}
