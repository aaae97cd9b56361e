package app

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/git"
)

// Review is a change under review, as a CI host describes it.
type Review struct {
	Branch string // the target, a branch of origin, "" where the host names a commit
	Commit string // at which the change left its target, "" where the host does not know
	Merge  string // the host's own merge of both, which is checked out; "" where the host makes none
}

// Reviewed is the change under review by the variables of a CI host: GitHub, GitLab, Buildkite, Jenkins, Azure Pipelines, Bitbucket or
// Bamboo. It is not ok outside of a pull or merge request.
func Reviewed(getenv func(string) string) (r Review, ok bool) {
	for _, name := range []string{"GITHUB_BASE_REF", "CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "BUILDKITE_PULL_REQUEST_BASE_BRANCH", "CHANGE_TARGET",
		"SYSTEM_PULLREQUEST_TARGETBRANCH", "BITBUCKET_PR_DESTINATION_BRANCH", "bamboo_repository_pr_targetBranch"} {
		r.Branch = cmp.Or(r.Branch, strings.TrimPrefix(getenv(name), "refs/heads/"))
	}
	r.Commit = cmp.Or(getenv("CI_MERGE_REQUEST_DIFF_BASE_SHA"), getenv("BITBUCKET_PR_DESTINATION_COMMIT"))
	for _, host := range [][2]string{{"GITHUB_REF", "GITHUB_SHA"}, {"BUILD_SOURCEBRANCH", "BUILD_SOURCEVERSION"}} {
		if mergeRef.MatchString(getenv(host[0])) {
			r.Merge = getenv(host[1])
		}
	}
	return r, r.Branch != "" || r.Commit != ""
}

// mergeRef is the ref under which GitHub and Azure keep their merge of a change with its target.
var mergeRef = regexp.MustCompile(`^refs/pull/[0-9]+/merge$`)

// Edit is a file by which the change under review is judged and which it edits itself.
type Edit struct {
	What  string // "baseline" or "policy"
	File  string // relative to the repository, with slashes
	Lines int    // added or deleted, whichever is more
	// How is "edited", "untracked" for a file that no commit holds, or "linked" for a symbolic link, whose target nobody reviews.
	How string
}

// Edits says which of the baseline (directories) and the policy files the change under review edits, since it left its
// target. known is false where git does not know that. What is "" is left out.
func (r Review) Edits(ctx context.Context, root string, baselines, policies []string) (edits []Edit, known bool) {
	base := r.base(ctx, root)
	if base == "" {
		return nil, false
	}
	for _, judged := range []struct {
		what  string
		files []string
	}{{"baseline", baselines}, {"policy", policies}} {
		names := namesIn(root, judged.files)
		changed, err := git.Changed(ctx, root, base, names...)
		if err != nil {
			return nil, false
		}
		for _, c := range changed {
			edits = append(edits, Edit{judged.what, c.File, c.Lines, "edited"})
		}
		for _, name := range names {
			if link := linked(root, name); link != "" {
				edits = append(edits, Edit{judged.what, link, 0, "linked"})
				continue
			}
			others, err := git.Output(ctx, root, "ls-files", "--others", "-z", "--", ":(top,literal)"+name)
			if err != nil {
				return nil, false
			}
			for file := range strings.SplitSeq(others, "\x00") {
				if file != "" {
					edits = append(edits, Edit{judged.what, file, 0, "untracked"})
				}
			}
		}
	}
	return edits, true
}

// linked is the first part of a path below root that is a symbolic link, "" for none.
func linked(root, name string) string {
	at := ""
	for part := range strings.SplitSeq(name, "/") {
		at = path.Join(at, part)
		info, err := os.Lstat(filepath.Join(root, filepath.FromSlash(at)))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return ""
		case err == nil && info.Mode()&fs.ModeSymlink != 0:
			return at
		}
	}
	return ""
}

// namesIn are the names of those files that lie in a repository, relative to its root.
func namesIn(root string, files []string) (names []string) {
	for _, f := range files {
		if name := git.Within(root, f); f != "" && name != "" {
			names = append(names, name)
		}
	}
	return names
}

// base is the commit at which the change under review left its target, "" where git does not know it. A shallow checkout holds at best
// the host's merge of both, whose first parent is the target; a merge by the author says nothing.
func (r Review) base(ctx context.Context, root string) string {
	if r.Commit != "" {
		return ask(ctx, root, "rev-parse", "--verify", "--quiet", "--end-of-options", r.Commit+"^{commit}")
	}
	if base := ask(ctx, root, "merge-base", "--end-of-options", "HEAD", "refs/remotes/origin/"+r.Branch); base != "" {
		return base
	}
	head := ask(ctx, root, "rev-parse", "--verify", "--quiet", "HEAD")
	if head == "" || head != r.Merge || ask(ctx, root, "rev-parse", "--verify", "--quiet", "HEAD^2") == "" {
		return ""
	}
	return ask(ctx, root, "rev-parse", "--verify", "--quiet", "HEAD^1")
}
