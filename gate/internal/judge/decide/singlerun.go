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
	case max(base, head) < SpreadRuns:
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

// singleRunExplains is the largest change that a single run of an unchanged program shows now and then, however
// steady the runs of the other side are; 0 where that is not known to happen.
func (t comparison) singleRunExplains(e *estimate) (most float64, says result.Remark) {
	switch {
	case t.single == "" || e.Metric.Exact:
	case t.outlier != 0:
		return math.Inf(1), result.Say(reason.OutlierAsAWhole{Side: t.single, Change: result.Number(t.outlier)})
	case e.isStep():
		return outlierStep, result.Say(reason.SingleRun{Side: t.single, What: "step"})
	case e.Subject.Scope == measure.ScopeKernel:
		return outlierKernel, result.Say(reason.SingleRun{Side: t.single, What: "kernel"})
	case e.Metric.Name == measure.CopyTime.Name:
		return copyVariation, result.Say(reason.SingleRun{Side: t.single, What: "copies"})
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
