package decide

import (
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/reason"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/measure"
)

// doubt is the meaning of an inconclusive comparison for the verdict.
type doubt int

const (
	harmless  doubt = iota // compatible with no harm
	undecided              // harm that would fail the gate cannot be excluded
	doubted                // the data says harm, not surely enough: such a gate never passes
)

// addition is the kind of remarks that an answer has beside its reason.
type addition int

const (
	nothing addition = iota
	matched          // how the sides were matched, and why a regression does not fail the gate
	remedy           // why it is undecided, and how to decide it
)

// guard is a row of the decision: the outcome of a comparison whose evidence meets its condition and none of the rows above.
type guard struct {
	name    string
	when    func(*evidence) bool
	outcome result.Outcome
	doubt   func(*evidence) doubt
	reason  func(*evidence) result.Remark
	adds    addition
}

// worseAtSpeed names the row whose change is that at the speed of the baseline's host, likeSpeed that of a change which is the host's.
const worseAtSpeed, likeSpeed = "worse at the baseline's host speed", "like the speed of the host"

// guards are the decision on one comparison. The first row that applies gives the outcome; the last one always does.
var guards = []guard{
	// A baseline of zero has no relative change.
	{"zero in both", func(x *evidence) bool { return x.base == 0 && x.head == 0 },
		result.Unchanged, never, plain(reason.Zero), nothing},
	{"from zero, not in every run", func(x *evidence) bool { return x.fromZero() && x.listedOnly() && x.leastHead <= x.floor },
		result.Inconclusive, gating, plain(reason.FromZero), nothing},
	{"informational count from zero", func(x *evidence) bool { return x.fromZero() && x.listedOnly() && x.counted() },
		result.Grew, never, plain(reason.FromZero), nothing},
	{"count from zero", func(x *evidence) bool { return x.fromZero() && x.counted() },
		result.Regressed, never, plain(reason.FromZero), nothing},
	{"section from zero, within the floor", func(x *evidence) bool { return x.fromZero() && x.section() && x.head <= x.floor },
		result.Unchanged, never, plain(reason.ZeroFloor), nothing},
	{"section from zero", func(x *evidence) bool { return x.fromZero() && x.section() && x.leastHead > x.floor },
		result.Regressed, never, plain(reason.FromZero), nothing},
	{"from zero", (*evidence).fromZero,
		result.Inconclusive, gating, plain(reason.FromZero), nothing},

	// No interval.
	{"too few runs in the gate", func(x *evidence) bool { return x.tooFew != nil },
		result.Inconclusive, gating, because(notJudged), nothing},
	{"one run", (*evidence).oneRun,
		result.Inconclusive, gating, plain(reason.OneRun), nothing},
	{"too few samples", func(x *evidence) bool { return x.countless },
		result.Inconclusive, gating, because(func(x *evidence) result.Reason { return reason.FewSamples{Scope: string(x.scope)} }), nothing},

	// A change that is larger than everything that it has to exceed, and certain.
	{"outlier of a single run", func(x *evidence) bool { return x.found() && x.outlier != nil },
		result.Inconclusive, doubtedIfWorse, func(x *evidence) result.Remark { return *x.outlier }, nothing},
	{"slower while the host held the program back", func(x *evidence) bool { return x.denied > 0 && x.found() && x.worse() && x.change <= x.denied },
		result.Inconclusive, doubtedIfGating, because(func(x *evidence) result.Reason { return reason.HostDenied{Most: result.Number(x.denied)} }), nothing},
	{"step that waits for another program", func(x *evidence) bool { return x.isStep() && x.beyond() && x.worse() && x.waits },
		result.Inconclusive, doubtedIfGating, plain(reason.Waiting), nothing},
	{"mean against median of a count", func(x *evidence) bool {
		return x.found() && x.metric.Informational() && x.change*x.rise < 0
	}, result.Inconclusive, gating, plain(reason.CountsDiffer), nothing},
	{"increased count", func(x *evidence) bool { return x.found() && x.worse() && x.metric.Informational() && !x.named },
		result.Grew, never, because(func(x *evidence) result.Reason { return reason.IncreasedCount{Bound: x.limitOf(x.change)} }), nothing},
	{"worse like all kernels, at another time or place", func(x *evidence) bool { return x.found() && x.worse() && x.withAll() },
		result.Inconclusive, doubtedIfGating, because(func(x *evidence) result.Reason {
			return reason.WithAll{Bound: x.limitOf(x.change), Shift: result.Number(x.shift)}
		}), nothing},
	{likeSpeed, func(x *evidence) bool { return (x.found() || x.excluded()) && x.likeHostSpeed() },
		result.Inconclusive, func(x *evidence) doubt { return max(gating(x), doubtedIfWorse(x)) }, because(func(x *evidence) result.Reason { return x.speed.say() }), remedy},
	{"worse", func(x *evidence) bool { return x.found() && x.worse() },
		result.Regressed, never, because(func(x *evidence) result.Reason { return reason.Beyond{Bound: x.limitOf(x.change)} }), matched},
	{worseAtSpeed, (*evidence).slowerAtSpeed,
		result.Regressed, never, because(func(x *evidence) result.Reason {
			return reason.SlowerAtBaseSpeed{AtBaseSpeed: x.speed.say(), Bound: x.limitOf(x.speed.change), Raw: result.Number(x.change)}
		}), matched},
	// A slower program whose batches each begin on a cold GPU looks like a trend.
	{"most runs beyond every run of the baseline, by a trend", func(x *evidence) bool { return x.trended && 2*x.runsBeyond > x.headRuns },
		result.Inconclusive, doubtedIfGating, because(mostRunsBeyond), nothing},
	{"better", func(x *evidence) bool { return x.found() && x.metric.Unit != measure.Time.Unit },
		result.Improved, never, because(func(x *evidence) result.Reason { return reason.Better{Limit: result.Number(x.limit)} }), nothing},
	{"faster", (*evidence).found,
		result.Improved, never, because(func(x *evidence) result.Reason { return reason.Better{Limit: result.Number(x.limit), Time: true} }), nothing},

	// An interval within the limit. That of a step leaves out delays of the host, which may be the program's own.
	{"several runs of a step beyond every run of the baseline", func(x *evidence) bool { return x.within() && x.severalBeyond() },
		result.Inconclusive, gating, because(mostRunsBeyond), remedy},
	{"unchanged", (*evidence).within,
		result.Unchanged, never, because(func(x *evidence) result.Reason { return reason.Within{Bound: x.limitOf(x.change)} }), nothing},

	// An interval that contains the limit, or a change that is explained otherwise.
	{"most runs beyond every run of the baseline, certain", func(x *evidence) bool { return x.mostBeyond() && x.countable && x.pBeyond < x.spend },
		result.Regressed, never, because(mostRunsBeyond), matched},
	{"most runs beyond every run of the baseline", (*evidence).mostBeyond,
		result.Inconclusive, doubtedIfGating, because(mostRunsBeyond), remedy},
	{"like an unmeasured merge", func(x *evidence) bool { return x.likeMerge() && x.certain() && math.Abs(x.change) > x.limit },
		result.Inconclusive, openDoubt, because(func(x *evidence) result.Reason {
			return reason.LikeMerge{Interval: x.interval(), Bound: x.limitOf(0), Most: result.Number(x.mergeUncertainty)}
		}), remedy},
	{"slight between hosts", func(x *evidence) bool { return x.slight() && x.certain() && x.low*x.high > 0 },
		result.Inconclusive, openDoubt, because(func(x *evidence) result.Reason {
			return reason.Slight{Interval: x.interval(), Part: result.Number(math.Abs(x.change) * x.share), Impact: sessionImpact}
		}), remedy},
	{"like a difference between hosts", func(x *evidence) bool { return x.likeHosts() && x.certain() && x.excluded() },
		result.Inconclusive, openDoubt, because(func(x *evidence) result.Reason {
			return reason.LikeHosts{Interval: x.interval(), Bound: x.limitOf(0), Most: result.Number(x.hostEffect)}
		}), remedy},
	{"beyond the limit before correction", (*evidence).excluded,
		result.Inconclusive, openDoubt, because(func(x *evidence) result.Reason { return reason.Uncertain{Interval: x.interval(), Bound: x.limitOf(0)} }), remedy},
	{"open", func(*evidence) bool { return true },
		result.Inconclusive, openDoubt, because(func(x *evidence) result.Reason { return reason.Open{Interval: x.interval(), Bound: x.limitOf(0)} }), remedy},
}

func guardOf(x *evidence) *guard {
	return &guards[slices.IndexFunc(guards, func(g guard) bool { return g.when(x) })]
}

func (x *evidence) fromZero() bool   { return x.base == 0 }
func (x *evidence) listedOnly() bool { return x.metric.Informational() && !x.gates }
func (x *evidence) counted() bool    { return x.metric.Exact && x.head > x.floor }
func (x *evidence) section() bool    { return x.scope == measure.ScopeSection }

func never(*evidence) doubt { return harmless }

var gating, doubtedIfGating = ifGating(undecided), ifGating(doubted)

// ifGating is the doubt of a comparison that can fail the gate.
func ifGating(d doubt) func(*evidence) doubt {
	return func(x *evidence) doubt {
		if x.gates {
			return d
		}
		return harmless
	}
}

func doubtedIfWorse(x *evidence) doubt {
	if x.worse() {
		return doubtedIfGating(x)
	}
	return harmless
}

// openDoubt is the doubt of an interval that contains the limit.
func openDoubt(x *evidence) doubt {
	switch {
	case !x.open():
		return harmless
	case x.least() > x.doubtful():
		return doubted
	}
	return undecided
}

func plain(r result.Reason) func(*evidence) result.Remark {
	return func(*evidence) result.Remark { return result.Say(r) }
}

func because(r func(*evidence) result.Reason) func(*evidence) result.Remark {
	return func(x *evidence) result.Remark { return result.Say(r(x)) }
}

func (x *evidence) interval() reason.Interval {
	return reason.Interval{Low: result.Number(x.low), High: result.Number(x.high)}
}

func notJudged(x *evidence) result.Reason {
	base, _ := x.tooFew.Args["base"].(result.Number)
	head, _ := x.tooFew.Args["head"].(result.Number)
	return reason.NotJudged{Base: int(base), Head: int(head)}
}

func mostRunsBeyond(x *evidence) result.Reason {
	return reason.MostRuns{Some: x.runsBeyond, All: x.headRuns, Change: result.Number(x.changeBeyond), Bound: x.limitOf(0)}
}
