package app

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate/internal/devicecode"
	"github.com/nsgate/nsgate/gate/internal/explain/code"
	"github.com/nsgate/nsgate/gate/internal/git"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// linesLimit is how long line tables may be read.
const linesLimit = 10 * time.Second

// changedLines states of each slower kernel which lines of its code changed since the commit of the baseline, and of
// each place that launches or calls what got slower whether it did, or why that is not known.
func (c *Check) changedLines(ctx context.Context, r *result.Report) {
	traced, called := code.Traced(r), func(f result.Finding) bool {
		return f.Origin != nil && f.Origin.File != "" && f.Origin.Line > 0
	}
	if len(traced) == 0 && !slices.ContainsFunc(r.Findings, called) || ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, linesLimit)
	defer cancel()
	files, read := c.Code, &DeviceCode{}
	var err error
	files.Wanted = slices.Concat(slices.Collect(maps.Values(traced))...)
	if len(traced) > 0 {
		read, err = files.ask(ctx)
	}
	tree, unknown := c.tree(ctx, r.Base.Commit)
	if tree != nil {
		tree.Command = code.OtherCommand(r)
	}
	for i, names := range traced {
		var of []devicecode.Line
		for _, name := range names {
			if err == nil {
				of = append(of, read.Lines[name]...)
			}
		}
		switch {
		case err != nil:
			r.State(i, code.NoLines(err.Error()))
		case len(of) == 0:
			r.State(i, code.NoLines("build with -lineinfo to see the line"))
		case tree == nil:
			r.State(i, code.NoLines(unknown))
		default:
			r.State(i, tree.Changed(of, false))
		}
	}
	for i, f := range r.Findings {
		if tree != nil && called(f) {
			at := devicecode.Line{File: filepath.Join(tree.Root, f.Origin.File), Number: f.Origin.Line}
			r.State(i, tree.Changed([]devicecode.Line{at}, true))
		}
	}
}

// tree is the working tree beside a commit of a baseline, or why that is not known.
func (c *Check) tree(ctx context.Context, commit string) (t *code.Tree, unknown string) {
	in, err := git.Open(ctx, Repository())
	switch {
	case commit == "":
		return nil, "the baseline names no commit"
	case strings.HasSuffix(commit, dirty):
		return nil, "the baseline was recorded with uncommitted changes"
	case err != nil:
		return nil, err.Error()
	}
	id, err := in.Output(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", commit+"^{commit}")
	if err != nil {
		return nil, "commit " + commit + " of the baseline is not in this clone: fetch it (git fetch --unshallow)"
	}
	hunks, err := in.Hunks(ctx, id)
	if err != nil {
		return nil, err.Error()
	}
	dir, _ := filepath.Abs(c.Code.Dir)
	tracked := func(name string) bool {
		names, err := in.Output(ctx, "ls-files", "--", name)
		return err == nil && names != ""
	}
	return &code.Tree{Root: in.Top, Dir: dir, Hunks: hunks, Tracked: tracked}, ""
}
