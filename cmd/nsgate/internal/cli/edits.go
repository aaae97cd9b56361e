package cli

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate"
	"github.com/nsgate/nsgate/gate/report/github"
)

// ownEdits says whether the change under review edits the baseline or the policy that it is judged by. Outside a pull
// or merge request it says nothing.
func ownEdits(e *env, r *gate.Report) []github.Notice {
	branch, commit := e.getenv("GITHUB_BASE_REF"), e.getenv("CI_MERGE_REQUEST_DIFF_BASE_SHA")
	root := repository()
	if branch == "" && commit == "" || root == "" {
		return nil
	}
	const title = "nsgate: the change edits what it is judged by"
	base := mergeBase(root, branch, commit)
	if base == "" {
		return []github.Notice{{
			Title:   title,
			Message: "cannot tell whether this change edits its own baseline or policy: check out the base too (fetch-depth: 2)",
		}}
	}
	policies := []string{policyFile, filepath.Join(root, policyFile)}
	if given := flagValue(e.line, "policy"); given != "" {
		policies = []string{given}
	}
	var notices []github.Notice
	for _, x := range []struct {
		what  string
		files []string
	}{{"baseline", []string{r.Baseline}}, {"policy", policies}} {
		var paths []string
		for _, f := range x.files {
			if f == "" {
				continue
			}
			if f = within(root, f); f != "" {
				paths = append(paths, f)
			}
		}
		for _, c := range changed(root, base, paths) {
			notices = append(notices, github.Notice{
				Title: title, File: c.file, Line: 1,
				Message: fmt.Sprintf("this change edits the %s that it is judged by: %s of %s", x.what, plural(c.lines, "line"), c.file),
			})
		}
	}
	return notices
}

// mergeBase is the commit at which the change under review left its target, "" where git does not know it. On GitHub
// a shallow checkout of a pull request holds at best the merge of both, whose first parent is the target.
func mergeBase(root, branch, commit string) string {
	if commit != "" {
		return git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", commit+"^{commit}")
	}
	if base := git(root, "merge-base", "--end-of-options", "HEAD", "refs/remotes/origin/"+branch); base != "" {
		return base
	}
	if git(root, "rev-parse", "--verify", "--quiet", "HEAD^2") == "" {
		return ""
	}
	return git(root, "rev-parse", "--verify", "--quiet", "HEAD^1")
}

// change is how many lines of a file differ.
type change struct {
	file  string
	lines int
}

// changed lists which of the paths differ between a commit and the working tree.
func changed(root, base string, paths []string) []change {
	if len(paths) == 0 {
		return nil
	}
	args := []string{"diff", "--numstat", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", base, "--"}
	var out []change
	for row := range strings.SplitSeq(git(root, append(args, paths...)...), "\x00") {
		cells := strings.SplitN(row, "\t", 3)
		if len(cells) != 3 {
			continue
		}
		added, _ := strconv.Atoi(cells[0]) // "-" for a file that is not text
		deleted, _ := strconv.Atoi(cells[1])
		out = append(out, change{cells[2], max(added, deleted)})
	}
	return out
}

// git runs git in the repository and returns what it printed, "" where it failed.
func git(root string, args ...string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	// In a container the checkout often belongs to another user, which git refuses unless told otherwise.
	cmd := exec.CommandContext(ctx, "git", append([]string{"-c", "safe.directory=*", "-c", "core.quotePath=false"}, args...)...)
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// flagValue is what a command line says of a flag, "" where it does not name it.
func flagValue(line []string, name string) string {
	for i, word := range line {
		if word == "--" {
			break
		}
		if value, ok := strings.CutPrefix(word, "--"+name+"="); ok {
			return value
		}
		if word == "--"+name && i+1 < len(line) {
			return line[i+1]
		}
	}
	return ""
}
