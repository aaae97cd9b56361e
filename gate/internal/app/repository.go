package app

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nsgate/nsgate/gate/internal/baseline"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// Repository is the directory above the working directory that holds .git, "" where none does.
func Repository() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		if filepath.Dir(dir) == dir {
			return ""
		}
		dir = filepath.Dir(dir)
	}
}

// Within names a file relative to root, with slashes; as it is where root is "", "" where it lies elsewhere.
func Within(root, file string) string {
	if root == "" {
		return filepath.ToSlash(file)
	}
	path, err := filepath.Abs(file)
	if err != nil {
		return ""
	}
	inside := func(root, path string) string {
		relative, err := filepath.Rel(root, path)
		if err != nil || !filepath.IsLocal(relative) {
			return ""
		}
		return filepath.ToSlash(relative)
	}
	// Either may have been reached through a symbolic link.
	realRoot, err1 := filepath.EvalSymlinks(root)
	realPath, err2 := filepath.EvalSymlinks(path)
	if err1 != nil || err2 != nil {
		return inside(root, path)
	}
	return cmp.Or(inside(root, path), inside(realRoot, realPath))
}

// Rows finds the rows of findings in the report's baseline, which is relative to home: file is relative to root, line counts from 1. It is not ok where there
// is none, or it lies outside of root. The baseline is read when the first is asked for.
func Rows(root, home string, r *result.Report) func(result.Finding) (file string, line int, ok bool) {
	open := sync.OnceValue(func() *baseline.Baseline {
		b, err := baseline.Open(beside(home, r.Baseline))
		if r.Baseline == "" || err != nil {
			return &baseline.Baseline{}
		}
		return b
	})
	return func(f result.Finding) (file string, line int, ok bool) {
		if file, line, ok = open().Locate(f.Subject(), f.Metric); !ok {
			return "", 0, false
		}
		file = Within(root, file)
		return file, line, file != ""
	}
}

// beside is a path that is relative to home, as it is where it is absolute.
func beside(home, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(home, path)
}

// Edit is a file by which the change under review is judged and which it edits itself.
type Edit struct {
	What  string // "baseline" or "policy"
	File  string // relative to the repository, with slashes
	Lines int    // added or deleted, whichever is more
}

// Edits says which of the baseline (directories) and the policy files the change under review edits, since it left its
// target: a branch of origin, or a commit. known is false where git does not know that. What is "" is left out.
func Edits(root, branch, commit string, baselines, policies []string) (edits []Edit, known bool) {
	base := mergeBase(root, branch, commit)
	if base == "" {
		return nil, false
	}
	return slices.Concat(changed(root, base, "baseline", baselines...), changed(root, base, "policy", policies...)), true
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

// changed lists which of the files, of what they are, differ between a commit and the working tree.
func changed(root, base, what string, files ...string) (edits []Edit) {
	args := []string{"diff", "--numstat", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", base, "--"}
	none := len(args)
	for _, f := range files {
		if f != "" && Within(root, f) != "" {
			args = append(args, Within(root, f))
		}
	}
	if len(args) == none {
		return nil
	}
	for row := range strings.SplitSeq(git(root, args...), "\x00") {
		if cells := strings.SplitN(row, "\t", 3); len(cells) == 3 {
			added, _ := strconv.Atoi(cells[0]) // "-" for a file that is not text
			deleted, _ := strconv.Atoi(cells[1])
			edits = append(edits, Edit{what, cells[2], max(added, deleted)})
		}
	}
	return edits
}

// git runs git in a directory and returns what it printed, "" where it failed.
func git(dir string, args ...string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	// In a container the checkout often belongs to another user, which git refuses unless told otherwise.
	cmd := exec.CommandContext(ctx, "git", append([]string{"-c", "safe.directory=*", "-c", "core.quotePath=false"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// commit is the commit that is checked out here, with [dirty] where something differs from it, "" where git does not say.
func commit() string {
	id := git("", "rev-parse", "--verify", "--quiet", "HEAD")
	if len(id) < 12 || strings.Trim(id, "0123456789abcdef") != "" {
		return ""
	}
	if git("", "status", "--porcelain", "--untracked-files=no", "--", ":(top)", ":(top,exclude,glob)**/"+DefaultRoot+"/**") != "" {
		return id[:12] + dirty
	}
	return id[:12]
}

// dirty ends the name of a commit to which something was changed that is not committed, apart from baselines.
const dirty = "-dirty"

// GitDir is the directory in which git keeps the repository of the working directory, "" where there is none.
func GitDir() string { return git("", "rev-parse", "--absolute-git-dir") }

// Origin is the address that a checkout was cloned from, "" where git does not say.
func Origin(root string) string { return git(root, "config", "--get", "remote.origin.url") }
