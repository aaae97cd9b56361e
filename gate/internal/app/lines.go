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
	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// linesLimit is how long line tables may be read.
const linesLimit = 10 * time.Second

// changedLines states of each slower kernel which lines of its code changed since the commit of the baseline, and of
// each place that launches or calls what got slower whether it did, or why that is not known.
func (c *Check) changedLines(ctx context.Context, r *result.Report) {
	slower, called := code.Slower(r), func(f result.Finding) bool {
		return f.Origin != nil && f.Origin.File != "" && f.Origin.Line > 0
	}
	if len(slower) == 0 && !slices.ContainsFunc(r.Findings, called) || ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, linesLimit)
	defer cancel()
	known := lines{defined: c.defined}
	known.tree, known.unknown = c.tree(ctx, r.Base.Commit)
	if known.tree != nil {
		known.tree.Command = code.OtherCommand(r)
	}
	files := c.Code
	files.Wanted = slices.Concat(slices.Collect(maps.Values(slower))...)
	if len(files.Wanted) > 0 {
		known.read, known.err = files.ask(ctx)
	}
	for i, f := range r.Findings {
		var ofCode, ofLaunch result.Remark // empty for none
		if names, is := slower[i]; is {
			ofCode = known.ofCode(f, names)
		}
		if known.tree != nil && called(f) {
			ofLaunch = known.tree.Changed(f.Origin.File, f.Origin.Line, code.Launch)
		}
		r.State(i, code.Evidence(ofCode, ofLaunch)...)
	}
}

// lines are the line tables of the head's device code and the working tree beside the commit of the baseline, each with
// why it is not known.
type lines struct {
	read    *DeviceCode
	err     error
	tree    *code.Tree
	unknown string
	defined func(f result.Finding) (file string, line int, ok bool)
}

// ofCode says which lines of a kernel's code changed: by the line tables of its names in the device code, or else in
// its definition in the repository. It is empty where neither is known nor asked for.
func (l lines) ofCode(f result.Finding, names []string) (said result.Remark) {
	if len(names) > 0 && l.err != nil {
		return code.NoLines(l.err.Error())
	}
	var of []devicecode.Line
	for _, name := range names {
		of = append(of, l.read.Lines[name]...)
	}
	switch {
	case len(of) > 0 && l.tree == nil:
		return code.NoLines(l.unknown)
	case len(of) > 0:
		return l.tree.Compiled(of)
	case l.tree != nil:
		if file, line, ok := l.defined(f); ok && l.tree.Tracked(file) {
			return l.tree.Changed(file, line, code.Definition)
		}
	}
	if len(names) > 0 {
		return code.NoLines("build with -lineinfo to see the line")
	}
	return result.Remark{}
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

// defined is the definition of a finding's kernel in the repository; file is relative to its root.
func (c *Check) defined(f result.Finding) (file string, line int, ok bool) {
	if c.definitions == nil {
		c.definitions = code.Definitions(input.Tree(Repository()))
	}
	return c.definitions(f)
}
