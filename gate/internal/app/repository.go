package app

import (
	"context"
	"errors"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/git"
)

// Repository is the directory at or above the working directory that holds .git, "" where none does.
func Repository() string { return git.Top("") }

// ask is an answer of git in a directory, "" where it has none.
func ask(ctx context.Context, dir string, args ...string) string {
	out, _ := git.Output(ctx, dir, args...)
	return strings.TrimSpace(out)
}

// commit is the commit that is checked out here, with [dirty] where a tracked file differs from it, "" without a repository. The
// error is that of a repository that git refuses.
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

// dirty ends the name of a commit to which something was changed that is not committed, apart from baselines.
const dirty = "-dirty"

// GitDir is the directory in which git keeps the repository of the working directory, "" where there is none.
func GitDir(ctx context.Context) string { return ask(ctx, "", "rev-parse", "--absolute-git-dir") }

// Origin is the address that a checkout was cloned from, "" where git does not say.
func Origin(ctx context.Context, root string) string {
	return ask(ctx, root, "config", "--get", "remote.origin.url")
}
