package cli

import (
	"fmt"
	"path/filepath"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/report/github"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/measure"
)

// ownEdits says whether the change under review edits the baseline or the policy that it is judged by. Outside a pull
// or merge request it says nothing.
func ownEdits(e *env, r *result.Report, policy string) []github.Notice {
	branch, commit := e.getenv("GITHUB_BASE_REF"), e.getenv("CI_MERGE_REQUEST_DIFF_BASE_SHA")
	root := app.Repository()
	if branch == "" && commit == "" || root == "" {
		return nil
	}
	const title = "nsgate: the change edits what it is judged by"
	policies := []string{policy}
	if policy == "" || filepath.Base(policy) == policyFile {
		policies = []string{policy, policyFile, filepath.Join(root, policyFile)}
	}
	var baselines []string
	for _, w := range r.Each() {
		if w.Baseline != "" {
			baselines = append(baselines, filepath.Join(home(policy), w.Baseline))
		}
	}
	edits, known := app.Edits(root, branch, commit, baselines, policies)
	if !known {
		return []github.Notice{{
			Title:   title,
			Message: "cannot tell whether this change edits its own baseline or policy: check out the base too (fetch-depth: 2)",
		}}
	}
	var notices []github.Notice
	for _, x := range edits {
		notices = append(notices, github.Notice{
			Title: title, File: x.File, Line: 1,
			Message: fmt.Sprintf("this change edits the %s that it is judged by: %s of %s", x.What, measure.Count(x.Lines, "line"), x.File),
		})
	}
	return notices
}
