package decide

import (
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/explain/reason"
	"github.com/nsgate/nsgate/gate/internal/judge/recorded"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// rule is a row of the decision: the outcome of a comparison that meets its condition and none of the rows above.
type rule struct {
	name    string
	when    func(*evidence) bool
	outcome result.Outcome
	doubt   func(*evidence) doubt
	reason  func(*evidence) result.Reason
	adds    addition
}

// doubt is the meaning of an undecided comparison for the verdict.
type doubt int

const (
	harmless  doubt = iota // compatible with no harm
	undecided              // harm that would fail the gate is not excluded
	harmful                // the data shows harm, not surely enough to fail: such a gate never passes
)

// addition is the kind of remarks that an outcome has beside its reason.
type addition int

const (
	nothing addition = iota
	matched          // how the sides were matched, and why a slower part does not fail the gate
	remedy           // why it is undecided, and how to decide it
)

// rules are the decision on one comparison, in their order. The last one always applies.
var rules = []rule{
	{"zero on both sides", func(x *evidence) bool { return x.base == 0 && x.mostHead == 0 },
		result.WithinLimit, never, plain(reason.Zero), nothing},
	{"from zero, below the floor", func(x *evidence) bool { return x.base == 0 && x.mostHead <= x.floor },
		result.BelowFloor, never, plain(reason.ZeroFloor), nothing},
	{"not judged", func(x *evidence) bool { return x.unjudged != nil && !(x.base == 0 && x.metric.Exact) },
		result.Undecided, gating, func(x *evidence) result.Reason { return x.unjudged }, nothing},
	{"from zero, for the better", func(x *evidence) bool {
		return x.base == 0 && x.metric.Better == measure.Higher && x.leastHead > x.floor
	},
		result.Faster, never, plain(reason.FromZero), nothing},
	{"from zero in some runs", func(x *evidence) bool { return x.base == 0 && x.leastHead <= x.floor },
		result.Undecided, func(x *evidence) doubt {
			return measure.Either(2*x.runsBeyond > x.headRuns && x.heeds() && x.metric.Sign() > 0, harmful, gating(x))
		}, plain(reason.FromZero), nothing},
	{"count from zero", func(x *evidence) bool { return x.base == 0 && x.metric.Informational() && !x.gates },
		result.Slower, never, plain(reason.CountFromZero), nothing},
	{"from zero", func(x *evidence) bool { return x.base == 0 },
		result.Slower, never, plain(reason.FromZero), nothing},
	{"explained otherwise", func(x *evidence) bool { return x.explanation() != nil },
		result.Undecided, func(x *evidence) doubt { return x.explanation().doubt(x) },
		func(x *evidence) result.Reason { return x.explanation().says }, remedy},
	{"increased count", func(x *evidence) bool {
		return x.found() && x.worse() && x.metric.Informational() && !x.named
	},
		result.Slower, never, plain(reason.IncreasedCount), nothing},
	{"slower", func(x *evidence) bool { return x.found() && x.worse() },
		result.Slower, never, beyondLimit, matched},
	{"faster", (*evidence).found,
		result.Faster, never, func(x *evidence) result.Reason {
			return reason.Better{Limit: result.Number(x.limit), Time: x.metric.Unit == measure.Time.Unit}
		}, nothing},
	{"below the floor", func(x *evidence) bool { return x.belowFloor() && !x.severalBeyond() },
		result.BelowFloor, never, withinLimit, nothing},
	{"within the limit", func(x *evidence) bool { return x.within() && !x.severalBeyond() },
		result.WithinLimit, never, withinLimit, nothing},
	{"most runs beyond the limit", func(x *evidence) bool { return x.mostBeyond() || x.within() },
		result.Undecided, beyondDoubt, mostRunsBeyond, remedy},
	{"undecided", func(*evidence) bool { return true }, result.Undecided, openDoubt, containsLimit, remedy},
}

func ruleOf(x *evidence) *rule {
	return &rules[slices.IndexFunc(rules, func(r rule) bool { return r.when(x) })]
}

// explanation is a cause other than the code.
type explanation struct {
	most  float64 // largest relative change that it explains, +Inf for any
	both  bool    // it explains gains as well
	runs  bool    // more runs, or other hosts, would tell the change from it
	says  result.Reason
	doubt func(*evidence) doubt // about a change that it explains
}

// explanation is the one that explains most of a change that would be slower, or faster, without it; a mode of the head
// that the exact test does not decide; nil where none explains it.
func (x *evidence) explanation() *explanation {
	var out *explanation
	for i := range x.explanations {
		e := &x.explanations[i]
		explains := x.harm() <= e.most && (e.both || x.worse())
		if x.beyond() && (x.certain() || x.waits && !x.modes.counted) && explains && (out == nil || e.most > out.most) {
			out = e
		}
	}
	if x.inMode() && (out != nil || !x.found()) {
		return &explanation{runs: true, says: x.levels, doubt: func(*evidence) doubt { return harmful }}
	}
	return out
}

// explain collects what besides the code changes a comparison.
func (t comparison) explain(e *estimate, x *evidence) (out []explanation) {
	add := func(most float64, both bool, doubt func(*evidence) doubt, says result.Reason) {
		if most > 0 {
			out = append(out, explanation{most: most, both: both, says: says, doubt: doubt})
		}
	}
	settled := func() { out[len(out)-1].runs = true }
	onHost := e.dependsOnHost()
	shifts := e.contrast.SessionWeight > 0 && (x.metric.Unit == measure.Time.Unit || onHost)
	if shifts && t.shift > 0 && t.shift <= shiftMost {
		add(t.shift+x.limit, false, doubtIfGating, reason.WithAll{Bound: x.limitOf(x.change),
			Shift: result.Number(t.shift)})
	}
	if together := t.rowsTogether(e); together > 0 {
		add(math.Inf(1), false, doubtIfGating,
			reason.RowsTogether{Together: together, Rows: len(e.pool.changes), Change: result.Number(x.change)})
	}
	if e.hostEffect > 0 {
		add(e.hostEffect, true, beyondDoubt,
			reason.LikeHosts{Interval: x.interval(), Bound: x.limitOf(0), Most: result.Number(e.hostEffect)})
		settled()
	}
	if onHost {
		denied := recorded.Denied(t.Base.Sessions, t.Head.Sessions)
		add(denied, false, doubtIfGating, reason.HostDenied{Most: result.Number(denied)})
	}
	if x.launched {
		add(math.Inf(1), false, gating, reason.Launched{Change: result.Number(t.wholeRun().change)})
	}
	if x.waits {
		add(math.Inf(1), false, doubtIfGating, reason.Waiting)
	}
	if times := math.Exp(math.Abs(e.contrast.Estimate)); x.metric.Unprofiled() && e.relative && times > unitFactor {
		add(measure.Either(x.worse(), 0, math.Inf(1)), true, gating, reason.OtherUnit{Times: result.Number(times)})
	}
	if t.unmeasured(e.pair) {
		add(math.Inf(1), true, beyondDoubt, reason.Unmeasured)
	}
	if e.delays > delaysMost {
		add(math.Inf(1), true, delayDoubt, reason.SlowRuns{Some: e.slowRuns, All: x.headRuns, Faster: x.change < 0})
		settled()
	}
	if x.metric.Informational() && x.change*x.rise < 0 {
		add(math.Inf(1), true, gating, reason.CountsDiffer)
	}
	most, says := t.singleRunExplains(e)
	add(most, true, doubtIfGating, says)
	return out
}

func never(*evidence) doubt { return harmless }

func gating(x *evidence) doubt {
	return measure.Either(x.heeds(), undecided, harmless)
}

func doubtIfGating(x *evidence) doubt {
	return measure.Either(x.heeds() && x.worse(), harmful, harmless)
}

// delayDoubt is the doubt about a step that delays of the CPU explain.
func delayDoubt(x *evidence) doubt {
	switch {
	case x.mostBeyond(), x.headRuns > 1 && x.runsBeyond == x.headRuns && x.open() && x.least() > x.doubtful():
		return harmful
	case x.worse():
		return gating(x)
	}
	return harmless
}

// beyondDoubt is the doubt about runs beyond the limit.
func beyondDoubt(x *evidence) doubt {
	switch {
	case x.mostBeyond():
		return harmful
	case x.severalBeyond():
		return undecided
	}
	return openDoubt(x)
}

// openDoubt is the doubt of an interval that contains the limit, or lies beyond it without being certain.
func openDoubt(x *evidence) doubt {
	switch {
	case !x.open() && !x.cheap():
		return harmless
	case !x.open():
		return undecided
	case x.least() > x.doubtful() && x.probable(), x.trends && x.worsening() > x.limit:
		return harmful
	}
	return undecided
}

// probable reports whether a row of a benchmark file differs from zero with the confidence of an interval, after
// correction for the number of comparisons: of 20 unchanged rows one has an interval beyond the limit by chance.
// Hosts move all rows together: between them that is so if a row stands out.
func (x *evidence) probable() bool {
	return x.scope != measure.ScopeBenchmark || x.p < 1-result.Confidence || x.standsOut && x.least() > x.doubtful()
}

func plain(r result.Reason) func(*evidence) result.Reason {
	return func(*evidence) result.Reason { return r }
}

func beyondLimit(x *evidence) result.Reason { return reason.Beyond{Bound: x.limitOf(x.change)} }

func withinLimit(x *evidence) result.Reason {
	return reason.Within{Bound: measure.Either(x.belowFloor(), x.limitOf(0), x.ruled())}
}

func containsLimit(x *evidence) result.Reason {
	if x.least() > x.limit {
		return reason.Uncertain{Interval: x.interval(), Bound: x.limitOf(0), Overlap: x.overlap()}
	}
	return reason.Open{Interval: x.interval(), Bound: x.limitOf(0)}
}

func mostRunsBeyond(x *evidence) result.Reason {
	return reason.MostRuns{Some: x.runsBeyond, All: x.headRuns, Spared: x.spared, Change: result.Number(x.changeBeyond),
		Bound: x.limitOf(0)}
}

// decideChange is the outcome of a comparison. p is corrected, alpha the part of the gate's error that it may spend.
func decideChange(t comparison, e estimate, f result.Finding, p, alpha float64) result.Finding {
	f.Mode = e.modes.finding(t, &e)
	x := weigh(t, &e, &f, p, alpha)
	r := ruleOf(&x)
	f.Change, f.Low, f.High = result.Number(x.change), result.Number(x.low), result.Number(x.high)
	f.P, f.MDE = result.Number(x.p), result.Number(x.mde)
	d := r.doubt(&x)
	if x.launched || x.ofSession {
		d = min(d, undecided)
	}
	f.Undecided, f.Doubted = d >= undecided && x.gates || d == harmful, d == harmful && x.gates
	f = answered(f, r.outcome, r.reason(&x))
	f.Cost = result.Number(x.cost(x.change))
	if f.Increased() && !e.Limit.Bounded() || f.Outcome == result.Slower && float64(f.Cost) < x.leastCost {
		f.Gates = false
	}
	if f.Undecided && !f.Gates {
		f.Qualify(result.Say(reason.WarnOnly{Rule: f.Rule}))
	}
	if e.winsorised && !e.modes.onBoth() {
		f.Qualify(outlierValue(e.shown)...)
	}
	if f.Mode != nil && f.Outcome == result.Slower {
		f.Qualify(result.Say(x.levels))
	}
	explained := x.explanation()
	switch {
	case r.adds == matched:
		f.Qualify(qualified(t, e.pair, f)...)
	case r.adds == remedy && (explained == nil || explained.runs):
		f.Qualify(settle(t, e, f, &x, alpha)...)
	}
	return f
}
