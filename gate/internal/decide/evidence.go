package decide

import (
	"cmp"
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/reason"
	"github.com/nsgate/nsgate/gate/internal/recorded"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/stats"
	"github.com/nsgate/nsgate/gate/measure"
)

// evidence is all that the outcome of one comparison depends on, as plain values. Changes are relative to the baseline,
// intervals have the level [result.Confidence].
type evidence struct {
	scope  measure.Scope
	metric measure.Metric
	share  float64 // of the workload's GPU time
	gates  bool    // a regression fails the gate
	named  bool    // a rule names the metric in full

	base, head, leastHead float64        // typical values, and the smallest of the head; the mean of a baseline with zeros
	rise                  float64        // of the typical value
	runs                  int            // of the side with fewer
	single                string         // the side that consists of one run, "" for none
	tooFew                *result.Remark // why a session pair has too few runs for any judgement
	countless             bool           // no variance can be estimated

	change, low, high float64
	p                 float64 // corrected for all comparisons of the gate
	alpha, spend      float64 // family-wise error of the gate, and this comparison's part of it
	mde               float64

	ruleLimit, ruleFloor float64        // as the policy states them
	limit, floor, tick   float64        // limit with the floor in it; floor and tick in the metric's unit
	across               bool           // the sides are sessions of different times or hosts
	hostEffect           float64        // change up to which a difference between hosts explains it
	mergeUncertainty     float64        // change up to which an unmeasured merge explains it
	outlier              *result.Remark // why one run alone may show such a change by chance
	shift                float64        // of all kernels together between sessions, 0 where they moved apart
	denied               float64        // change up to which CPU time that the head's host denied it explains it, 0 where it cannot
	speed                *speedEvidence // of a step at the baseline's host speed, nil where it is not known
	waits                bool           // most of a longer step is time in which an issued operation waited

	headRuns, runsBeyond int     // runs of the head, and those beyond the limit and every run of the baseline
	changeBeyond         float64 // median change of the latter
	pBeyond              float64 // chance of so many
	trended              bool    // the samples are compared without a trend, see [trend]
	countable            bool    // that chance decides: runs are independent, and of one noise
}

// weigh collects the evidence of a comparison. p is corrected, alpha the part of the gate's error that it may spend.
func weigh(t comparison, e *estimate, f *result.Finding, p, alpha float64) evidence {
	x := evidence{
		scope: f.Scope, metric: e.metric, share: float64(f.Share), gates: f.Gates, named: t.named(e.pair),
		base: float64(f.Base), head: float64(f.Head), rise: float64(f.Head - f.Base), runs: runs(e.base, e.head), single: t.single, tooFew: t.few,
		change: math.NaN(), low: math.NaN(), high: math.NaN(), mde: math.NaN(), p: p, alpha: t.policy.Alpha, spend: alpha,
		ruleLimit: e.limit.Max, ruleFloor: e.limit.Floor, limit: e.limit.Max, floor: float64(f.Floor), tick: t.tick,
	}
	if !e.relative {
		x.base = stats.Average(e.base)
	}
	if x.base == 0 {
		x.leastHead = slices.Min(stats.Pooled(e.head))
		if x.head == 0 {
			x.change, x.low, x.high, x.p = 0, 0, 0, 1
		}
		return x
	}
	estimate := e.contrast.Estimate
	x.change = e.natural(estimate)
	x.countless = math.IsNaN(estimate) || !(e.variance.DF > 0)
	if x.tooFew != nil || x.oneRun() || x.countless {
		return x
	}
	x.base = e.judgedBase() // to which the floor is relative, like the change
	margin := stats.Margin(e.variance, result.Confidence)
	x.low, x.high = e.reach(t, e.natural(estimate-margin), e.natural(estimate+margin))
	if x.speed = t.atSpeed(e.pair); e.unmerged > 0 {
		x.speed = nil
		x.low, x.high = math.Max(x.low-e.unmerged, math.Min(x.low, -1)), x.high+e.unmerged
	}
	own := stats.Variance{S2: e.contrast.RunWeight * e.run.S2, DF: e.run.DF}
	x.low, x.high = x.speed.narrow(x.change, stats.Margin(own, result.Confidence), x.low, x.high)
	if x.base > 0 {
		x.limit = math.Max(x.limit, x.floor/x.base)
	}
	x.across = e.contrast.SessionWeight > 0 && !t.batches
	x.hostEffect, x.mergeUncertainty = e.hostEffect, e.unmerged
	if e.contrast.SessionWeight > 0 && e.metric.Unit == measure.Time.Unit {
		x.shift = t.shift
	}
	if x.isStep() || x.metric.Name == measure.WallTime.Name {
		x.denied = recorded.Denied(t.base.Sessions, t.head.Sessions)
	}
	x.outlier, x.waits = t.outlierChance(*e, x.change), t.neighbour(e.metric, x.change)
	if !math.IsInf(x.limit, 1) {
		x.mde = e.natural(stats.Detectable(e.variance, x.leastDetectable(e, margin), alpha-e.outlierChance, power))
	}
	x.trended = e.trendWeight > 0
	if x.open() || x.gates && (x.isStep() || x.trended) {
		x.countBeyond(e)
	}
	return x
}

// oneRun reports whether a side has a single run and nothing to judge it by.
func (x *evidence) oneRun() bool { return !x.metric.Exact && x.runs < stats.MinRuns && x.single == "" }

// leastDetectable is the change, on the working scale, that a finding has to exceed.
func (x *evidence) leastDetectable(e *estimate, margin float64) float64 {
	least := e.working(x.limit)
	if x.across {
		least = math.Max(least, e.working(math.Max(x.hostEffect, sessionImpact/x.share)))
	}
	if x.scope == measure.ScopeRange {
		least = math.Max(least, e.working(x.limit)+margin)
	}
	if x.mergeUncertainty > 0 {
		least = math.Max(least, e.working(x.limit+x.mergeUncertainty))
	}
	return least
}

// countBeyond counts the runs of the head beyond the limit and every run of the baseline.
func (x *evidence) countBeyond(e *estimate) {
	runs := *e
	if x.isStep() || e.winsorised || x.trended {
		measured := e.asMeasured() // an outlier is a run of the baseline as well
		runs.base, runs.head = measured[0], measured[1]
	}
	beyond := beyondBase(runs, x.doubtful(), x.sign(), 0)
	x.headRuns, x.runsBeyond = len(stats.Pooled(runs.head)), len(beyond)
	if len(beyond) == 0 {
		return
	}
	x.pBeyond = stats.Apart(len(beyond), x.headRuns, 0, len(stats.Pooled(e.base)))
	x.changeBeyond = stats.Median(beyond)/cmp.Or(recorded.Typical(e.base), e.judgedBase()) - 1
	// How often a side of more noise lies beyond all of the other is no evidence of a change, nor are delays of the CPU, which
	// hit several runs in a row.
	x.countable = e.contrast.SessionWeight == 0 && !e.pool.unequal && !x.isStep()
}

// asMeasured are the samples of both sides as they were measured, without the runs that are left out.
func (p *pair) asMeasured() (sides [2][][]float64) {
	for i, judged := range [][][]float64{p.base, p.head} {
		sides[i] = make([][]float64, len(judged))
		for j := range judged {
			sides[i][j] = slices.Clone(p.shown[i][j])
			for run, v := range judged[j] {
				if math.IsNaN(v) {
					sides[i][j][run] = math.NaN()
				}
			}
		}
	}
	return sides
}

// sign is 1 where lower values are better, else -1.
func (x *evidence) sign() float64 {
	if x.metric.Better == measure.Higher {
		return -1
	}
	return 1
}

func (x *evidence) worse() bool   { return x.sign()*x.change > 0 }
func (x *evidence) certain() bool { return x.p < x.alpha }
func (x *evidence) isStep() bool  { return x.metric.OnHost() }

// worst and least are the ends of the interval in the direction of harm.
func (x *evidence) worst() float64 {
	if x.sign() < 0 {
		return -x.low
	}
	return x.high
}

func (x *evidence) least() float64 {
	if x.sign() < 0 {
		return -x.high
	}
	return x.low
}

// excluded reports whether the whole interval lies beyond the limit, on either side.
func (x *evidence) excluded() bool { return x.least() > x.limit || -x.worst() > x.limit }

// within reports whether the interval lies within the limit.
func (x *evidence) within() bool { return math.Max(math.Abs(x.low), math.Abs(x.high)) <= x.limit }

// beyond reports whether the change is larger than the limit, the floor, the host effect and the uncertainty of an unmeasured merge.
// A range is a finding of its own only where its whole interval is, because its kernels are
// judged one by one.
func (x *evidence) beyond() bool {
	size := math.Abs(x.change)
	return size > x.limit && size*x.base > x.floor*(1+1e-9) &&
		(x.scope != measure.ScopeRange || math.Min(math.Abs(x.low), math.Abs(x.high)) > x.limit) &&
		!x.slight() && !x.likeHosts() && !x.likeMerge()
}

// found reports whether the change is beyond everything and differs from zero after correction.
func (x *evidence) found() bool { return x.beyond() && x.certain() }

// slight reports whether a change between hosts costs less GPU time than single kernels differ by between hosts.
func (x *evidence) slight() bool { return x.across && math.Abs(x.change)*x.share < sessionImpact }

// withAll reports whether a kernel, or the step, moved no further than all kernels did, by what a clock, a power limit or a host
// may do.
func (x *evidence) withAll() bool {
	return x.shift > 0 && x.shift <= shiftMost && x.change-x.shift <= x.limit
}

func (x *evidence) likeHosts() bool { return math.Abs(x.change) < x.hostEffect }

func (x *evidence) likeMerge() bool {
	return x.mergeUncertainty > 0 && math.Abs(x.change) <= x.limit+x.mergeUncertainty
}

// open reports whether the interval contains the limit and harm of a material size. How long a process takes to start, to end, or as
// a whole moves by tens of per cent between runs: there the whole interval has to be harm.
func (x *evidence) open() bool {
	if model.OutsideSteps(x.metric) || x.metric == measure.RunTime {
		return x.gates && x.least() > x.limit
	}
	return x.gates && x.worst() > x.limit && x.worst()*x.share >= x.limit*material
}

// doubtful is the change from which on an interval or a run is evidence of harm.
func (x *evidence) doubtful() float64 {
	least := x.limit + x.mergeUncertainty
	if x.metric.Name == measure.CopyTime.Name {
		least = math.Max(least, copyVariation)
	}
	return least
}

// mostBeyond reports whether most runs of the head lie beyond the limit and every run of the baseline; of a step of the same host
// so many that delays of the CPU hardly ever do that.
func (x *evidence) mostBeyond() bool {
	return x.open() && 2*x.runsBeyond > x.headRuns && (!x.isStep() || x.across || x.pBeyond <= stepDelays)
}

// severalBeyond reports whether more than one in five of the head's runs, and not one alone, lie beyond the limit and every run of
// the baseline.
func (x *evidence) severalBeyond() bool {
	return x.gates && x.isStep() && x.runsBeyond > 1 && float64(x.runsBeyond) > winsorisedMost*float64(x.headRuns)
}

// limitOf is what a change is compared with: the rule's "limit", or the floor where that is more and the change is not far
// beyond both. The floor is that of the policy ("floor"), a "tick" of the timer, or "one" launch more in a whole run.
func (x *evidence) limitOf(change float64) reason.Bound {
	b := reason.Bound{By: "one", Size: result.Number(x.floor), Unit: x.metric.Unit}
	switch {
	case !(x.limit > x.ruleLimit && math.Abs(change) < 2*x.limit):
		return reason.Bound{By: "limit", Size: result.Number(x.ruleLimit)}
	case x.floor == x.ruleFloor:
		b.By = "floor"
	case x.metric.Unit == measure.Time.Unit:
		b.By, b.Size = "tick", result.Number(x.tick)
	}
	return b
}
