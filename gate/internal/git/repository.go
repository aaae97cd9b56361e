package git

import (
	"cmp"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
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
	cmd := r.command(ctx, args...)
	if variable != "" {
		cmd.Env = append(cmd.Env, variable)
	}
	return answer(ctx, cmd)
}

func (r Repository) command(ctx context.Context, args ...string) *exec.Cmd {
	return Command(ctx, r.Top, append([]string{"--git-dir=" + r.dir, "--work-tree=" + r.Top}, args...)...)
}

// Genuine is an error where a commit, or a directory or file of it that leads to a name or lies below one, is another
// object than its hash says: git does not compare them, and whoever writes to the repository can replace one.
func (r Repository) Genuine(ctx context.Context, commit string, files ...string) error {
	rows, err := r.Output(ctx, slices.Concat([]string{"ls-tree", "-r", "-t", "-z", "--full-tree", commit, "--"},
		files)...)
	names := []string{commit, commit + "^{tree}"}
	for row := range strings.SplitSeq(rows, "\x00") {
		if cells := strings.Fields(row); len(cells) > 2 && cells[1] != "commit" { // a submodule
			names = append(names, cells[2])
		}
	}
	stored, failed := objects(ctx, r.command(ctx, "cat-file", "--batch"), names)
	for i, o := range stored {
		if (o.kind == "commit") != (i == 0) || idOf(o) != o.id {
			return fmt.Errorf("git: %s %s is not the object of that name", o.kind, names[i])
		}
	}
	return cmp.Or(err, failed)
}

func idOf(o object) string {
	text := fmt.Appendf(nil, "%s %d\x00%s", o.kind, len(o.text), o.text)
	if len(o.id) == 2*sha256.Size {
		return fmt.Sprintf("%x", sha256.Sum256(text))
	}
	return fmt.Sprintf("%x", sha1.Sum(text))
}
