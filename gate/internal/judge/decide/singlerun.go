package decide

import (
	"math"
	"slices"

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
	if t.Time == measure.ReplayTime {
		return t
	}
	t.single, t.few = singleSide(base, head)
	if i := slices.Index(recorded.SideNames[:], t.single); i >= 0 {
		t.outlier = shiftFrom(t.fits[1-i], 1, least)
	}
	return t
}

// singleSide is the side of one run against several of the other, "" for none; few, if not nil, is why so many runs are
// too few for any judgement.
func singleSide(base, head int) (side string, few *reason.NotJudged) {
	switch {
	case min(base, head) >= stats.MinRuns:
		return "", nil
	case max(base, head) < SpreadRuns:
		return "", &reason.NotJudged{Base: base, Head: head}
	case head < base:
		return recorded.SideNames[1], nil
	}
	return recorded.SideNames[0], nil
}

// singleOf is [singleSide] of a pair, with why it has too few runs. Unprofiled runs may be more or fewer than profiled
// ones. Outputs were asked for, and are judged or refused.
func (t comparison) singleOf(p *pair) (side string, few *reason.NotJudged) {
	if !p.Metric.Unprofiled() {
		return t.single, t.few
	}
	side, few = singleSide(len(stats.Pooled(p.Base)), len(stats.Pooled(p.Head)))
	if p.Subject.Scope != measure.ScopeOutput {
		few = t.few
	}
	return side, few
}

// singleRunExplains is the largest change that a single run of an unchanged program shows now and then, however
// steady the runs of the other side are; 0 where that is not known to happen.
func (t comparison) singleRunExplains(e *estimate) (most float64, says result.Reason) {
	single, _ := t.singleOf(&e.pair)
	of := func(what string) result.Reason { return reason.SingleRun{Side: single, What: what} }
	switch {
	case single == "" || e.Metric.Exact:
	case t.outlier != 0:
		return math.Inf(1), reason.OutlierAsAWhole{Side: single, Change: result.Number(t.outlier)}
	case e.Metric.OnHost():
		return outlierStep, of("step")
	case e.dependsOnHost():
		return outlierStep, of(string(e.Subject.Scope))
	case e.Subject.Scope == measure.ScopeKernel:
		return outlierKernel, of("kernel")
	case e.Metric.Name == measure.CopyTime.Name:
		return copyVariation, of("copies")
	}
	return 0, nil
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
