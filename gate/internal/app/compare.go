package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/nsgate/nsgate/gate/internal/explain/insight"
	"github.com/nsgate/nsgate/gate/internal/git"
	"github.com/nsgate/nsgate/gate/internal/judge/decide"
	"github.com/nsgate/nsgate/gate/internal/judge/recorded"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/output"
	"github.com/nsgate/nsgate/gate/internal/proc"
	"github.com/nsgate/nsgate/gate/internal/read/baseline"
	"github.com/nsgate/nsgate/gate/internal/read/profile"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/run"
	"github.com/nsgate/nsgate/thresholds"
)

// Compare judges what was recorded before. Both sides are paths as [profile.Open] takes them, or baselines of git
// revisions: "main:.nsgate/WORKLOAD/GPU", or "main" with one of the other side's GPU or place.
type Compare struct {
	Base, Head string
	Home       string               // directory in which a git revision has its baselines, "" for the working directory
	Policy     *thresholds.Resolved // must be given
	Rule       profile.Rule         // how traces are cut; the zero value finds the step and the warm-up by itself
	Tools      profile.Tools        // that reading some formats takes
	Counters   [2]string            // pages of base and head that explain slower kernels, "" for none
	Draw       bool                 // adds to the report what pictures show
	Observe    func(Event)          // receives hints, nil for nobody
}

// Run reads both sides and judges them. What must not be judged is a report without a verdict; an error says that a
// path does not exist, or that a baseline or report there is damaged.
func (c Compare) Run(ctx context.Context) (*result.Report, error) { return Refused(c.judge(ctx)) }

// open reads both sides, at once if neither depends on the other. With an error it returns a base that was read.
func (c Compare) open(ctx context.Context) (base, head *profile.Recording, err error) {
	side := func(ctx context.Context, what, path, other string, models []string) (*profile.Recording, error) {
		r, err := openNamed(ctx, c.Tools, c.Rule, path)
		if old, ok := asCommitted(ctx, path); ok && err != nil {
			r, err = old.open(ctx, c.Tools, path, other, c.Home, models)
		}
		if errors.Is(err, fs.ErrNotExist) {
			if _, missing := os.Stat(path); missing != nil {
				err = absent(ctx, path)
			}
		}
		switch {
		case model.KindOf(err) != "": // a refusal names its file already
			return nil, err
		case err != nil:
			return nil, fmt.Errorf("the %s: %w", what, err)
		}
		return r, nil
	}
	if _, ok := asCommitted(ctx, c.Base); ok { // which of a revision's baselines is meant depends on the head's GPU
		if head, err = side(ctx, "head", c.Head, c.Base, nil); err != nil {
			return nil, nil, err
		}
		base, err = side(ctx, "base", c.Base, c.Head, []string{head.GPU()})
		return base, head, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var headErr error
	var reading sync.WaitGroup
	reading.Go(func() { head, headErr = side(ctx, "head", c.Head, c.Base, nil) })
	if base, err = side(ctx, "base", c.Base, c.Head, nil); err != nil {
		cancel()
	}
	reading.Wait()
	if err != nil {
		return nil, nil, err
	}
	return base, head, headErr
}

// absent is the error of a side that is not there.
func absent(ctx context.Context, path string) error {
	lacks := "; name a recording or a directory of some, or a revision with a baseline"
	if path == "-" {
		return errStandardInput
	} else if Ask(ctx, "", "rev-parse", "--is-shallow-repository") == "true" {
		lacks = " that this shallow clone holds: git fetch --unshallow"
	}
	return fmt.Errorf("%s is neither a file nor a git revision%s", path, lacks)
}

var errStandardInput = errors.New("standard input is not read: write it to a file, and name that")

// openNamed opens what the caller named. Where that neither is nor holds a recording the error is no *model.Refusal.
func openNamed(ctx context.Context, t profile.Tools, rule profile.Rule, path string) (*profile.Recording, error) {
	r, err := t.Open(ctx, path)
	if err == nil && rule != (profile.Rule{}) && r.Whole() {
		r.Warnings = append(r.Warnings, path+" is summed up already: another step or warm-up changes nothing in it")
	}
	if err == nil && t.Rows != "" && len(r.Traces)+len(r.Counters) > 0 {
		r.Warnings = append(r.Warnings, path+" is a recording, no file of results: rows gives nothing of it")
	}
	none := []model.Kind{model.NoFile, model.NoProfile, model.OtherFormat}
	if slices.Contains(none, model.KindOf(err)) && !profile.Holds(path) {
		err = errors.New(err.Error())
	}
	return r, err
}

func (c Compare) judge(ctx context.Context) (*result.Report, error) {
	base, head, err := c.open(ctx)
	if base != nil && err != nil {
		var read []model.Session
		if sides, err := profile.Cut(c.Rule, base); err == nil {
			read = sides[0]
		}
		return Refused(nil, err, read...)
	}
	if err != nil {
		return nil, err
	}
	b, h, err := profile.Sides(c.Rule, base, head)
	if err != nil {
		return nil, err
	}
	r := insight.Judge(decide.Input{Baseline: b, Head: h, Policy: c.Policy})
	r.Append(result.Addition{Warnings: slices.Concat(base.Warnings, head.Warnings, c.settled(r, base, head, h))})
	if c.Counters != [2]string{} {
		causes, hint, err := explainFrom(ctx, c.Counters, r)
		if err != nil {
			return nil, err
		}
		r.Explain(causes, nil)
		if hint != "" {
			tell(c.Observe, Event{Stage: run.Hint, Text: hint})
		}
	}
	if c.Draw {
		r.Append(result.Addition{Drawn: draw(r, base, head)})
		drawStored(r, base.Source, base.Finished)
	}
	return r, nil
}

// settled says what sides without a steady state would be with the first half of their steps as warm-up.
func (c Compare) settled(r *result.Report, base, head *profile.Recording, cut []model.Session) []string {
	if r.ReasonKey != string(model.Unsteady) || r.Head.Step == "" {
		return nil
	}
	rule := c.Rule
	rule.Warmup = strconv.Itoa(recorded.Steps(&cut[len(cut)-1]) / 2)
	sides, err := profile.Cut(rule, base, head)
	if err != nil {
		return nil
	}
	later := decide.Judge(decide.Input{Baseline: sides[0], Head: sides[1], Policy: c.Policy})
	for _, f := range later.Findings {
		if f.Subject() == measure.Workload && f.Metric == measure.GPUTime.Name && f.Base.Known() && f.Head.Known() {
			return []string{fmt.Sprintf("with %s steps of warm-up the verdict would be %s: GPU time %s → %s (%s)",
				rule.Warmup, later.Verdict, f.Base.In(f.Unit), f.Head.In(f.Unit), f.Change.Change())}
		}
	}
	return nil
}

// committed is the baseline of a git revision: "main:.nsgate/WORKLOAD/GPU", or of "main" the one below [DefaultRoot]
// that fits a recording of these GPU models.
type committed struct{ revision, dir string }

// asCommitted takes a side for a baseline of a revision where there is no such file and git knows it.
func asCommitted(ctx context.Context, side string) (committed, bool) {
	if _, err := os.Stat(side); err == nil {
		return committed{}, false
	}
	revision, dir, _ := strings.Cut(side, ":")
	id := Ask(ctx, "", git.CommitOf(revision)...)
	return committed{id, dir}, id != ""
}

// open reads the baseline without a checkout. Of several that fit it is the one at the place of the other side.
func (c committed) open(ctx context.Context, t profile.Tools, side, other, home string,
	models []string) (*profile.Recording, error) {
	dirs := []string{c.dir}
	if c.dir == "" {
		dirs = c.baselines(ctx, path.Join(filepath.ToSlash(home), DefaultRoot), models)
	}
	if same := path.Clean(filepath.ToSlash(other)); slices.Contains(dirs, same) {
		dirs = []string{same}
	}
	switch {
	case len(dirs) == 0:
		return nil, fmt.Errorf("%s: the revision has no baseline below %s that fits; name one: %s:DIR",
			side, DefaultRoot, side)
	case len(dirs) > 1:
		return nil, fmt.Errorf("%s: the revision has several baselines; name one: %[1]s:%[2]s",
			side, strings.Join(dirs, ", "+side+":"))
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

// baselines are the directories of the revision below root that hold a baseline of one of the models, of any without.
func (c committed) baselines(ctx context.Context, root string, models []string) []string {
	var out []string
	files := Ask(ctx, "", "ls-tree", "-r", "-z", "--name-only", c.revision, "--", root)
	for name := range strings.SplitSeq(files, "\x00") {
		dir := path.Dir(name)
		fits := func(model string) bool { return filepath.Base(baseline.Dir("", "x", model)) == path.Base(dir) }
		if name != "" && (len(models) == 0 || slices.ContainsFunc(models, fits)) && !slices.Contains(out, dir) {
			out = append(out, dir)
		}
	}
	return out
}

func (c committed) extract(ctx context.Context, dir, to string) error {
	files, err := git.Files(ctx, c.revision, dir)
	switch {
	case err != nil:
		return fmt.Errorf("the revision's directory %s cannot be read: %w", dir, err)
	case len(files) == 0:
		return fmt.Errorf("the revision has no directory %s", dir)
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
