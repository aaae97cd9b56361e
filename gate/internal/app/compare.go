package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"sync"

	"github.com/nsgate/nsgate/gate/internal/decide"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/profile"
	"github.com/nsgate/nsgate/gate/internal/recorded"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/run"
	"github.com/nsgate/nsgate/thresholds"
)

// Compare judges what was recorded before. Both sides are paths as [profile.Open] takes them, or baselines of git
// revisions: "main:.nsgate/WORKLOAD/GPU", or "main" where that has one of the other side's GPU, or at the other side's
// place.
type Compare struct {
	Base, Head string
	// Home is the directory in which a git revision has its baselines, "" for the working directory.
	Home   string
	Policy *thresholds.Policy // must be given
	Rule   profile.Rule       // how traces are cut; the zero value finds the step and the warm-up by itself
	Tools  profile.Tools      // that reading some formats takes
	// Counters are two pages of counters, of base and head, that explain slower kernels; "" for none.
	Counters [2]string
	// Draw adds to the report what pictures show.
	Draw bool
	// Observe, if not nil, receives hints.
	Observe func(Event)
}

// Run reads both sides and judges them. What must not be judged is a report without a verdict; an error says that a path
// does not exist, or that a baseline or report there is damaged.
func (c Compare) Run(ctx context.Context) (*result.Judgement, error) { return Refused(c.judge(ctx)) }

// open reads both sides, at the same time if neither depends on the other. With an error it returns the base if that could be read.
func (c Compare) open(ctx context.Context) (base, head *profile.Recording, err error) {
	side := func(ctx context.Context, what, path, other string, models []string) (*profile.Recording, error) {
		r, err := c.Tools.Open(ctx, path)
		if old, ok := asCommitted(ctx, path); ok && err != nil {
			r, err = old.open(ctx, c.Tools, path, other, c.Home, models)
		}
		if errors.Is(err, fs.ErrNotExist) {
			if _, missing := os.Stat(path); missing != nil {
				err = fmt.Errorf("%s is neither a file nor a git revision", path)
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

func (c Compare) judge(ctx context.Context) (*result.Judgement, error) {
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
	if c.Rule != (profile.Rule{}) {
		for _, r := range []*profile.Recording{base, head} {
			if r.Whole() {
				r.Warnings = append(r.Warnings, r.Source+" is summed up already: another step or warm-up changes nothing in it")
			}
		}
	}
	b, h, err := profile.Sides(c.Rule, base, head)
	if err != nil {
		return nil, err
	}
	r := judged(decide.Input{Baseline: b, Head: h, Policy: c.Policy}, slices.Concat(base.Warnings, head.Warnings))
	r.Warnings = append(r.Warnings, c.settled(r, base, head, h)...)
	if c.Counters != [2]string{} {
		causes, hint, err := explainFrom(ctx, c.Counters, r)
		if err != nil {
			return nil, err
		}
		r.Explain(causes)
		if hint != "" {
			tell(c.Observe, Event{Stage: run.Hint, Text: hint})
		}
	}
	if c.Draw {
		r.Drawn = draw(r, base, head)
		drawStored(r, base.Source, base.Finished)
	}
	return r, nil
}

// settled says what sides without a steady state would be with the first half of their steps as warm-up; nothing for other sides.
func (c Compare) settled(r *result.Judgement, base, head *profile.Recording, cut []model.Session) []string {
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
			return []string{fmt.Sprintf("with %s steps of warm-up the verdict would be %s: GPU time %s → %s (%s)", rule.Warmup,
				later.Verdict, f.Base.In(f.Unit), f.Head.In(f.Unit), f.Change.Change())}
		}
	}
	return nil
}
