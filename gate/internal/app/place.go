package app

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/git"
)

// Placed is a directory as reports have it: relative to the repository, outside of one to the working directory, and
// absolute where it lies in neither.
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
	if strings.Contains(rule, ":!") { // the last rule that applies takes it back
		return ""
	}
	return rule
}

// commit is the commit that is checked out here, with [dirty] where a tracked file differs from it, "" without a
// repository. The error is that of a repository that git refuses.
func commit(ctx context.Context) (string, error) {
	id, changed, err := git.Head(ctx, "", DefaultRoot)
	switch {
	case errors.Is(err, git.ErrForeign):
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
