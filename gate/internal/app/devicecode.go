package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate/internal/devicecode"
	"github.com/nsgate/nsgate/gate/internal/explain/code"
	"github.com/nsgate/nsgate/gate/internal/explain/why"
	"github.com/nsgate/nsgate/gate/internal/git"
	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/run/confine"
)

// DeviceCode lists the kernels in files with device code.
type DeviceCode struct {
	Schema string              `json:"schema"`
	Code   []devicecode.Kernel `json:"code"`
	// Unreadable lists unreadable files, each with the reason and the next step.
	Unreadable []string               `json:"unreadable,omitempty"`
	First      *devicecode.Unreadable `json:"-"` // of them, nil for none

	Lines map[string][]devicecode.Line `json:"-"` // of [CodeFiles.Wanted]
}

// HoldsDeviceCode reports whether path is a file with device code, or a directory with cubins (Triton's cache).
func HoldsDeviceCode(path string) bool {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return err == nil && devicecode.HasCode(path)
	}
	found := errors.New("found")
	err = filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
		return measure.Either(err == nil && d.Type().IsRegular() && filepath.Ext(name) == ".cubin", found, err)
	})
	return err == found
}

// open sends the device code that the patterns name, as [devicecode.Find] finds it, for a child or in this process.
func (c CodeFiles) open(_ context.Context, send func(*DeviceCode) error) error {
	out := &DeviceCode{Schema: "nsgate.code/1", Code: []devicecode.Kernel{}, Lines: map[string][]devicecode.Line{}}
	note := func(u *devicecode.Unreadable) {
		out.Unreadable = append(out.Unreadable, u.Error())
		out.First = cmp.Or(out.First, u)
	}
	for _, pattern := range c.Patterns {
		files, err := devicecode.Find(c.Dir, pattern)
		if err != nil {
			return err
		}
		if len(files) == 0 {
			note(&devicecode.Unreadable{File: pattern, Reason: "there is no such file",
				Next: "build it first, or correct the path"})
		}
		for _, file := range files {
			name, err := filepath.Rel(c.Dir, file)
			if err != nil || !filepath.IsLocal(name) {
				name = filepath.Base(file)
			}
			kernels, lines, err := devicecode.ReadLines(file, name, c.Wanted)
			if u := (*devicecode.Unreadable)(nil); errors.As(err, &u) {
				note(u)
			} else if err != nil {
				return err
			}
			out.Code = append(out.Code, kernels...)
			for kernel, of := range lines {
				out.Lines[kernel] = append(out.Lines[kernel], of...)
			}
		}
	}
	if len(out.Code) == 0 && out.First == nil {
		note(&devicecode.Unreadable{File: strings.Join(c.Patterns, ", "),
			Reason: "no kernel is in the device code: its symbols were removed, or it holds functions of the device " +
				"alone",
			Next: "name the files that hold the kernels, as the compiler wrote them"})
	}
	return send(out)
}

// CodeFiles are the files with device code that a workload names.
type CodeFiles struct {
	Dir      string // that patterns are relative to
	Patterns []string
	Where    string // the key of the policy, as FILE:LINE
	Inputs   Inputs
	Wanted   []string // kernels whose lines are read, by mangled names
}

const codeMode = "--device-code"

func init() { confine.Register(codeMode, CodeFiles.open) }

// ask reads the files in a confined child.
func (c CodeFiles) ask(ctx context.Context) (code *DeviceCode, err error) {
	err = confine.Ask(ctx, codeMode, confine.For(), c, func(read *DeviceCode) error {
		code = read
		if code.Code == nil {
			code.Code = []devicecode.Kernel{} // gob knows no empty list
		}
		return nil
	})
	return code, err
}

// ShowDeviceCode lists the device code of a file or directory that others made.
func ShowDeviceCode(ctx context.Context, path string) (*DeviceCode, error) {
	code, err := CodeFiles{Dir: ".", Patterns: []string{input.Quote(path)}}.ask(ctx)
	return code, confine.Refused(err, path)
}

// read reads the files in a confined child, nil where the workload names none. A file that cannot be read is a refusal.
func (c CodeFiles) read(ctx context.Context) ([]devicecode.Kernel, error) {
	const mostStoredKernels = 20_000 // bounds the device code in a baseline file, about 100 bytes a kernel
	if len(c.Patterns) == 0 {
		return nil, nil
	}
	code, err := c.ask(ctx)
	if ended := (*confine.Ended)(nil); errors.As(err, &ended) {
		refused := ended.Refusal("device code cannot be read: " + strings.Join(c.Patterns, ", "))
		return nil, model.Refuse(model.CodeUnreadable, refused.Next, "%s", refused.Reason)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.Where, err)
	}
	if u := code.First; u != nil {
		return nil, model.Refuse(model.CodeUnreadable, u.Next+"; or name other files in the key code",
			"device code cannot be read: %s: %s", u.File, u.Reason)
	}
	if len(code.Code) > mostStoredKernels {
		return nil, model.Refuse(model.CodeUnreadable, "name fewer files in the key code",
			"the files hold %d kernels, more than the %d that a baseline stores", len(code.Code), mostStoredKernels)
	}
	return code.Code, nil
}

// attach notes device code and inputs in sessions measured with them; one of a saved report keeps those of its build.
func (c CodeFiles) attach(ctx context.Context, sessions []model.Session) error {
	kernels, err := c.read(ctx)
	inputs := c.Inputs.stored(c.Dir)
	for i := range sessions {
		s := &sessions[i]
		if s.Code == nil {
			s.Code = kernels
		}
		if s.Inputs == "" && inputs != "" {
			s.Inputs, s.Inherited = inputs, c.Inputs.inherited
		}
	}
	return err
}

// changedLines states of each slower kernel which lines of its code changed since the commit of the baseline, of each
// place that launches or calls what got slower whether it did, or why that is not known, and of a section all of them
// where no kernel fails.
func (c *Check) changedLines(ctx context.Context, r *result.Report) {
	const linesLimit = 10 * time.Second // how long line tables may be read
	called := func(f result.Finding) bool { return f.Origin.Known() && f.Origin.Line > 0 }
	grown := func(f result.Finding) bool { return f.Outcome == result.Slower || f.Increased() || called(f) }
	if !slices.ContainsFunc(r.Findings, grown) || ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, linesLimit)
	defer cancel()
	known, slower := c.lines(ctx, r)
	targets := why.Targets(r, true)
	for i, f := range r.Findings {
		var ofCode, ofLaunch result.Remark // empty for none
		fused := c.fused(f)
		if names, is := slower[i]; is && len(fused) == 0 {
			ofCode = known.ofCode(f, names)
		}
		if known.tree != nil && len(fused) > 0 {
			ofCode = known.tree.Source(fused)
		}
		if source := len(fused) > 0 && ofCode.Key != ""; known.tree != nil && called(f) && !source {
			ofLaunch = known.tree.Changed(f.Origin.File, f.Origin.Line, code.Launch)
		}
		if known.tree != nil && grown(f) && !f.Origin.Known() {
			ofLaunch = known.tree.Calling(f, targets[i].Call())
		}
		r.State(i, code.Evidence(ofCode, ofLaunch)...)
	}
}

// lines are what is known of the lines of what got slower, and this by finding: see [code.Slower].
func (c *Check) lines(ctx context.Context, r *result.Report) (known lines, slower map[int][]string) {
	known.defined = c.defined
	known.tree, known.unknown = c.tree(ctx, r.Base.Commit)
	if known.tree != nil {
		known.tree.Command = code.OtherCommand(r)
	}
	files, kernels := c.Code, code.Recorded(r.HeadSessions)
	program := c.program()
	if len(files.Patterns) == 0 && program != "" {
		files = CodeFiles{Dir: c.Live.Head.Dir, Patterns: []string{program}}
		listed, err := files.ask(ctx)
		if err == nil {
			kernels = listed.Code
		}
	}
	slower = code.Slower(r, kernels)
	files.Wanted = slices.Concat(slices.Collect(maps.Values(slower))...)
	if len(files.Wanted) > 0 {
		known.read, known.err = files.ask(ctx)
	}
	return known, slower
}

// program is the pattern of the head's program, whose line tables are read where the workload names no device code: the
// first word of the command that is the path of a file with some, "" for none.
func (c *Check) program() string {
	if !c.Way().Timed {
		return ""
	}
	for _, word := range c.Live.Head.Command {
		path := measure.Either(filepath.IsAbs(word), word, filepath.Join(c.Live.Head.Dir, word))
		if strings.ContainsRune(word, filepath.Separator) && devicecode.HasCode(path) {
			return input.Quote(word)
		}
	}
	return ""
}

// fused are the lines of the program that torch.compile made the kernels of a finding of.
func (c *Check) fused(f result.Finding) (lines []devicecode.Line) {
	for _, x := range c.compiled {
		if x.Kernel == f.Kernel || slices.Contains(f.HeadNames, x.Kernel) {
			lines = append(lines, devicecode.Line{File: filepath.Join(Repository(), x.File), Number: x.Line})
		}
	}
	return lines
}

// lines are the line tables of the head and the tree beside the baseline's commit, each with why it is not known.
type lines struct {
	read    *DeviceCode
	err     error
	tree    *code.Tree
	unknown string
	defined func(f result.Finding) (file string, line int, ok bool)
}

// ofCode says which lines of a kernel's code changed: by the line tables of its names in the device code, or else in
// its definition in the repository; of a section all lines. It is empty where neither is known nor asked for.
func (l lines) ofCode(f result.Finding, names []string) (said result.Remark) {
	var of []devicecode.Line
	for _, name := range names {
		if l.err == nil {
			of = append(of, l.read.Lines[name]...)
		}
	}
	switch {
	case len(of) > 0 && l.tree == nil:
		return code.NoLines(l.unknown)
	case len(of) > 0:
		return l.tree.Compiled(of)
	case l.tree != nil && f.Scope == measure.ScopeSection: // of which no kernel is known
		return l.tree.Any()
	case l.tree != nil:
		if file, line, ok := l.defined(f); ok && l.tree.Tracked(file) {
			return l.tree.Changed(file, line, code.Definition)
		}
	}
	if len(names) == 0 {
		return result.Remark{}
	}
	return code.NoLines(measure.Either(l.err != nil, fmt.Sprint(l.err), "build with -lineinfo to see the line"))
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
	id, err := in.Output(ctx, git.CommitOf(commit)...)
	if err != nil {
		return nil, "commit " + commit + " of the baseline is not in this clone: fetch it (git fetch --unshallow)"
	}
	hunks, err := in.Hunks(ctx, id)
	if err != nil {
		return nil, err.Error()
	}
	dir, _ := filepath.Abs(c.Code.Dir)
	return &code.Tree{Root: in.Top, Dir: dir, Hunks: hunks, Tracked: tracked(ctx, in.Top)}, ""
}

// tracked reports whether git knows a file below a directory.
func tracked(ctx context.Context, dir string) func(name string) bool {
	return func(name string) bool { return Ask(ctx, dir, "ls-files", "--", name) != "" }
}

// Definitions finds the definition of a finding's kernel below the root of a repository; file is relative to that.
func Definitions(ctx context.Context, root string) func(f result.Finding) (file string, line int, ok bool) {
	return code.Definitions(input.Tree(root), tracked(ctx, root))
}

// defined is the definition of a finding's kernel in the repository.
func (c *Check) defined(f result.Finding) (file string, line int, ok bool) {
	if c.definitions == nil {
		c.definitions = Definitions(context.Background(), Repository())
	}
	return c.definitions(f)
}
