package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/baseline"
	"github.com/nsgate/nsgate/gate/internal/git"
	"github.com/nsgate/nsgate/gate/internal/output"
	"github.com/nsgate/nsgate/gate/internal/proc"
	"github.com/nsgate/nsgate/gate/internal/profile"
)

// committed is the baseline of a git revision: "main:.nsgate/WORKLOAD/GPU", or of "main" the one below [DefaultRoot]
// that fits a recording of these GPU models.
type committed struct{ revision, dir string }

// asCommitted takes a side for a baseline of a revision where there is no such file and git knows it.
func asCommitted(ctx context.Context, side string) (committed, bool) {
	if _, err := os.Stat(side); err == nil {
		return committed{}, false
	}
	revision, dir, _ := strings.Cut(side, ":")
	id := ask(ctx, "", "rev-parse", "--verify", "--quiet", "--end-of-options", revision+"^{commit}")
	return committed{id, dir}, id != ""
}

// open reads the baseline without a checkout. Of several that fit it is the one at the place of the other side.
func (c committed) open(ctx context.Context, t profile.Tools, side, other, home string, models []string) (*profile.Recording, error) {
	dirs := []string{c.dir}
	if c.dir == "" {
		dirs = c.baselines(ctx, path.Join(filepath.ToSlash(home), DefaultRoot), models)
	}
	if same := path.Clean(filepath.ToSlash(other)); slices.Contains(dirs, same) {
		dirs = []string{same}
	}
	switch {
	case len(dirs) == 0:
		return nil, fmt.Errorf("%s: the revision has no baseline below %s that fits; name one: %s:DIR", side, DefaultRoot, side)
	case len(dirs) > 1:
		return nil, fmt.Errorf("%s: the revision has several baselines; name one: %[1]s:%[2]s", side, strings.Join(dirs, ", "+side+":"))
	}
	var r *profile.Recording
	err := proc.InPrivate(func(private string) error {
		at := filepath.Join(private, "baseline")
		if err := c.extract(ctx, dirs[0], at); err != nil {
			return fmt.Errorf("%s: %w", side, err)
		}
		var err error
		r, err = t.Open(ctx, at)
		return err
	})
	if err != nil {
		return nil, err
	}
	r.Source = side
	return r, nil
}

// baselines are the directories of the revision below root that hold a baseline of one of the models, of any where none is known.
func (c committed) baselines(ctx context.Context, root string, models []string) []string {
	var out []string
	for name := range strings.SplitSeq(ask(ctx, "", "ls-tree", "-r", "-z", "--name-only", c.revision, "--", root), "\x00") {
		dir := path.Dir(name)
		fits := func(model string) bool { return filepath.Base(baseline.Dir("", "x", model)) == path.Base(dir) }
		if name != "" && (len(models) == 0 || slices.ContainsFunc(models, fits)) && !slices.Contains(out, dir) {
			out = append(out, dir)
		}
	}
	return out
}

// extract writes the files of a directory of the revision to another.
func (c committed) extract(ctx context.Context, dir, to string) error {
	files, err := git.Files(ctx, c.revision, dir)
	switch {
	case err != nil && strings.Contains(err.Error(), "Not a valid object name"):
		return fmt.Errorf("the revision has no directory %s", dir)
	case err != nil:
		return fmt.Errorf("the revision's directory %s cannot be read: %w", dir, err)
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	for _, f := range files {
		if !filepath.IsLocal(f.Name) {
			continue
		}
		file := filepath.Join(to, filepath.FromSlash(f.Name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), output.Text(file, 0o600, f.Text)); err != nil {
			return err
		}
	}
	return nil
}

// Repository is the directory at or above the working directory that holds .git, "" where none does.
func Repository() string { return git.Top("") }

// ask is an answer of git in a directory, "" where it has none.
func ask(ctx context.Context, dir string, args ...string) string {
	out, _ := git.Output(ctx, dir, args...)
	return strings.TrimSpace(out)
}

// ignoredBy is the pattern in git's ignore files that matches a file, "FILE:LINE:PATTERN", "" for none.
func ignoredBy(ctx context.Context, file string) string {
	rule, _, _ := strings.Cut(ask(ctx, filepath.Dir(file), "check-ignore", "-v", "--", filepath.Base(file)), "\t")
	if strings.Contains(rule, ":!") { // the last rule that applies takes it back
		return ""
	}
	return rule
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

// dirty ends the name of a commit where files other than baselines have uncommitted changes.
const dirty = "-dirty"

// GitDir is the git directory of the working directory, "" where there is none.
func GitDir(ctx context.Context) string { return ask(ctx, "", "rev-parse", "--absolute-git-dir") }

// Origin is the address that a checkout was cloned from, "" where git does not say.
func Origin(ctx context.Context, root string) string {
	return ask(ctx, root, "config", "--get", "remote.origin.url")
}
