package decide

import (
	"math"

	"github.com/nsgate/nsgate/gate/internal/explain/reason"
	"github.com/nsgate/nsgate/gate/internal/judge/recorded"
	"github.com/nsgate/nsgate/gate/internal/judge/stats"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// singleRun says how a side of a single run is judged: not at all, or against the spread of the other. Counters are
// refused one by one, see [unmeasuredKernels].
func (t comparison) singleRun() comparison {
	base, head := t.Base.Runs(), t.Head.Runs()
	least := stats.LevelStep
	if len(t.shared) == 0 {
		least += 2 * t.Policy.SessionSD // hosts differ as a whole, which the term between sessions holds
	}
	switch {
	case t.Time == measure.ReplayTime || min(base, head) >= stats.MinRuns:
	case !enough(base, head):
		t.few = tooFewRuns(base, head)
	case head < stats.MinRuns:
		t.single, t.outlier = recorded.SideNames[1], shiftFrom(t.fits[0], 1, least)
	default:
		t.single, t.outlier = recorded.SideNames[0], shiftFrom(t.fits[1], 1, least)
	}
	return t
}

func (t comparison) singleRunRemarks() []result.Remark {
	other, runs := recorded.SideNames[0], t.Base.Runs()
	if t.single == recorded.SideNames[0] {
		other, runs = recorded.SideNames[1], t.Head.Runs()
	}
	return result.SayIf(t.single != "", reason.ComparedSingle{Side: t.single, Other: other, Runs: runs})
}

// singleOf is the side of a pair that holds one run against several of the other, "" for none. Unprofiled runs may be
// more or fewer than those that are profiled.
func (t comparison) singleOf(p *pair) string {
	base, head := len(stats.Pooled(p.Base)), len(stats.Pooled(p.Head))
	switch {
	case !p.Metric.Unprofiled():
		return t.single
	case min(base, head) >= stats.MinRuns || !enough(base, head):
		return ""
	case head < base:
		return recorded.SideNames[1]
	}
	return recorded.SideNames[0]
}

// enough reports whether so many runs of the sides show the spread between runs.
func enough(base, head int) bool {
	return min(base, head) >= stats.MinRuns || max(base, head) >= SpreadRuns
}

// tooFew is why a pair has too few runs for any judgement, nil where it has enough: outputs were asked for, and are
// judged or refused.
func (t comparison) tooFew(p *pair) *result.Remark {
	base, head := len(stats.Pooled(p.Base)), len(stats.Pooled(p.Head))
	if p.Subject.Scope != measure.ScopeOutput || enough(base, head) {
		return t.few
	}
	return tooFewRuns(base, head)
}

// singleRunExplains is the largest change that a single run of an unchanged program shows now and then, however
// steady the runs of the other side are; 0 where that is not known to happen.
func (t comparison) singleRunExplains(e *estimate) (most float64, says result.Remark) {
	single := t.singleOf(&e.pair)
	of := func(what string) result.Remark { return result.Say(reason.SingleRun{Side: single, What: what}) }
	switch {
	case single == "" || e.Metric.Exact:
	case t.outlier != 0:
		return math.Inf(1), result.Say(reason.OutlierAsAWhole{Side: single, Change: result.Number(t.outlier)})
	case e.isStep():
		return outlierStep, of("step")
	case e.dependsOnHost():
		return outlierStep, of(string(e.Subject.Scope))
	case e.Subject.Scope == measure.ScopeKernel:
		return outlierKernel, of("kernel")
	case e.Metric.Name == measure.CopyTime.Name:
		return copyVariation, of("copies")
	}
	return 0, says
}

// outlierAsAWhole is why a gate whose single run is an outlier has no verdict, nil elsewhere.
func (t comparison) outlierAsAWhole() *result.Remark {
	if t.outlier == 0 {
		return nil
	}
	return result.Refuse(model.OutlierRun, "measure again, with at least 2 runs",
		"%s, with nearly all of its kernels: a neighbour, a clock or a power limit does that as well as code",
		reason.OutlierAsAWhole{Side: t.single, Change: result.Number(t.outlier)})
}

func tooFewRuns(base, head int) *result.Remark {
	r := result.Refuse(model.FewRuns, "measure 5 runs a side; where that takes too long, 5 of the baseline: one run "+
		"of the head is compared by their spread",
		"%s against %d is too few: without the spread between runs no change can be told from noise",
		measure.Count(base, "run"), head)
	r.Args = result.Args{"base": result.Number(base), "head": result.Number(head)}
	return r
}
