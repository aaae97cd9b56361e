package git

import (
	"context"
	"path/filepath"
)

// Repository is a repository and its files, both as they were found: whatever its configuration names later, git is
// told where they are. The zero value is none.
type Repository struct {
	Top string // directory of the files
	dir string // of git
}

// Open finds the repository whose files are below top. Errors are those of [Output].
func Open(ctx context.Context, top string) (Repository, error) {
	dir, err := Output(ctx, top, "rev-parse", "--absolute-git-dir")
	if err != nil {
		return Repository{}, err
	}
	if top, err = filepath.Abs(top); err != nil {
		return Repository{}, err
	}
	return Repository{top, dir}, nil
}

// Output is [Output] about the repository.
func (r Repository) Output(ctx context.Context, args ...string) (string, error) {
	return r.with(ctx, "", args...)
}

// with asks like [Repository.Output], with a variable of the environment, "" for none.
func (r Repository) with(ctx context.Context, variable string, args ...string) (string, error) {
	cmd := Command(ctx, r.Top, append([]string{"--git-dir=" + r.dir, "--work-tree=" + r.Top}, args...)...)
	if variable != "" {
		cmd.Env = append(cmd.Env, variable)
	}
	return answer(ctx, cmd)
}
