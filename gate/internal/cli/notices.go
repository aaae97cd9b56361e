package cli

import (
	"fmt"
	"path/filepath"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/report/github"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// reviewed is the change under review, as it was when it was first asked for; nil for none.
func (e *env) reviewed() *app.Review {
	if !e.looked {
		e.looked = true
		e.review = app.Reviewed(e.ctx, e.getenv)
	}
	return e.review
}

// editsBaselines reports whether the change under review edits what lies below the root of the baselines, or may.
func (e *env) editsBaselines(root string) bool {
	review := e.reviewed()
	if review == nil {
		return false
	}
	edits, known := review.Edits(e.ctx, []string{root}, nil)
	return !known || len(edits) > 0
}

// ownEdits says whether the pull or merge request edits the baselines, below root, or the policy that it is judged by.
func ownEdits(e *env, r *result.Judgement, policy, root string) []github.Notice {
	review := e.reviewed()
	if review == nil {
		return nil
	}
	top := app.Repository()
	const title = "nsgate: the change edits what it is judged by"
	policies := []string{policy}
	if policy == "" || filepath.Base(policy) == policyFile {
		policies = []string{policy, policyFile, filepath.Join(top, policyFile)}
	}
	var baselines []string
	for _, w := range r.Each() {
		switch {
		case filepath.IsAbs(w.Baseline):
			baselines = append(baselines, w.Baseline)
		case w.Baseline != "":
			baselines = append(baselines, filepath.Join(policyDir(policy), w.Baseline))
		case w.Workload != "" && root != "": // the change may have deleted it
			baselines = append(baselines, app.BaselinesOf(root, w.Workload))
		}
	}
	edits, known := review.Edits(e.ctx, baselines, policies)
	if !known {
		return []github.Notice{{
			Title:   title,
			Message: "cannot tell whether this change edits its own baseline or policy: check out the base too (fetch-depth: 2)",
		}}
	}
	var notices []github.Notice
	for _, x := range edits {
		message := fmt.Sprintf("this change edits the %s that it is judged by: %s of %s", x.What, measure.Count(x.Lines, "line"), x.File)
		file, line := x.File, 1
		switch x.How {
		case "untracked":
			message = fmt.Sprintf("no commit holds the %s that this change is judged by: %s was written by the job, and nobody reviewed it", x.What, x.File)
		case "submodule":
			message = fmt.Sprintf("the %s that this change is judged by lies in the submodule %s, which this change moves or adds: review its commits too", x.What, x.File)
		case "outside":
			file, line = "", 0
			message = fmt.Sprintf("cannot tell whether this change edits the %s that it is judged by: %s lies outside of the repository", x.What, x.File)
		case "linked":
			message = fmt.Sprintf("the %s that this change is judged by is a symbolic link: nobody reviews what %s leads to", x.What, x.File)
		}
		notices = append(notices, github.Notice{Title: title, File: file, Line: line, Message: message})
	}
	return notices
}
