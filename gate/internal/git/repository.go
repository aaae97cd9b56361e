package git

import (
	"context"
	"crypto/sha1"
	"fmt"
	"path/filepath"
	"strings"
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

// Genuine is an error where a commit, or a directory of it that leads to a name or lies below it, is not the object that
// its id stands for: git reads what a file of the repository holds, which whoever writes there can replace. Ids of
// SHA-256 are not checked.
func (r Repository) Genuine(ctx context.Context, commit, name string) error {
	tree, err := r.Output(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", commit+"^{tree}")
	if err != nil {
		return err
	}
	rows, err := r.Output(ctx, "ls-tree", "-r", "-d", "-t", "-z", "--full-tree", tree, "--", name)
	ids := [][2]string{{"commit", commit}, {"tree", tree}}
	for row := range strings.SplitSeq(rows, "\x00") {
		if cells := strings.Fields(row); len(cells) > 2 && cells[1] == "tree" {
			ids = append(ids, [2]string{"tree", cells[2]})
		}
	}
	for _, of := range ids {
		text, failed := r.Output(ctx, "cat-file", of[0], of[1])
		id := func(text string) string {
			return fmt.Sprintf("%x", sha1.Sum(fmt.Appendf(nil, "%s %d\x00%s", of[0], len(text), text)))
		}
		if failed != nil {
			return failed
		}
		if len(of[1]) == 2*sha1.Size && id(text) != of[1] && id(text+"\n") != of[1] {
			return fmt.Errorf("git: %s %s is another object", of[0], of[1])
		}
	}
	return err
}
