// Package app holds the commands of nsgate without the command line: measure a workload and judge it ([Check]), judge
// recordings ([Compare]), write and extend the committed baseline ([Record], [Accept]), measure the noise
// ([Calibrate]), sum up a recording ([Show]), examine this machine ([Examine]).
//
// A refusal is a report without a verdict. An error is a mistake of the caller (a path that does not exist, a baseline
// that is damaged) or the end of ctx.
package app

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/nsgate/nsgate/gate/internal/explain/insight"
	"github.com/nsgate/nsgate/gate/internal/judge/decide"
	"github.com/nsgate/nsgate/gate/internal/judge/recorded"
	"github.com/nsgate/nsgate/gate/internal/judge/verdict"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/profile"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/run"
	"github.com/nsgate/nsgate/gate/internal/run/profiler"
)

// Check measures a head and judges it by the committed baseline; where it does not clearly pass, by a base build.
type Check struct {
	Job
	// Base is another build to measure interleaved with the head, nil for none. Where Paired it is measured at once.
	Base   *Base
	Paired bool
	// Looks are the numbers of runs a side after which to judge, ascending, at least one. The measurement goes on to
	// the next while something is undecided. The looks share the chance of a false alarm.
	Looks []int
	// Budget is the time that all sessions may take, 0 for any. Looks then gives the first and the largest number of
	// runs: after the first look it is known how many fit.
	Budget time.Duration
	// Profiler selects the sessions of the baselines to compare the head with; "" is the profiler of the head.
	Profiler model.Profiler
	Kernels  []string // short names of those to judge, none for all
	Explain  Explain  // which regressions to explain by counters, where the Measurer can
	// ExplainTime is how long explanations may take: 0 as long as the runs took, within bounds, negative for any.
	ExplainTime time.Duration
	// ExplainLess and ExplainMore say how to leave out explanations, and how to allow them more time.
	ExplainLess, ExplainMore string
	// Decided, where not nil, is told of a verdict that is about to be explained. The explanation is under its context,
	// whose end leaves the verdict, until stop.
	Decided func(context.Context, *result.Report) (ctx context.Context, stop func())
	// Estimate, where not nil, puts in words how a look left open compares, for the line that says how it goes on.
	Estimate func(*result.Report) string
	// SkipUnchanged passes the check without measuring where nothing that is measured changed since the baseline.
	SkipUnchanged bool
	Draw          bool // adds to the report what pictures show

	sinceAnchor []model.Session // since the anchor of the baseline
	allRows     bool            // the filter of the results fails

	definitions func(f result.Finding) (file string, line int, ok bool) // nil before the first is wanted
	compiled    []model.Operation                                       // by torch.compile, with their lines
}

// Screens reports whether the head is compared with the committed baselines first.
func (c *Check) Screens() bool { return len(c.own()) > 0 && !c.Paired }

// Valid says what keeps Run from trying the check: a kernel that the baseline lacks, where there is no base build.
func (c *Check) Valid(ctx context.Context) error { return c.valid(c.Baselines.Near(ctx, c.Live)) }

func (c *Check) valid(in Baselines) error {
	var dirs, have []string
	for _, b := range in {
		dirs, have = append(dirs, b.Dir), append(have, kernels(c.pick(b.Sessions))...)
	}
	for _, name := range c.Kernels {
		selected := func(k string) bool { return profiler.Selects([]string{name}, k) }
		if c.Base == nil && len(have) > 0 && !slices.ContainsFunc(have, selected) {
			return fmt.Errorf("the baseline %s has no kernel %q; it has %s", List(dirs), name, List(have))
		}
	}
	return nil
}

// Spread is the directory of a baseline that has too few runs to judge a single run by their spread, "" for none.
func (c *Check) Spread(ctx context.Context) (dir string) {
	for _, b := range c.own().Near(ctx, c.Live) {
		if (&recorded.Index{Sessions: b.Sessions}).Runs() < decide.SpreadRuns {
			return b.Dir
		}
	}
	return ""
}

func (c *Check) pick(sessions []model.Session) []model.Session {
	if c.Profiler == "" || c.Way().Unprofiled {
		return sessions
	}
	return c.Profiler.Pick(sessions)
}

// own are the baselines with sessions of the profiler, reduced to these sessions and to the kernels that are judged.
func (c *Check) own() Baselines {
	var out Baselines
	for _, b := range c.Baselines {
		if own := c.pick(b.Sessions); len(own) > 0 {
			b.Sessions, b.kernels = keepKernels(c.Kernels, own), c.Kernels
			out = append(out, b)
		}
	}
	return out
}

// Run measures and judges. What must not be judged is a report without a verdict and no error.
func (c *Check) Run(ctx context.Context) (r *result.Report, err error) {
	if r := c.unchanged(ctx); r != nil {
		return r, nil
	}
	if err := c.Valid(ctx); err != nil {
		return nil, err
	}
	c.nameKernels(ctx)
	defer c.Tell(Event{Stage: run.Done})
	if c.Way().Live {
		c.Live.NoDump = len(c.Baselines) > 0 && c.Base == nil && !c.Live.Dump
	}
	if c.Screens() {
		r, err = c.screen(ctx)
	}
	switch {
	case err != nil, r != nil && ctx.Err() != nil: // to measure the base would not help, or there is no time
	case lasts(r):
		r = c.explained(ctx, r, nil)
	case c.Base != nil && (r == nil || r.Verdict != result.Pass || r.Undecided):
		screen := r
		if screen != nil {
			c.Begin(answer(screen) + " against the baseline: measuring the base build beside the head")
		}
		if r, err = Refused(c.pair(ctx)); err == nil && screen != nil {
			overrule(screen, r)
		}
	case c.Base != nil:
		r.Note(result.Say(BaseNotNeeded{}))
	case r != nil:
		r = c.explained(ctx, r, nil)
	case len(c.Baselines) > 0:
		r, err = c.first(ctx, model.Refuse(model.OtherProfiler,
			"take what was measured here as the first baseline, or check with the profiler of the baseline",
			"the baseline of workload %s is of %s alone", c.Workload, c.Baselines.Profilers()))
	default:
		r, err = c.first(ctx, model.Refuse(model.NoBaseline,
			"take what was measured here as the first baseline, if this is the code to compare with",
			"workload %s has no baseline yet", cmp.Or(c.Workload, "default")))
	}
	return c.answered(ctx, r, err)
}

// lasts reports whether a gate fails by what no base build measures: drift since the anchor, or device code.
func lasts(r *result.Report) bool {
	limited := func(x result.CodeLimit) bool { return x.Fails }
	return r != nil && (r.OverDrift() || r.Code != nil && slices.ContainsFunc(r.Code.Limited, limited))
}

// answered is the report of a check, with what holds for all of them.
func (c *Check) answered(ctx context.Context, r *result.Report, err error) (*result.Report, error) {
	var base []model.Session
	if own := c.own(); len(own) == 1 && c.Base == nil {
		base = own[0].Sessions
	}
	if r, err = Refused(r, err, base...); err == nil {
		r.Append(result.Addition{Workload: c.Workload, Spent: c.spent(r.HeadSessions), Basis: func(b *result.Basis) {
			b.Policy, b.Root = cmp.Or(b.Policy, c.Policy), cmp.Or(b.Root, Placed(c.Root))
		}})
		c.changedLines(ctx, r)
	}
	return r, err
}

// screen measures the head alone and judges it against the committed baseline of its GPU. With a base build it takes
// one look, and pair decides the rest. Without a baseline of this machine's GPU the head can become the first one.
func (c *Check) screen(ctx context.Context) (*result.Report, error) {
	own := c.own()
	models, first := c.Live.Models(ctx)
	here := own.Here(models, first)
	if len(here) == 0 {
		why := model.Refuse(model.NoBaselineHere, "take what was measured here as the first baseline of this GPU, or "+
			"run the check where the baseline was measured",
			"the GPU of this machine is %s, the baseline was measured on %s", model.Models(models),
			List(measure.Map(own, func(b Baseline) string { return b.Sessions[0].GPU })))
		if c.Base == nil {
			return c.first(ctx, why)
		}
		return Refused(nil, why)
	}
	chosen := here[0]
	looks := c.Looks
	if c.Base != nil {
		looks = looks[:1]
	}
	r, err := c.judge(ctx, looks, nil, &Measurement{}, func(m *Measurement) ([]model.Session, []model.Session, error) {
		if b, ok := own.ForGPU(m.Head.GPU()); ok {
			chosen = b
		}
		if err := c.valid(Baselines{chosen}); err != nil {
			return nil, nil, err
		}
		_, head, err := m.sessions(ctx, c.Rule, chosen.Sessions)
		c.sinceAnchor = keepKernels(c.Kernels, chosen.SinceAnchor)
		return chosen.Sessions, head, err
	})
	if err == nil {
		r.Append(result.Addition{Baseline: chosen.Dir, Basis: chosen.basis})
		drawStored(r, chosen.Dir, chosen.Sessions)
	}
	return r, err
}

// overrule notes that the base build decides in place of the committed baseline, which gave the verdict of screen.
func overrule(screen, r *result.Report) {
	x := result.Addition{Remarks: []result.Remark{result.Say(Screened{answer(screen), screen.Reason})}}
	if screen.Verdict == result.Fail && r.Verdict == result.Pass {
		x.Next = []string{
			"the baseline does not describe the base on this machine: record it anew, or on this host too"}
	}
	r.Append(x)
}

func (c *Check) pair(ctx context.Context) (*result.Report, error) {
	build, remove, err := c.Base.ready(ctx, c.Tell)
	defer remove()
	if err != nil {
		return nil, err
	}
	c.sinceAnchor = nil
	own := c.own()
	all := &Measurement{Warnings: slices.Clone(c.Base.Warnings)}
	if c.Base.revision != nil {
		all.BaseCommit = c.Base.revision.Commit[:12]
	}
	r, err := c.judge(ctx, c.Looks, &build, all, func(m *Measurement) ([]model.Session, []model.Session, error) {
		committed, ok := own.ForGPU(m.Head.GPU())
		if c.Paired { // else the baseline has judged the drift
			c.sinceAnchor = keepKernels(c.Kernels, committed.SinceAnchor)
		}
		base, head, err := m.sessions(ctx, c.Rule, committed.Sessions)
		if err != nil && ok {
			base, head, err = m.sessions(ctx, c.Rule, nil) // the committed sessions are not what decides
		}
		return base, head, err
	})
	if err != nil {
		return nil, err
	}
	if b, ok := own.ForGPU(r.Head.Environment.GPU); ok {
		r.Append(result.Addition{Baseline: b.Dir, Basis: b.basis})
	}
	r.Append(result.Addition{Basis: func(b *result.Basis) { b.Against = AgainstBuild }})
	return c.explained(ctx, r, &build), nil
}

// judge measures until a look settles it, and at most to the last: each look takes further runs, judges all of them,
// and may be wrong in its share of the policy's error only. sides splits the runs into baseline and head sessions.
func (c *Check) judge(ctx context.Context, looks []int, base *Build, all *Measurement,
	sides func(*Measurement) (base, head []model.Session, err error)) (*result.Report, error) {
	var r *result.Report
	b := c.budget(base != nil)
	looks = b.begin(looks)
	taken, again := 0, 0
	for i := 0; i < len(looks); i++ {
		if i > 0 {
			so := fmt.Sprintf("undecided after %d runs: measuring up to %d", taken, looks[i])
			if c.Estimate != nil {
				so += "; so far " + c.Estimate(r)
			}
			c.Begin(so)
		}
		c.prefer(r)
		further := c.further(r)
		if err := all.take(further(ctx, looks[i]-taken, base)); err != nil && r != nil && ctx.Err() != nil {
			r.Append(result.Addition{Warnings: []string{run.Interrupted(taken, looks[i])}})
			break
		} else if err != nil {
			return nil, err
		}
		interrupted := ctx.Err() != nil
		if interrupted {
			ctx = context.WithoutCancel(ctx)
		}
		taken = looks[i]
		if i == 0 {
			looks = b.plan(looks)
		}
		look := lookOf(c.Policy.Alpha, looks, i+1)
		var err error
		if r, err = c.look(ctx, all, sides, look); err != nil {
			return nil, err
		}
		// Outlier runs are measured again a single time, whatever the verdict is without them; they stay in the report.
		if n := outliers(r, base != nil) - again; n > 0 && !all.finished && !interrupted && b.affords(n) == n {
			again += n
			if err = all.take(further(ctx, n, base)); err != nil {
				return nil, err
			}
			if r, err = c.look(ctx, all, sides, look); err != nil {
				return nil, err
			}
		}
		r.Append(result.Addition{Basis: func(b *result.Basis) { b.Looks, b.Look = slices.Clone(looks), i+1 }})
		if interrupted || verdict.Settled(r) {
			break
		}
	}
	if c.Draw {
		r.Append(result.Addition{Drawn: draw(r, &all.Base, &all.Head)})
	}
	b.tell(r, taken)
	return r, nil
}

// prefer limits the next look to the runs, profiled or unprofiled, that measure the undecided findings. Of the other
// kind it takes none, or the one that a session needs. The first look has no report yet and takes both.
func (c *Check) prefer(r *result.Report) {
	m := c.Live
	if m.Unprofiled == 0 {
		return
	}
	m.only = wanted{}
	if r == nil {
		return
	}
	for _, f := range r.Findings {
		metric, _ := measure.MetricByName(f.Metric)
		open := verdict.OpenToRuns(f)
		m.only.unprofiled = m.only.unprofiled || open && metric.Unprofiled()
		m.only.profiled = m.only.profiled || open && !metric.Unprofiled()
	}
}

func (c *Check) look(ctx context.Context, all *Measurement,
	sides func(*Measurement) (base, head []model.Session, err error), look decide.Look) (*result.Report, error) {
	base, head, err := sides(all)
	if err != nil {
		return nil, err
	}
	head = keepKernels(c.Kernels, head)
	if err := c.asked(all, head); err != nil {
		return nil, err
	}
	if all.finished {
		base, head = profile.CommonProfiler(base, head)
	} else if err := c.Code.attach(ctx, head); err != nil {
		all.Warnings = append(all.Warnings, err.Error())
	}
	r := insight.Judge(decide.Input{Baseline: base, Head: head, Policy: c.Policy, Since: c.sinceAnchor, Look: look})
	r.Append(result.Addition{Warnings: all.doubts(r)})
	return r, nil
}

// outliers is the number of outlier runs of the side that has more of them; without both that of the head.
func outliers(r *result.Report, both bool) int {
	runs := map[string]int{}
	for _, x := range r.OutlierRuns {
		runs[x.Side]++
	}
	return measure.Either(both, max(runs["base"], runs["head"]), runs["head"])
}

func (c *Check) asked(m *Measurement, head []model.Session) error {
	if m.finished && c.Profiler != "" && len(c.Profiler.Pick(head)) == 0 {
		return model.Refuse(model.NotAsAsked, "name recordings of that profiler, or do not ask for it",
			"%s was measured with %s, not with %s", m.Head.Source, head[len(head)-1].Profiler(), c.Profiler)
	}
	return nil
}

// Commands are the commands of Run at most, with a [Live]. DIR and XXXXXX stand for names that are unknown before.
func (c *Check) Commands(ctx context.Context) []string {
	m := c.Live
	c.nameKernels(ctx)
	looks, more := c.Looks, []string(nil)
	if c.Budget > 0 {
		looks = looks[:1]
		more = []string{"# while a comparison is undecided: the same again, as often as fits into " + c.Budget.String()}
	}
	switch {
	case c.Base == nil:
		return append(m.Commands(looks, nil), more...)
	case !c.Screens():
		return slices.Concat(c.Base.Commands(), m.Commands(looks, &c.Base.Build), more)
	}
	return slices.Concat(m.Commands(looks[:1], nil), []string{"# unless that passes against the baseline:"},
		c.Base.Commands(), m.Commands(looks, &c.Base.Build), more)
}

// nameKernels has the counter profile the kernels of the baselines for the head, unless others are named.
func (c *Check) nameKernels(ctx context.Context) {
	if !c.Way().Counts || len(c.Live.Selection.Kernels) > 0 {
		return
	}
	c.Live.Selection.Kernels = kernels(c.own().Near(ctx, c.Live).sessions())
}
