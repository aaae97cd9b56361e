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
)

// Review is a change under review.
type Review struct {
	repository git.Repository
	base       string // commit where the change left its target, "" where git does not know it
	// Branch is the one that gave the base, where the host names no commit: what the job ran before can have moved it.
	Branch string
}

// Reviewed is the change under review by the variables of a CI host: GitHub, GitLab, Buildkite, Jenkins, Azure
// Pipelines, Bitbucket or Bamboo, in the repository of the working directory; nil outside of a pull or merge request or
// a repository. The code of a change can move branches and git's idea of the files: call it before that runs.
func Reviewed(ctx context.Context, getenv func(string) string) *Review {
	branch, merge, top := "", "", Repository()
	for _, name := range []string{"GITHUB_BASE_REF", "CI_MERGE_REQUEST_TARGET_BRANCH_NAME",
		"BUILDKITE_PULL_REQUEST_BASE_BRANCH", "CHANGE_TARGET", "SYSTEM_PULLREQUEST_TARGETBRANCH",
		"BITBUCKET_PR_DESTINATION_BRANCH", "bamboo_repository_pr_targetBranch"} {
		branch = cmp.Or(branch, strings.TrimPrefix(getenv(name), "refs/heads/"))
	}
	commit := cmp.Or(getenv("CI_MERGE_REQUEST_DIFF_BASE_SHA"), getenv("BITBUCKET_PR_DESTINATION_COMMIT"))
	if branch == "" && commit == "" || top == "" {
		return nil
	}
	for _, host := range [][2]string{{"GITHUB_REF", "GITHUB_SHA"}, {"BUILD_SOURCEBRANCH", "BUILD_SOURCEVERSION"}} {
		if mergeRef().MatchString(getenv(host[0])) {
			merge = getenv(host[1])
		}
	}
	in, err := git.Open(ctx, top)
	if err != nil {
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

// Edit is a baseline or policy file that judges the change under review and that the change edits.
type Edit struct {
	What  string // "baseline" or "policy"
	File  string // relative to the repository, with slashes
	Lines int    // added or deleted, whichever is more
	// How is "edited", "untracked" (in no commit), "linked" (a symbolic link, whose target is not reviewed),
	// "submodule" (in another repository), or "outside" (beyond the repository).
	How string
}

// Edits says which of the baselines (directories) and policy files, without "", the change under review edits since it
// left its target. known is false where git does not know that.
func (r *Review) Edits(ctx context.Context, baselines, policies []string) (edits []Edit, known bool) {
	if r.base == "" {
		return nil, false
	}
	files, names := slices.Concat(baselines, policies), []string(nil)
	for _, file := range files {
		if name := git.Within(r.repository.Top, file); file != "" && name != "" {
			names = append(names, name)
		}
	}
	found, err := editsOf(ctx, r.repository, r.base, names)
	if err != nil {
		return nil, false
	}
	for i, file := range files {
		what, name := "policy", git.Within(r.repository.Top, file)
		if i < len(baselines) {
			what = "baseline"
		}
		of := found[name]
		switch {
		case file == "":
			continue
		case name == "":
			of = []Edit{{"", filepath.ToSlash(file), 0, "outside"}}
		}
		for _, x := range of {
			x.What = what
			if !slices.Contains(edits, x) {
				edits = append(edits, x)
			}
		}
	}
	return edits, true
}

// Before is the text of the first file that the change found, "" for none. known is false where git does not know.
func (r *Review) Before(ctx context.Context, files []string) (text string, known bool) {
	for _, file := range slices.DeleteFunc(slices.Clone(files), func(file string) bool { return file == "" }) {
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

// editsOf is how the files of names in a repository, or in a submodule of it, differ from a commit, by name.
func editsOf(ctx context.Context, in git.Repository, base string, names []string) (map[string][]Edit, error) {
	edits := map[string][]Edit{}
	if len(names) == 0 {
		return edits, nil
	}
	entries, err := in.Output(ctx, slices.Concat([]string{"ls-tree", "-t", "-z", base, "--"},
		slices.Concat(measure.Map(names, leading)...))...)
	if err != nil {
		return nil, err
	}
	var own []string // in no submodule
	for _, name := range names {
		found := false
		for _, dir := range leading(name) {
			below := cmp.Or(strings.TrimPrefix(strings.TrimPrefix(name, dir), "/"), ".")
			if edits[name], found, err = editsInSubmodule(ctx, in, entries, dir, below); err != nil {
				return nil, err
			}
			if found {
				break
			}
		}
		if !found {
			own = append(own, name)
		}
	}
	if len(own) == 0 {
		return edits, nil
	}
	if _, err := in.Genuine(ctx, base, own...); err != nil {
		return nil, err
	}
	changed, err := in.Changed(ctx, base, own...)
	if err != nil {
		return nil, err
	}
	others, err := in.Output(ctx, slices.Concat([]string{"ls-files", "--others", "-z", "--"}, own)...)
	if err != nil {
		return nil, err
	}
	for _, name := range own {
		holds := func(file string) bool { return name == "." || slices.Contains(leading(file), name) }
		edits[name] = nil
		for _, c := range changed {
			if holds(c.File) {
				edits[name] = append(edits[name], Edit{"", c.File, c.Lines, "edited"})
			}
		}
		if link := linked(in.Top, name); link != "" {
			edits[name] = append(edits[name], Edit{"", link, 0, "linked"})
			continue
		}
		for file := range strings.SplitSeq(others, "\x00") {
			if file != "" && holds(file) {
				edits[name] = append(edits[name], Edit{"", file, 0, "untracked"})
			}
		}
	}
	return edits, nil
}

// leading are the directories that lead to a name, the first one first, and the name.
func leading(name string) (names []string) {
	for i := range name {
		if name[i] == '/' {
			names = append(names, name[:i])
		}
	}
	return append(names, name)
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
		edits, err := editsOf(ctx, in, "HEAD", []string{name})
		return empty == nil && (err != nil || len(edits[name]) == 0)
	})
	if len(lacking) == 0 {
		return ""
	}
	way := "commit it"
	if rule := ignoredBy(ctx, filepath.Join(lacking[0], "session.csv")); rule != "" {
		way += " with git add -f, because git ignores it (" + rule + ")"
	}
	return "baseline not committed as it is here, and missing in other checkouts: " + strings.Join(lacking, ", ") +
		"; " + way
}

// editsInSubmodule is [editsOf] of a name in the submodule of a directory; found is false where that is none. Where the
// submodule lacks the base's commit, nothing but its being another is known. entries are those of the base.
func editsInSubmodule(ctx context.Context, in git.Repository, entries, dir, name string) (edits []Edit, found bool,
	err error) {
	was, linked := "", false
	for entry := range strings.SplitSeq(entries, "\x00") {
		head, of, _ := strings.Cut(entry, "\t")
		if cells := strings.Fields(head); of == dir && len(cells) == 3 && cells[1] == "commit" {
			was, linked = cells[2], true
		}
	}
	top := filepath.Join(in.Top, filepath.FromSlash(dir))
	_, missing := os.Lstat(filepath.Join(top, ".git"))
	if !linked && missing != nil {
		return nil, false, nil
	}
	moved := []Edit{{"", dir, 0, "submodule"}}
	if !linked || missing != nil {
		return moved, true, nil
	}
	sub, err := git.Open(ctx, top)
	if err != nil {
		return nil, true, err
	}
	if _, err := sub.Output(ctx, "cat-file", "-e", was+"^{commit}"); err != nil {
		return moved, true, nil
	}
	all, err := editsOf(ctx, sub, was, []string{name})
	for i := range all[name] {
		all[name][i].File = dir + "/" + all[name][i].File
	}
	return all[name], true, err
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
		return ask("rev-parse", "--verify", "--quiet", "--end-of-options", commit+"^{commit}")
	}
	if head := ask("rev-parse", "--verify", "--quiet", "HEAD"); head != "" && head == merge &&
		ask("rev-parse", "--verify", "--quiet", "HEAD^2") != "" {
		return ask("rev-parse", "--verify", "--quiet", "HEAD^1")
	}
	if target == "" {
		return ""
	}
	return ask("merge-base", "--end-of-options", "HEAD", target)
}
