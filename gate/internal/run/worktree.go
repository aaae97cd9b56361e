package run

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/nsgate/nsgate/gate/internal/git"
	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/proc"
)

// Revision is a commit of the git repository that holds the current directory.
type Revision struct {
	Ref    string // as the user named it
	Commit string // its full id
	top    string // root of the user's checkout, without symbolic links
}

// FindRevision looks a ref up in the repository of the current directory. It fetches nothing. The errors are the user's
// to correct: no repository, no such commit, or a ref that git would take for an option.
func FindRevision(ctx context.Context, ref string) (*Revision, error) {
	if ref == "" || strings.HasPrefix(ref, "-") {
		return nil, fmt.Errorf("%q is not a git revision; name a branch, a tag or a commit", ref)
	}
	r := &Revision{Ref: ref}
	var err error
	if r.top, err = git.Output(ctx, "", "rev-parse", "--show-toplevel"); err != nil {
		return nil, fmt.Errorf("a base revision needs a git checkout around the current directory: %w", err)
	}
	if r.Commit, err = git.Output(ctx, r.top, git.CommitOf(ref)...); err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		return nil, fmt.Errorf("this repository has no commit %q; fetch it first (a CI checkout is often shallow: "+
			"fetch-depth: 0 of actions/checkout, GIT_DEPTH: 0 of GitLab)", ref)
	}
	return r, nil
}

// Holds reports whether an absolute path, or the one after the = of an option, leads into the user's checkout, so that
// it means the same file for every build.
func (r *Revision) Holds(word string) bool {
	_, value, _ := strings.Cut(word, "=")
	return slices.ContainsFunc([]string{word, value}, func(path string) bool {
		if !filepath.IsAbs(path) {
			return false
		}
		_, err := r.relative(path)
		return err == nil
	})
}

// relative is where in the checkout a path lies; it is an error for one that does not.
func (r *Revision) relative(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	rel, err := filepath.Rel(r.top, path)
	if err == nil && !filepath.IsLocal(rel) {
		err = fmt.Errorf("%s lies outside the git checkout", path)
	}
	return rel, err
}

// CheckedOut is an error unless a directory is the root of a checkout of this revision other than the user's, with
// which the head would be compared with itself.
func (r *Revision) CheckedOut(ctx context.Context, dir string) error {
	real, err := filepath.EvalSymlinks(dir)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		return err
	}
	top, err := git.Output(ctx, real, "rev-parse", "--show-toplevel")
	if err != nil || top != real || top == r.top {
		return fmt.Errorf("%s is not the root of a git checkout of its own; make one with git clone or git "+
			"worktree add", dir)
	}
	if commit, err := git.Output(ctx, real, "rev-parse", "HEAD"); err != nil || commit != r.Commit {
		return fmt.Errorf("%s is not a checkout of %s, which is commit %s; check that out and build it", dir,
			r.Ref, r.Commit[:12])
	}
	if err := git.Intact(ctx, r.top, real, r.Commit); err != nil {
		return fmt.Errorf("%s: %w; check %s out anew and build it", dir, err, r.Ref)
	}
	return nil
}

// Worktree is a revision that is checked out in a private temporary directory, in a repository of its own. The user's
// repository is not touched.
type Worktree struct {
	*Revision
	*proc.Private
}

// CommandLine is the last command line of Checkout. XXXXXX stands for the unique part of the directory.
func (r *Revision) CommandLine() []string {
	w := Worktree{r, &proc.Private{Path: filepath.Join(os.TempDir(), proc.Prefix+"XXXXXX")}}
	return []string{"git", "-C", w.Root(), "checkout", "--quiet", "--detach", r.Commit}
}

// Root is the directory of the checkout.
func (w *Worktree) Root() string { return filepath.Join(w.Path, "nsgate-base") }

// Checkout makes a repository of the revision, with its submodules where it has some; the caller closes it. What git
// cannot do is a *model.Refusal, a cancelled ctx is its cause.
func (r *Revision) Checkout(ctx context.Context) (_ *Worktree, err error) {
	if !proc.Supported {
		return nil, errUnsupported
	}
	private, err := proc.NewPrivate("")
	if err != nil {
		return nil, err
	}
	w := &Worktree{r, private}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.Close())
		}
	}()
	cmd, complaint := git.Checkout(ctx, r.top, r.Commit, w.Root()), proc.Output{}
	cmd.Stderr = &complaint
	err = finish(cmd, private)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, model.Refuse(model.BaseCheckout, "see whether git clone works by hand, or "+ownBase,
			"the base %s cannot be checked out: %s", r.Ref, cmp.Or(proc.Said(complaint.String()), err.Error()))
	}
	return w, nil
}

// Counterpart is the directory of a checkout of this revision that corresponds to one of the user's ("" is the
// current one).
func (r *Revision) Counterpart(checkout, dir string) (string, error) {
	rel, err := r.relative(dir)
	if err != nil {
		return "", err
	}
	dir = filepath.Join(checkout, rel)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", model.Refuse(model.BaseCheckout, "choose a base that has it, or "+ownBase,
			"the base %s has no directory %s", r.Ref, rel)
	}
	return dir, nil
}

// BuildError is a build command that failed. It wraps a *model.Refusal and carries what the command printed, which
// is untrusted.
type BuildError struct {
	Output string
	refused
}

// Build runs a shell command in the counterpart of the current directory and leaves none of its processes behind. A
// command that fails is a *[BuildError], a cancelled ctx is its cause.
func (w *Worktree) Build(ctx context.Context, command string) error {
	dir, err := w.Counterpart(w.Root(), "")
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.Dir, cmd.Env = dir, git.Environment()
	var out proc.Output
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := finish(cmd, w.Private); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return &BuildError{out.String(), refused{model.Refuse(model.BaseBuild,
			"make the build command work in a fresh clone of "+w.Ref, "the build of the base %s failed: %s", w.Ref,
			err)}}
	}
	return nil
}

// finish is [proc.Finish] of a command that works in the private directory of a worktree. Its context ends it politely:
// git then takes back what it has begun.
func finish(cmd *exec.Cmd, p *proc.Private) error {
	cmd.Env = p.Mark(cmd.Env)
	cmd.WaitDelay = terminateGrace
	return proc.Finish(cmd, syscall.SIGTERM)
}

// Keep has a base build refused whose files below root change between its runs: the root of its checkout, or "" for its
// program or the script that this runs (./old, sh old.sh).
func (b *Build) Keep(root string) {
	words := slices.Concat(b.Server, b.Command)
	for _, word := range words[:min(len(words), 2)] {
		if !filepath.IsAbs(word) {
			word = filepath.Join(b.Dir, word)
		}
		word, _ = filepath.Abs(word)
		word, _ = filepath.EvalSymlinks(word)
		if info, err := os.Stat(word); root == "" && err == nil && info.Mode().IsRegular() {
			root = word
		}
	}
	state := stateOf(root)
	b.Root, b.state = root, &state
}

// follow takes in the states of the files of a base build before and after a run.
func (b *Build) follow(r Run) error {
	if b == nil || b.Root == "" || !r.Base {
		return nil
	}
	was, before := *b.state, r.States[0]
	*b.state = r.States[1]
	if was == "" || before == "" || was == before {
		return nil
	}
	return model.Refuse(model.BaseChanged, "let no run of the head, and no other process, write to "+
		cmp.Or(git.Within(".", b.Root), b.Root), "files of the base build changed between its runs")
}

// followAll is follow of runs in order; the first error counts.
func (b *Build) followAll(runs []Run) (err error) {
	for _, r := range runs {
		err = cmp.Or(err, b.follow(r))
	}
	return err
}

// stateOf is a hash of the files below a directory by their inodes and times of change, which no program without the
// rights of root sets.
func stateOf(root string) string {
	sum := sha256.New()
	err := eachFile(root, func(name string, entry fs.DirEntry) error {
		info, err := entry.Info()
		if err == nil {
			fmt.Fprintf(sum, "%q %s\n", name, proc.Changed(info))
		}
		return err
	})
	return fmt.Sprintf("%x %v", sum.Sum(nil), err)
}

// eachFile calls a function for all files and links of a checkout, without its .git, until it returns an error.
func eachFile(dir string, do func(name string, entry fs.DirEntry) error) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, path)
		switch {
		case err != nil:
			return err
		case name == ".git" && entry.IsDir():
			return fs.SkipDir
		case name == ".git" || entry.IsDir():
			return nil
		}
		return do(name, entry)
	})
}

// ErrNoList is the error for a base build without a list of its files.
var ErrNoList = errors.New("has no list of its files")

// Unchanged compares the files of a base build with the list in its directory of git. A link counts by its target.
func Unchanged(dir, gitDir string) error {
	// builtList is the list of the files of a base build, below its directory of git, as sha256sum -z writes it: a
	// hash, two spaces, a name and a NUL. Who builds the base writes it before code of the change runs.
	const builtList = "nsgate-built"
	const maxList = 64 << 20 // bytes
	list := filepath.Join(gitDir, builtList)
	text, err := input.Read(list, maxList)
	if errors.Is(err, fs.ErrNotExist) {
		return ErrNoList
	}
	if err != nil {
		return fmt.Errorf("%s: %w", list, err)
	}
	listed := map[string]string{}
	for entry := range strings.SplitSeq(strings.TrimSuffix(string(text), "\x00"), "\x00") {
		sum, name, _ := strings.Cut(entry, "  ")
		listed[strings.TrimPrefix(name, "./")] = sum
	}
	err = eachFile(dir, func(name string, entry fs.DirEntry) error {
		sum, err := hashOf(filepath.Join(dir, name), entry)
		if err == nil && sum != listed[name] {
			err = fmt.Errorf("%s is not the file of the build", name)
		}
		delete(listed, name)
		return err
	})
	if gone := slices.Sorted(maps.Keys(listed)); err == nil && len(gone) > 0 {
		return fmt.Errorf("%s of the build is gone", gone[0])
	}
	return err
}

func hashOf(path string, entry fs.DirEntry) (string, error) {
	if entry.Type()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(path)
		return fmt.Sprintf("%x", sha256.Sum256([]byte(target))), err
	}
	sum, err := input.Hash(input.OpenOwn(path))
	return hex.EncodeToString(sum), err
}
