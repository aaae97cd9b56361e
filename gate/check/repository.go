package check

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate"
	"github.com/nsgate/nsgate/gate/internal/baseline"
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
	if relative, err := filepath.Rel(root, path); err == nil && filepath.IsLocal(relative) {
		return filepath.ToSlash(relative)
	}
	// Either may have been reached through a symbolic link.
	realRoot, err1 := filepath.EvalSymlinks(root)
	realPath, err2 := filepath.EvalSymlinks(path)
	if relative, err := filepath.Rel(realRoot, realPath); err1 == nil && err2 == nil && err == nil && filepath.IsLocal(relative) {
		return filepath.ToSlash(relative)
	}
	return ""
}

// Row finds the first row of a finding's metric in the report's baseline; not ok where there is none.
func Row(r *gate.Report, f gate.Finding) (file string, line int, ok bool) {
	if r.Baseline == "" {
		return "", 0, false
	}
	return baseline.Locate(r.Baseline, f.Subject(), f.Metric)
}

// Edit is a file by which the change under review is judged and which it edits itself.
type Edit struct {
	What  string // "baseline" or "policy"
	File  string // relative to the repository
	Lines int
}

// Edits says which of the baseline and the policy files the change under review edits, since it left its target: a
// branch of origin, or a commit. known is false where git does not know that.
func Edits(root, branch, commit, baseline string, policies []string) (edits []Edit, known bool) {
	base := mergeBase(root, branch, commit)
	if base == "" {
		return nil, false
	}
	for _, x := range []struct {
		what  string
		files []string
	}{{"baseline", []string{baseline}}, {"policy", policies}} {
		var paths []string
		for _, f := range x.files {
			if f == "" {
				continue
			}
			if f = Within(root, f); f != "" {
				paths = append(paths, f)
			}
		}
		for _, c := range changed(root, base, paths) {
			edits = append(edits, Edit{x.what, c.file, c.lines})
		}
	}
	return edits, true
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

// commit is the commit that is checked out, "" where git does not say.
func commit(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "git", "rev-parse", "--verify", "--quiet", "HEAD").Output()
	id := strings.TrimSpace(string(out))
	if err != nil || len(id) < 12 || strings.Trim(id, "0123456789abcdef") != "" {
		return ""
	}
	return id[:12]
}

// Origin is where a checkout came from, "" where git does not say.
func Origin(root string) string { return git(root, "config", "--get", "remote.origin.url") }
