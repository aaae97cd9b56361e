package app

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/run"
	"github.com/nsgate/nsgate/thresholds"
)

// Base is another build of the workload. It lies ready, unless [Base.At] makes it one of a revision.
type Base struct {
	Build    Build    // to run, in the revision's worktree where there is one
	Script   string   // shell command that builds the revision's worktree, "" where nothing needs to be built
	Dir      string   // checkout of the revision that lies ready and built, "" to make one, see [Base.In]
	Warnings []string // about the way the base was set up

	revision *run.Revision // nil for a build that lies ready
}

// At makes the base the workload at a git revision of the repository here. Nothing is checked out yet.
func (b *Base) At(ctx context.Context, revision string) (err error) {
	b.revision, err = run.FindRevision(ctx, revision)
	return err
}

// Held warns of a revision that a build can have moved: it is not named by its hash, and is not the commit where the
// change under review left its target, by what the CI host says.
func (b *Base) Held(r *Review) {
	at := b.revision
	if r == nil || at.Ref == at.Commit || r.Branch == "" && r.base == at.Commit {
		return
	}
	name := "name the base by its hash"
	if r.Branch == "" && r.base != "" {
		name += ", such as " + r.base
	}
	b.Warnings = append(b.Warnings, "a build can have moved the base "+at.Ref+": "+name)
}

// In makes a directory the checkout of the revision that [Base.At] found.
func (b *Base) In(ctx context.Context, dir string) (err error) {
	if err = b.revision.CheckedOut(ctx, dir); err != nil {
		return err
	}
	err = run.Unchanged(dir, Ask(ctx, dir, "rev-parse", "--absolute-git-dir"))
	switch {
	case errors.Is(err, run.ErrNoList):
		b.Warnings = append(b.Warnings, "the base build has no list of its files (.git/nsgate-built, of sha256sum "+
			"-z): whether it is as it was built is not known")
	case err != nil:
		return fmt.Errorf("%s: %w; build %s anew", dir, err, b.revision.Ref)
	}
	b.Dir, err = filepath.Abs(dir)
	return err
}

// Separate is an error for a base of a revision whose command leads into the head's checkout: head would be compared
// with head. Where only the environment, as getenv says, does, that is a warning.
func (b *Base) Separate(getenv func(string) string) error {
	if b.revision == nil {
		return nil
	}
	words := slices.Concat(b.Build.Command, b.Build.Server)
	for _, program := range [][]string{b.Build.Command, b.Build.Server} {
		if len(program) == 0 || strings.ContainsRune(program[0], filepath.Separator) {
			continue
		}
		if path, err := exec.LookPath(program[0]); err == nil {
			words = append(words, path)
		}
	}
	for _, w := range words {
		if b.revision.Holds(w) {
			return fmt.Errorf("%s lies in this checkout, so the base would use the head's: name it relative to the "+
				"working directory", w)
		}
	}
	for _, name := range []string{"PYTHONPATH", "LD_LIBRARY_PATH", "LD_PRELOAD"} {
		if slices.ContainsFunc(filepath.SplitList(getenv(name)), b.revision.Holds) {
			b.Warnings = append(b.Warnings, name+" leads into this checkout: both builds use what lies there")
		}
	}
	return nil
}

// ready checks the base out and builds it, if it is a revision. The caller calls remove, also after an error.
func (b *Base) ready(ctx context.Context, tell func(Event)) (build Build, remove func(), err error) {
	build, remove = b.Build, func() {}
	if b.revision == nil {
		build.Keep("")
		return build, remove, nil
	}
	if b.Dir != "" {
		build.Dir, err = b.revision.Counterpart(b.Dir, build.Dir)
		build.Keep(b.Dir)
		return build, remove, err
	}
	tell(Event{Stage: run.Begun, Text: "checking out " + b.revision.Ref})
	tree, err := b.revision.Checkout(ctx)
	if err != nil {
		return build, remove, err
	}
	remove = func() {
		if err := tree.Close(); err != nil {
			tell(Event{Stage: run.Warning, Text: "the base's worktree could not be removed: " + err.Error()})
		}
	}
	if b.Script != "" {
		tell(Event{Stage: run.Begun, Text: "building " + b.revision.Ref})
		err := tree.Build(ctx, b.Script)
		if failed := (*run.BuildError)(nil); errors.As(err, &failed) {
			tell(Event{Stage: run.Failed, Text: "output of the base's build", Output: failed.Output})
		}
		if err != nil {
			return build, remove, err
		}
	}
	build.Dir, err = tree.Counterpart(tree.Root(), build.Dir)
	build.Keep(tree.Root())
	return build, remove, err
}

// Checkout checks a commit out and builds it. With getenv it refuses a command that leads into this checkout, see
// [Base.Separate]. The caller calls remove when it is done, also after an error.
func (b *Base) Checkout(ctx context.Context, commit string, getenv func(string) string,
	observe func(Event)) (build Build, remove func(), err error) {
	if err := b.At(ctx, commit); err != nil {
		return Build{}, func() {}, err
	}
	if getenv != nil {
		if err := b.Separate(getenv); err != nil {
			return Build{}, func() {}, err
		}
	}
	b.revision.Ref = commit[:12]
	return b.ready(ctx, func(e Event) { tell(observe, e) })
}

// Commands are the commands that prepare the base build.
func (b *Base) Commands() []string {
	if b.revision == nil || b.Dir != "" {
		return nil
	}
	out := []string{thresholds.JoinCommand(b.revision.CommandLine())}
	if b.Script != "" {
		out = append(out, thresholds.JoinCommand([]string{"sh", "-c", b.Script})+"  # in the worktree")
	}
	return out
}
