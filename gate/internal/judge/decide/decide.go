// Package decide judges the sessions of a head by those of a baseline under a policy.
//
// A judgement takes four steps: [match] pairs what both sides have, metric by metric; estimates computes the change
// of each pair and its variance; decide gives each its outcome, corrected for how many there are; [verdict.Of] draws
// the verdict.
package decide

import (
	"cmp"
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/explain/reason"
	"github.com/nsgate/nsgate/gate/internal/judge/recorded"
	"github.com/nsgate/nsgate/gate/internal/judge/stats"
	"github.com/nsgate/nsgate/gate/internal/judge/terms"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// answered is a finding with its outcome and the reason.
func answered(f result.Finding, o result.Outcome, because result.Reason) result.Finding {
	f.Outcome = o
	f.Because(result.Say(because))
	return f
}

// open is a finding without a decision.
func open(f result.Finding, because result.Reason) result.Finding {
	f.Undecided = f.Gates
	return answered(f, result.Undecided, because)
}

// decide gives every estimate its outcome, in their order. Those that can fail the gate share its error among them and
// are the family; the others are corrected for among themselves.
func decide(t comparison, estimates []estimate) (findings []result.Finding, family int) {
	findings = make([]result.Finding, len(estimates))
	var gating, other []int
	for i, e := range estimates {
		f := describe(t, e.pair)
		switch {
		case e.Listed != "":
			f.Outcome = e.Listed
			f.Because(e.Because)
		case e.OneSided:
			f = decideOneSided(e.pair, f)
			if f.Gates {
				family++
			}
		case f.Gates:
			gating = append(gating, i)
		default:
			other = append(other, i)
		}
		findings[i] = f
	}
	countTests(estimates, gating)
	for _, judged := range [][]int{gating, other} {
		p, weights, total := make([]float64, len(judged)), make([]float64, len(judged)), 0.0
		for k, i := range judged {
			e := &estimates[i]
			p[k], weights[k] = math.Min(1, e.byChance()+e.outlierChance), e.weight()
			total += weights[k]
		}
		for k, corrected := range stats.Holm(p, weights) {
			e, f := estimates[judged[k]], findings[judged[k]]
			alpha := t.Policy.Alpha
			if weights[k] > 0 {
				alpha *= weights[k] / total
			}
			f = decideChange(t, e, f, t.corrected(&e, corrected), alpha)
			if f.Change.Known() {
				f.Base = result.Number(e.judgedBase())
				f.Head = f.Base * (1 + f.Change)
			}
			if e.Limit.Bounded() {
				f = decideBounds(e.pair, f)
			}
			findings[judged[k]] = f
		}
	}
	judgeWholes(t, estimates, findings)
	return findings, family + len(gating)
}

// weight is the estimate's part in the family-wise correction. Counts that do not vary between the
// runs of a side cannot raise a false alarm, and cost nothing.
func (e *estimate) weight() float64 {
	switch {
	case e.pool.steady, e.Metric.Exact && e.variance.S2 == 0, math.IsInf(e.Limit.Max, 1):
		return 0
	case e.Metric == measure.StepTime, e.Metric == measure.MeanStep:
		return first / 2.0 // typical and mean are two views of one step
	case e.small, e.Metric.OnHost(), e.Subject.Scope == measure.ScopeSection:
		return seldom
	case e.Metric.Name == measure.Time.Name, e.Metric.Name == measure.ReplayTime.Name, e.Subject == measure.Workload,
		e.Match != "exact", e.Subject.Scope == measure.ScopeBenchmark:
		return 1
	}
	return secondary
}

// byChance is the p-value of an estimate; of a row on one host times [rowTails], unless the sides lie much farther
// apart than either of them and the rows of the file spread.
func (e *estimate) byChance() float64 {
	p := stats.TwoSided(e.contrast.Estimate, e.variance)
	if e.Subject.Scope != measure.ScopeBenchmark || e.contrast.SessionWeight > 0 || math.IsNaN(p) {
		return p
	}
	base, head := slices.Sorted(slices.Values(stats.Pooled(e.Base))), slices.Sorted(slices.Values(stats.Pooled(e.Head)))
	spread := math.Max(base[len(base)-1]-base[0], head[len(head)-1]-head[0])
	spread = math.Max(spread, 2*math.Sqrt(e.pool.prior.S2)*base[0])
	gap := math.Max(head[0]-base[len(base)-1], base[0]-head[len(head)-1])
	return measure.Either(gap > rowGap*spread, p, rowTails*p)
}

// describe is a finding apart from its answer.
func describe(t comparison, p pair) result.Finding {
	share := t.share(p)
	f := result.Finding{
		Kernel: p.Subject.Short(), Name: p.Subject.Name, Scope: p.Subject.Scope, Metric: p.Metric.Name,
		Unit:   p.Metric.Unit,
		Change: result.Unknown, Low: result.Unknown, High: result.Unknown, P: result.Unknown, MDE: result.Unknown,
		Base: result.Number(recorded.Typical(p.Base)), Head: result.Number(recorded.Typical(p.Head)),
		BaseRuns: result.Numbers(p.shown[0]), HeadRuns: result.Numbers(p.shown[1]),
		Limit: result.Number(p.Limit.Max), Floor: result.Number(t.floor(p)), Rule: p.Limit.Rule,
		Severity: string(p.Limit.Severity),
		Share:    result.Number(share), Match: p.Match, BaseNames: p.BaseNames, HeadNames: p.HeadNames,
		Better: p.Limit.Better, Gates: p.Limit.Severity == thresholds.Fail && t.judges(p),
	}
	f.State(p.Facts...)
	switch {
	case p.Limit.Severity != thresholds.Fail:
	case t.ofLaunches(p):
		f.State(result.Say(reason.LaunchRate{Least: measure.SmallKernel}))
	case t.yields(p):
		f.State(result.Say(reason.OutputDecides))
	}
	if p.Metric.Informational() && !t.Named(p.Pair) {
		f.Limit = result.Unknown // such a count has none
	}
	if p.Subject.Scope == measure.ScopeKernel {
		describeKernel(t, p.Subject, &f)
	}
	if p.Listed == "" {
		f.AtMost, f.AtLeast = (*result.Number)(p.Limit.AtMost), (*result.Number)(p.Limit.AtLeast)
	}
	return f
}

// judges reports whether a slowdown of a pair counts: that of a step does not where the launches set its period, or
// where outputs say how fast the program is, nor that of a count that no rule names.
func (t comparison) judges(p pair) bool {
	judged := !p.Metric.Informational() || t.Named(p.Pair) || p.Limit.Bounded()
	return p.Listed == "" && judged && !t.ofLaunches(p) && !t.yields(p)
}

// ofLaunches reports whether a pair is the period of steps that the CPU takes as long to launch.
func (t comparison) ofLaunches(p pair) bool {
	steps := p.Subject == measure.Workload || p.Subject == measure.Warmup
	return p.Metric.OnHost() && steps && !t.Named(p.Pair) && t.launchRate()
}

// yields reports whether a pair is the period of a step in place of which outputs are judged.
func (t comparison) yields(p pair) bool {
	return p.Metric.OnHost() && p.Subject == measure.Workload && !t.Named(p.Pair) && t.outputs()
}

// describeKernel adds to a finding what is known of a kernel alone: geometry, ranges, the profiler's name.
func describeKernel(t comparison, kernel measure.Subject, f *result.Finding) {
	if kernel.Geometry() != "" {
		f.Grid, f.Block = kernel.Grid.String(), kernel.Block.String()
	}
	f.Role = cmp.Or(t.Head.Role(kernel), t.Base.Role(kernel))
	if x := t.Head.Find(kernel, t.Total.Name); x != nil {
		f.Recorded = x.Raw
	}
	if known := t.Base.Sessions; len(known) > 0 && t.Head.Has(kernel) && f.BaseNames == nil {
		for _, x := range known[len(known)-1].Operations {
			if x.Was != "" && x.Kernel == f.Kernel {
				f.BaseNames = []string{x.Was}
			}
		}
	}
}

// floor is the largest absolute change that is no finding. It is the policy's, but at least one tick of the timer a
// launch for times of a kernel. For counts per step it is at least one launch or copy in a whole run.
func (t comparison) floor(p pair) float64 {
	floor := p.Limit.Floor
	if p.Subject.Scope == measure.ScopeSection && !p.Metric.Exact {
		least := measure.Either(p.Metric != measure.GPUTime, sectionLeast, t.cost())
		whole := t.Base.WholeRun(p.Metric)
		if p.Subject.IsLoop() { // a part of the repeated work
			whole -= t.Base.Typical(measure.Before, p.Metric.Name) + t.Base.Typical(measure.After, p.Metric.Name)
		}
		return math.Max(floor, least*whole)
	}
	if p.Metric.Unprofiled() && !p.Metric.Exact {
		return math.Max(floor, stats.Resolution(stats.Pooled(slices.Concat(p.shown[0], p.shown[1])),
			p.Metric.Unit == measure.Time.Unit))
	}
	switch p.Metric.Floor() {
	case measure.FloorTick:
		floor = math.Max(floor, t.Tick)
	case measure.FloorTicks:
		if launches := stats.Average(t.Base.Values(p.Subject, measure.Launches.Name)); p.Match == "exact" &&
			launches > 0 {
			if p.Limit.Launches {
				floor *= launches
			}
			floor = math.Max(floor, t.Tick*launches)
		}
	case measure.FloorOnce:
		for _, s := range slices.Concat(t.Base.Sessions, t.Head.Sessions) {
			if s.Step != "" {
				for _, run := range s.Runs[:s.Profiled()] {
					floor = math.Max(floor, 1/float64(max(run.Total-run.Skipped, 1)))
				}
			}
		}
	}
	return floor
}

// qualified returns the remarks on a regression: how the kernels were matched, and why it does not fail the gate.
func qualified(t comparison, p pair, f result.Finding) []result.Remark {
	out := result.SayIf(f.Match != "" && f.Match != "exact", reason.Matched{By: f.Match, Range: f.Role})
	switch {
	case f.Gates, p.Metric.OnHost() && t.outputs(), p.Metric.Informational() && p.Limit.Severity == thresholds.Fail:
	case p.Limit.Severity != thresholds.Fail:
		out = append(out, result.Say(reason.WarnOnly{Rule: f.Rule}))
	default:
		out = append(out, result.Say(reason.UnderCost{Cost: f.Cost, Least: result.Number(t.leastCost(p))}))
	}
	return out
}

// settle says why a comparison is undecided and how to decide it.
func settle(t comparison, e estimate, f result.Finding, x *evidence, alpha float64) []result.Remark {
	var hidden []result.Remark
	switch {
	case f.Mode == nil:
		hidden = outlierValue(e.asMeasured())
	case f.ReasonKey != result.KeyTwoLevels:
		hidden = append(hidden, result.Say(t.levels(f.Mode, f.Unit)))
	}
	session := e.contrast.SessionWeight * e.session.S2
	spread := result.Number(math.Sqrt(2 * e.session.S2))
	n := e.runsNeeded(t, &f, x, alpha)
	if x.overlap() {
		n = max(n, int(1/innerPart)) // one of which may overlap on each side
	}
	var says result.Reason = reason.TooManyRuns{Most: MaxRuns}
	switch {
	case n > 0 && e.modes.drawn() && t.relation() >= terms.SameBoard && n == f.Mode.Needed:
		return hidden // that the mode says
	case n > runs(e.Base, e.Head) && n <= MaxRuns:
		says = reason.MoreRuns{Runs: n}
	case session > 0 && e.hiddenByRuns(t, &f, x.limit):
	case session > 0 && t.batches:
		says = reason.OtherBatch{Spread: spread}
	case session > 0:
		if e.dependsOnHost() && e.Subject.Scope != measure.ScopeBenchmark && t.relation() != terms.OtherTime {
			hidden = slices.Concat(hidden, terms.NotReplayed(t.Base, t.Head))
		}
		says = reason.OtherHost{Hosts: t.hosts(), Spread: spread}
	case f.MDE.Known() && float64(f.MDE) > x.limit:
		says = reason.TooFine{MDE: f.MDE}
	}
	return append(hidden, result.Say(says))
}

// hiddenByRuns reports whether the runs leave a comparison undecided, not where they were measured.
func (e *estimate) hiddenByRuns(t comparison, f *result.Finding, limit float64) bool {
	if e.modes.drawn() && (t.relation() < terms.SameBoard || f.Mode.Needed > 0) {
		return t.relation() < terms.SameBoard
	}
	return e.runsFor(limit, 0) == 0
}

// runsFor is how many runs a side tell a change from the limit of harm, see [stats.RunsFor]. A further variance does
// not shrink with runs.
func (e *estimate) runsFor(limit, fixed float64) int {
	gap := math.Abs(e.working(e.Metric.Sign()*limit) - e.contrast.Estimate)
	return stats.RunsFor(gap, e.run, fixed, result.Confidence, MaxRuns)
}

// runsNeeded is how many runs a side would decide a comparison, 0 where none would and more than [MaxRuns] where so
// many are too few.
func (e *estimate) runsNeeded(t comparison, f *result.Finding, x *evidence, alpha float64) int {
	if math.Abs(x.change) > x.limit && x.harm() < e.hostEffect {
		return 0 // runs on these hosts tell no more of how hosts differ
	}
	if e.modes.drawn() && t.relation() < terms.SameBoard {
		return f.Mode.Needed
	}
	n := e.runsFor(x.limit, e.contrast.SessionWeight*e.session.S2)
	bimodal := e.pool.bimodal(math.Abs(e.contrast.Estimate))
	for e.outlierChance > 0 && n > 0 && n <= MaxRuns && bimodal*stats.Split(n, n) > alpha/2 {
		n++
	}
	if e.delays > delaysMost && n > 0 {
		n = max(n, e.settledBy(MaxRuns))
	}
	if e.modes.drawn() && n > 0 { // the exact test decides beside the interval
		n = max(n, cmp.Or(f.Mode.Needed, MaxRuns+1))
	}
	return n
}

// decideBounds judges the value of the head itself, which the policy bounds, beside its change. A bound is broken for
// certain where it is broken in every run. Where some runs break that of a number that is no speed, the gate does not
// pass. Some broken runs excuse no change beyond the limit.
func decideBounds(p pair, f result.Finding) result.Finding {
	values := stats.Pooled(p.shown[1])
	all := len(values)
	broken := len(slices.DeleteFunc(values, p.Limit.Keeps))
	none := result.Unknown
	wanted := reason.Bounds{AtLeast: *cmp.Or(f.AtLeast, &none), AtMost: *cmp.Or(f.AtMost, &none), Unit: f.Unit}
	beyond := reason.BoundsBroken{Some: broken, All: all, Head: f.Head, Bounds: wanted}
	switch {
	case all == 0:
		return open(f, reason.Unbounded{Metric: f.Metric, Bounds: wanted})
	case broken == 0 && math.IsInf(p.Limit.Max, 1):
		f.Undecided = false
		return answered(f, result.WithinLimit, reason.BoundsKept{Bounds: wanted})
	case broken == 0:
		f.Gates = f.Gates && !f.Increased()
		return f
	case broken == all:
		f.Undecided = false
		f = answered(f, result.Slower, beyond)
		if !f.Gates {
			f.Qualify(result.Say(reason.WarnOnly{Rule: f.Rule}))
		}
		return f
	case f.Outcome == result.Slower:
		f.Qualify(result.Say(beyond))
		return f
	}
	f = open(f, beyond)
	f.Undecided, f.Doubted = true, f.Doubted || f.Gates && !f.OfSpeed() // undecided where a rule only warns, too
	return f
}

// decideOneSided judges a metric that one side lacks: by its bounds where the head has it, else not at all, which is
// no pass.
func decideOneSided(p pair, f result.Finding) result.Finding {
	without := "base"
	switch {
	case p.Limit.Bounded():
		p.Limit.Max = math.Inf(1) // there is no change to limit
		return decideBounds(p, f)
	case f.Base.Known():
		without = "head"
	case !f.Head.Known():
		without = "both"
	}
	return open(f, reason.OneSided{Metric: f.Metric, Without: without})
}
