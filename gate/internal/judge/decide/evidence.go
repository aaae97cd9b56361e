package decide

import (
	"cmp"
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/explain/reason"
	"github.com/nsgate/nsgate/gate/internal/judge/recorded"
	"github.com/nsgate/nsgate/gate/internal/judge/stats"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// evidence is all that the outcome of one comparison depends on, as plain values. Changes are relative to the baseline,
// intervals have the level [result.Confidence].
type evidence struct {
	scope  measure.Scope
	metric measure.Metric
	share  float64 // part of a step or run; the cost of a change is its product with share
	gates  bool    // a slowdown can fail the gate
	warns  bool    // a rule warns of one
	named  bool    // a rule names the metric in full

	base                float64       // the typical value; the mean of a baseline with zeros
	leastHead, mostHead float64       // of the head's runs, where the baseline is zero
	rise                float64       // of the typical value
	unjudged            result.Reason // too few runs for any judgement, else nil

	change, low, high float64
	p                 float64 // corrected for all comparisons of the gate
	alpha             float64 // family-wise error of the gate
	mde               float64

	ruleLimit, ruleFloor float64 // as the policy states them
	limit, floor, tick   float64 // limit with the floor in it; floor and tick in the metric's unit
	exposed              float64 // change of exposed copies as a part of a step, NaN where unknown
	leastCost, openCost  float64 // from here on a slowdown fails the gate, and leaves it undecided
	apart                bool    // the sides are sessions of different times or hosts
	waits                bool    // most of a longer step is waiting of issued operations
	overlaps             bool    // files without a host's name do not show it clearly, see [evidence.clear]
	standsOut            bool    // more than others of its kind
	trends               bool    // kernels of both sides get slower or faster from run to run
	launched             bool    // wall time that a launcher makes, and the whole run is not longer for certain
	ofSession            bool    // a time of a job, see [comparison.ofSession], that may be within its limit
	explanations         []explanation
	modes                modes
	levels               result.Reason // the same in words

	headRuns, runsBeyond int     // runs of the head, and those beyond the limit and every run of the baseline
	spared               int     // runs of the baseline that the latter need not lie beyond
	changeBeyond         float64 // median change of the latter
	pBeyond              float64 // chance of so many
	pApart               float64 // chance of so many beyond every run of the baseline, by the exact test
}

// weigh collects the evidence of a comparison. p is corrected, alpha the part of the gate's error that it may spend.
func weigh(t comparison, e *estimate, f *result.Finding, p, alpha float64) evidence {
	x := evidence{
		scope: f.Scope, metric: e.Metric, share: t.costShare(e.pair), gates: f.Gates, named: t.Named(e.Pair),
		warns: e.Limit.Severity == thresholds.Warn && t.judges(e.pair),
		base:  float64(f.Base), rise: float64(f.Head - f.Base),
		unjudged: t.unjudged(e),
		change:   math.NaN(), low: math.NaN(), high: math.NaN(), mde: math.NaN(), p: p, alpha: t.Policy.Alpha,
		ruleLimit: e.Limit.Max, ruleFloor: e.Limit.Floor, limit: e.Limit.Max, floor: float64(f.Floor), tick: t.Tick,
		leastCost: t.leastCost(e.pair), openCost: t.openCost(e.pair), exposed: t.exposedChange(e.pair), modes: e.modes,
	}
	if f.Mode != nil {
		x.levels = t.levels(f.Mode, f.Unit)
	}
	if !e.relative {
		x.base = stats.Average(e.Base)
	}
	if x.base == 0 {
		head := stats.Pooled(e.Head)
		x.leastHead, x.mostHead, x.headRuns = slices.Min(head), slices.Max(head), len(head)
		x.runsBeyond = measure.HowMany(head, func(v float64) bool { return v > x.floor })
		if x.mostHead == 0 {
			x.change, x.low, x.high, x.p = 0, 0, 0, 1
		}
		return x
	}
	estimate := e.contrast.Estimate
	x.change = e.natural(estimate)
	if x.unjudged != nil {
		return x
	}
	x.base = e.judgedBase() // the floor is relative to it, like the change
	margin := stats.Margin(e.variance, result.Confidence)
	x.low, x.high = e.natural(estimate-margin), e.natural(estimate+margin)
	if x.base > 0 {
		x.limit = math.Max(x.limit, x.floor/x.base*(1+1e-9)) // a change of exactly the floor is none
	}
	x.trends, x.standsOut = t.trend, e.standsOut() || recorded.Typical(e.Head) == 0 // most runs did no work
	x.apart = e.contrast.SessionWeight > 0 && !t.batches
	x.waits = x.metric.OnHost() && t.neighbour(e.Metric, x.change)
	x.launched = t.launched(e.pair) && !t.wholeRun().worse(0)
	x.ofSession = t.ofSession(e.pair) && x.least() <= x.limit
	x.overlaps = t.assumed && e.Subject.Scope == measure.ScopeBenchmark && !x.clear(e)
	x.countBeyond(e)
	x.explanations = t.explain(e, &x)
	if !math.IsInf(x.limit, 1) {
		limit := e.distance(x.metric.Sign() * x.limit)
		least := math.Max(limit, e.distance(e.hostEffect)) // that a finding has to exceed
		if x.scope == measure.ScopeRange {
			least = math.Max(least, limit+margin)
		}
		x.mde = e.loss(stats.Detectable(e.variance, least, alpha-e.outlierChance, result.Power))
	}
	return x
}

// unjudged is why a comparison has too few runs for any judgement, nil where it has enough.
func (t comparison) unjudged(e *estimate) result.Reason {
	single, few := t.singleOf(&e.pair)
	switch {
	case few != nil:
		return *few
	case !e.Metric.Exact && single == "" && runs(e.Base, e.Head) < stats.MinRuns:
		return reason.OneRun
	case stats.Average(e.Base) != 0 && (math.IsNaN(e.contrast.Estimate) || !(e.variance.DF > 0)):
		return reason.FewSamples{Scope: string(e.Subject.Scope)}
	}
	return nil
}

// clear reports whether the whole interval is beyond the limit and the runs of both sides lie apart but for one in ten:
// another program on a machine that nobody watches makes outliers, of which the p-value knows nothing.
func (x *evidence) clear(e *estimate) bool {
	apart := func(low, high []float64) bool { return slices.Max(low) < slices.Min(high) }
	sides := e.asMeasured()
	base, head := stats.Pooled(sides[0]), stats.Pooled(sides[1])
	return math.Min(math.Abs(x.low), math.Abs(x.high)) > x.limit && x.low*x.high > 0 &&
		(apart(inner(base), inner(head)) || apart(inner(head), inner(base)))
}

// inner are values without the extremes at each end.
func inner(values []float64) []float64 {
	sorted := slices.Sorted(slices.Values(values))
	spare := int(innerPart * float64(len(sorted)))
	return sorted[spare : len(sorted)-spare]
}

// countBeyond counts the runs of the head beyond the limit and every run of the baseline; of unprofiled runs, which
// kernels say nothing of, but one in five: one bad process hides none.
func (x *evidence) countBeyond(e *estimate) {
	runs := *e
	measured := e.asMeasured() // an outlier is a run as well
	runs.Base, runs.Head = measured[0], measured[1]
	spare := measure.Either(x.metric.Unprofiled(), len(stats.Pooled(runs.Base))/fewRuns, 0)
	limit := x.doubtful()
	if typical := stats.Median(stats.Pooled(runs.Base)); typical > 0 {
		limit = math.Max(limit, x.floor/typical*(1+1e-9)) // one tick
	}
	beyond := beyondBase(runs, limit, x.metric.Sign(), spare)
	x.headRuns, x.runsBeyond = len(stats.Pooled(runs.Head)), len(beyond)
	beyondAll := len(beyondBase(runs, limit, x.metric.Sign(), 0))
	x.pApart = stats.Fisher(beyondAll, x.headRuns, 0, len(stats.Pooled(runs.Base)))
	if beyondAll < len(beyond) {
		x.spared = spare
	}
	if len(beyond) > 0 {
		x.pBeyond = stats.Apart(len(beyond), x.headRuns, spare, len(stats.Pooled(e.Base)))
		x.changeBeyond = stats.Median(beyond)/cmp.Or(recorded.Typical(e.Base), e.judgedBase()) - 1
	}
}

// asMeasured are the samples of both sides as they were measured, without the runs that are left out.
func (p *pair) asMeasured() (sides [2][][]float64) {
	for i, judged := range [][][]float64{p.Base, p.Head} {
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

func (x *evidence) interval() reason.Interval {
	return reason.Interval{Low: result.Number(x.low), High: result.Number(x.high)}
}

func (x *evidence) heeds() bool   { return x.gates || x.warns }
func (x *evidence) worse() bool   { return x.worsening() > 0 }
func (x *evidence) certain() bool { return x.p < x.alpha && !x.overlaps }
func (x *evidence) overlap() bool { return x.p < x.alpha && x.overlaps }

// worsening is the change in the direction of harm, worst and least are the ends of its interval.
func (x *evidence) worsening() float64 { return x.metric.Sign() * x.change }

func (x *evidence) worst() float64 { return math.Max(x.metric.Sign()*x.low, x.metric.Sign()*x.high) }
func (x *evidence) least() float64 { return math.Min(x.metric.Sign()*x.low, x.metric.Sign()*x.high) }

// harm is the size of a change as a time: a rate that falls by a fifth takes a quarter longer.
func (x *evidence) harm() float64 {
	return measure.Either(x.metric.Sign() < 0, math.Abs(1/(1+x.change)-1), math.Abs(x.change))
}

// cost is the part of a step or run that a change adds to it, or takes away: of copies, where no kernel hides them.
func (x *evidence) cost(change float64) float64 {
	cost := math.Abs(change) * x.share
	return measure.Either(x.exposed <= cost, x.exposed, cost)
}

// within reports whether the interval ends below the limit of harm.
func (x *evidence) within() bool { return x.worst() <= x.limit }

// belowFloor reports whether the interval ends below the floor, and beyond the rule's limit.
func (x *evidence) belowFloor() bool { return x.within() && x.worst() > x.ruleLimit }

// beyond reports whether the change is larger than the limit and the floor. A range is a finding of its own only
// where its whole interval is, because its kernels are judged one by one.
func (x *evidence) beyond() bool {
	size := math.Abs(x.change)
	return size > x.limit && (x.scope != measure.ScopeRange || math.Min(math.Abs(x.low), math.Abs(x.high)) > x.limit)
}

// found reports whether the change is beyond the limit and differs from zero after correction.
func (x *evidence) found() bool { return x.beyond() && x.certain() }

// open reports whether the interval contains harm that would fail the gate. How long a process takes to start and to
// end, and to copy, moves by tens of per cent: there the change itself has to be beyond the limit.
func (x *evidence) open() bool {
	if x.metric.OutsideSteps() || x.metric == measure.RunTime || x.metric.Name == measure.CopyTime.Name {
		change := math.Log1p(x.worsening()) // by at least one standard deviation of it
		beyond := stats.NormalMargin(result.Confidence)*change >= math.Log1p(x.worst())-change
		return x.heeds() && x.costly() && (!x.apart || beyond || x.metric.Name == measure.CopyTime.Name)
	}
	return x.heeds() && x.worst() > x.limit && (x.costly() || x.cost(x.worst()) >= x.limit*material)
}

// cheap reports whether a change is harm beyond the limit that would cost enough on one host.
func (x *evidence) cheap() bool {
	return x.openCost < x.leastCost && x.heeds() && x.worsening() > x.limit && x.cost(x.change) >= x.openCost
}

// costly reports whether the change is harm beyond the limit that costs enough to fail the gate.
func (x *evidence) costly() bool {
	return x.worsening() > x.limit && x.cost(x.change) >= x.leastCost
}

// doubtful is the smallest change at which an interval or a run is evidence of harm.
func (x *evidence) doubtful() float64 {
	return measure.Either(x.metric.Name == measure.CopyTime.Name, math.Max(x.limit, copyVariation), x.limit)
}

// mostBeyond reports whether most runs of the head lie beyond the limit and every run of the baseline; of a step of
// the same host so many that delays of the CPU hardly ever do that. Between hosts the runs of a start-up say nothing
// of their own.
func (x *evidence) mostBeyond() bool {
	switch {
	case !x.open() || !x.probable() || 2*x.runsBeyond <= x.headRuns || x.cost(x.change) < x.leastCost:
		return false
	case x.metric.OutsideSteps() && x.apart:
		return false
	}
	return !x.metric.OnHost() || x.apart || x.pBeyond <= hardlyEver
}

// severalBeyond reports whether more than one in five of the head's runs, and not one alone, lie beyond the limit and
// every run of the baseline.
func (x *evidence) severalBeyond() bool {
	several := x.runsBeyond > max(1, x.headRuns/fewRuns)
	sure := x.metric.OnHost() || x.modes.counted && x.modes.appeared() || x.pApart <= hardlyEver
	return several && x.heeds() && sure
}

// ruled is the limit of the rule.
func (x *evidence) ruled() reason.Bound {
	b := reason.Bound{By: "limit", Size: result.Number(x.ruleLimit)}
	if x.metric.Informational() && !x.named {
		b.By = "count"
	}
	return b
}

// limitOf is the bound of a change: the rule's limit, or the floor if that is more and the change is not far beyond
// both.
func (x *evidence) limitOf(change float64) reason.Bound {
	b := reason.Bound{By: "one", Size: result.Number(x.floor), Unit: x.metric.Unit}
	switch {
	case !(x.limit > x.ruleLimit && math.Abs(change) < 2*x.limit):
		return x.ruled()
	case x.floor == x.ruleFloor:
		b.By = "floor"
	case x.scope == measure.ScopeSection && !x.metric.Exact:
		b.By = "run"
	case x.metric.Unit == measure.Time.Unit:
		b.By, b.Size = "tick", result.Number(cmp.Or(x.tick, x.floor)) // of the digits where no timer is known
	}
	return b
}
