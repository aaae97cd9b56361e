package app

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/git"
	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/report/codehost"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// Review is a change under review.
type Review struct {
	repository git.Repository
	base       string // commit where the change left its target, "" where git does not know it
	// Branch is the one that gave the base, where the host names no commit: what the job ran before can have moved it.
	Branch string
}

// targets are the variables by which CI hosts name the target branch of a change, the commit where it left that, and
// the ref and commit of their own merge, "" for none.
var targets = [][4]string{
	{"GITHUB_BASE_REF", "", "GITHUB_REF", "GITHUB_SHA"},
	{"CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "CI_MERGE_REQUEST_DIFF_BASE_SHA"},
	{"SYSTEM_PULLREQUEST_TARGETBRANCH", "", "BUILD_SOURCEBRANCH", "BUILD_SOURCEVERSION"},
	{"BITBUCKET_PR_DESTINATION_BRANCH", "BITBUCKET_PR_DESTINATION_COMMIT"},
	{"BUILDKITE_PULL_REQUEST_BASE_BRANCH"}, {"CHANGE_TARGET"}, {"bamboo_repository_pr_targetBranch"},
}

// Reviewed is the change under review by the variables of a CI host: GitHub, GitLab, Buildkite, Jenkins, Azure
// Pipelines, Bitbucket or Bamboo, in the repository of the working directory, which a build can remove; nil outside of
// a pull or merge request. Code of the change can move branches and git's idea of the files: call it before that runs.
func Reviewed(ctx context.Context, getenv func(string) string) *Review {
	of := slices.DeleteFunc(slices.Clone(targets), func(t [4]string) bool { return getenv(t[0])+getenv(t[1]) == "" })
	if len(of) == 0 {
		return nil
	}
	branch, commit := strings.TrimPrefix(getenv(of[0][0]), "refs/heads/"), getenv(of[0][1])
	merge := measure.Either(mergeRef().MatchString(getenv(of[0][2])), getenv(of[0][3]), "")
	in, err := git.Open(ctx, Repository())
	if err != nil || len(of) > 1 { // a build can set the variables of another host
		return &Review{}
	}
	r := &Review{repository: in, base: leftAt(ctx, in, commit, codehost.Target(getenv), merge)}
	if r.base == "" && commit == "" {
		r.Branch = "refs/remotes/origin/" + branch
		r.base, _ = in.Output(ctx, "merge-base", "--end-of-options", "HEAD", r.Branch)
	}
	return r
}

// mergeRef matches the ref of GitHub's and Azure's merge of a change with its target.
var mergeRef = input.Pattern(`^refs/pull/[0-9]+/merge$`)

// Edit is a baseline or policy file that judges the change under review and that the change edits. How it does so is
// that of git, "linked" (a symbolic link, whose target is not reviewed) or "outside" (beyond the repository).
type Edit struct {
	What string // "baseline" or "policy"
	git.Change
}

// Edits says which baselines (directories) and policy files the change edits since it left its target, if git knows.
func (r *Review) Edits(ctx context.Context, baselines, policies []string) (edits []Edit, known bool) {
	if r.base == "" {
		return nil, false
	}
	for i, file := range slices.Concat(baselines, policies) {
		what, name := "policy", git.Within(r.repository.Top, file)
		if i < len(baselines) {
			what = "baseline"
		}
		of, err := []git.Change{{File: filepath.ToSlash(file), How: "outside"}}, error(nil)
		if name != "" {
			of, err = editsOf(ctx, r.repository, r.base, name)
		}
		if err != nil {
			return nil, false
		}
		for _, c := range of {
			edits = measure.Once(edits, Edit{what, c})
		}
	}
	return edits, true
}

// Before is the text of the first file that the change found, "" for none. known is false where git does not know.
func (r *Review) Before(ctx context.Context, files []string) (text string, known bool) {
	for _, file := range files {
		name := git.Within(r.repository.Top, file)
		_, err := r.repository.Genuine(ctx, r.base, name)
		if r.base == "" || name == "" || err != nil {
			return "", false
		}
		if text, err := r.repository.Output(ctx, "cat-file", "blob", r.base+":"+name); err == nil {
			return text, true
		}
	}
	return "", true
}

// editsOf is how the files of a name in a repository differ from a commit. What a link leads to is in none.
func editsOf(ctx context.Context, in git.Repository, base, name string) ([]git.Change, error) {
	edits, err := in.Changed(ctx, base, name)
	if link := linked(in.Top, name); link != "" {
		edits = slices.DeleteFunc(edits, func(c git.Change) bool { return c.How == git.Untracked })
		edits = append(edits, git.Change{File: link, How: "linked"})
	}
	return edits, err
}

// Uncommitted warns of baselines (directories) that are not in the commit here as they are: another checkout is judged
// by others. It is "" where there are none, and outside of a repository.
func Uncommitted(ctx context.Context, baselines []string) string {
	lacking := slices.DeleteFunc(baselines, func(dir string) bool {
		in, err := git.Open(ctx, git.Top(dir))
		name := git.Within(in.Top, dir)
		if err != nil || name == "" {
			return true
		}
		_, empty := in.Output(ctx, "rev-parse", "--verify", "--quiet", "HEAD")
		edits, err := editsOf(ctx, in, "HEAD", name)
		return empty == nil && (err != nil || len(edits) == 0)
	})
	if len(lacking) == 0 {
		return ""
	}
	rule := ignoredBy(ctx, filepath.Join(lacking[0], "session.csv"))
	return "baseline not committed as it is here, and missing in other checkouts: " + strings.Join(lacking, ", ") +
		"; commit it" + result.Given(rule, " with git add -f, because git ignores it (", rule, ")")
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

// leftAt is the commit where the change under review left its target, "" where git does not know it: the base that the
// host names, else by the host's own merge, if checked out, which has the target as its first parent (a merge by the
// author proves nothing), or by the target's commit in the host's event.
func leftAt(ctx context.Context, in git.Repository, commit, target, merge string) string {
	ask := func(args ...string) string {
		out, _ := in.Output(ctx, args...)
		return strings.TrimSpace(out)
	}
	if commit != "" {
		return ask(git.CommitOf(commit)...)
	}
	head := ask("rev-parse", "--verify", "--quiet", "HEAD")
	if head != "" && head == merge && ask("rev-parse", "--verify", "--quiet", "HEAD^2") != "" {
		return ask("rev-parse", "--verify", "--quiet", "HEAD^1")
	}
	if head == "" || target == "" {
		return ""
	}
	base, _ := in.MergeBase(ctx, head, target)
	return base
}

// Placed is a directory as reports have it: relative to the repository, else to the working directory, else absolute.
func Placed(dir string) string {
	if dir == "" {
		return ""
	}
	absolute, _ := filepath.Abs(dir) // there is a working directory
	return cmp.Or(git.Within(cmp.Or(Repository(), "."), dir), filepath.ToSlash(absolute))
}

// At is where the directory of a report lies, from the working directory.
func At(placed string) string {
	dir := filepath.FromSlash(placed)
	if filepath.IsAbs(dir) {
		return dir
	}
	return Here(filepath.Join(cmp.Or(Repository(), "."), dir))
}

// Here names a file from the working directory.
func Here(file string) string {
	at, _ := filepath.Abs(".")
	if relative, err := filepath.Rel(at, file); err == nil {
		return relative
	}
	return file
}

// Repository is the directory at or above the working directory that holds .git, "" where none does.
func Repository() string { return git.Top("") }

// Ask is an answer of git in a directory, "" where it has none.
func Ask(ctx context.Context, dir string, args ...string) string {
	out, _ := git.Output(ctx, dir, args...)
	return strings.TrimSpace(out)
}

// ignoredBy is the pattern in git's ignore files that matches a file, "FILE:LINE:PATTERN", "" for none.
func ignoredBy(ctx context.Context, file string) string {
	// check-ignore takes paths literally, and refuses to be told so.
	said := Ask(ctx, filepath.Dir(file), "--no-literal-pathspecs", "check-ignore", "-v", "--", filepath.Base(file))
	rule, _, _ := strings.Cut(said, "\t")
	return measure.Either(strings.Contains(rule, ":!"), "", rule) // the last rule that applies may take it back
}

// commit is that checked out here, [dirty] where a file differs, "" without a repository; an error if git refuses it,
// or does not say whether files differ.
func commit(ctx context.Context) (string, error) {
	id, changed, err := git.Head(ctx, DefaultRoot)
	switch {
	case errors.Is(err, git.ErrForeign), err != nil && id != "":
		return "", err
	case err != nil:
		return "", nil
	case changed:
		return id[:12] + dirty, nil
	}
	return id[:12], nil
}

// dirty ends the name of a commit where files other than baselines have uncommitted changes.
const dirty = "-dirty"

// GitDir is the git directory of the working directory, "" where there is none.
func GitDir(ctx context.Context) string { return Ask(ctx, "", "rev-parse", "--absolute-git-dir") }

// Origin is the address that a checkout was cloned from, "" where git does not say.
func Origin(ctx context.Context, root string) string {
	return Ask(ctx, root, "config", "--get", "remote.origin.url")
}
