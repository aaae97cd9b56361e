package decide

import (
	"math"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/reason"
	"github.com/nsgate/nsgate/gate/internal/recorded"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/stats"
	"github.com/nsgate/nsgate/gate/measure"
)

// A program that takes ten minutes is run once. Of its own noise one run knows nothing, but where the other side has several it
// is held against their spread: it has to lie beyond what one more run of theirs would (a prediction interval, of variance
// 1 + 1/n for n runs). What that spread does not show in a few runs, for it befalls one of many, has a word of its own below: such
// a change is neither failed nor passed.
const (
	// HeldAgainst is the fewest runs whose spread a single run is held against.
	HeldAgainst = 3
	// straySteps is the change of a step's period up to which one run may be a stray one: of five traced runs of an
	// unchanged program, in one session, the slowest took 54 % longer than the fastest.
	straySteps = 1.0
	// strayKernels is the same for the time of a kernel: in 150 runs of unchanged programs on H200 and H100 GPUs, up to 29 kernels
	// each, one kernel was off by 1.7 % in one run, all others by less.
	strayKernels = 0.02
)

// once says how a side of a single run is judged: not at all, or against the spread of the other. Nsight Compute's metrics are
// refused one by one, see [unseen].
func (t trial) once() trial {
	base, head := t.base.Runs(), t.head.Runs()
	switch {
	case t.time == model.NcuTime || min(base, head) >= stats.MinRuns:
	case max(base, head) < HeldAgainst:
		t.few = tooFewRuns(base, head)
	case head < stats.MinRuns:
		t.single, t.swerve = sideNames[1], swerve(t, t.head, t.base)
	default:
		t.single, t.swerve = sideNames[0], swerve(t, t.base, t.head)
	}
	return t
}

// singleRunRemarks says what a single run was held against.
func (t trial) singleRunRemarks() []result.Remark {
	switch t.single {
	case "":
		return nil
	case sideNames[0]:
		return []result.Remark{result.Say(reason.ComparedSingle{Side: t.single, Other: sideNames[1], Runs: t.head.Runs()})}
	}
	return []result.Remark{result.Say(reason.ComparedSingle{Side: t.single, Other: sideNames[0], Runs: t.base.Runs()})}
}

// outlierChance is why a single run may show such a change now and then, however steady the runs of the other side are; nil where
// that is not known to happen.
func (t trial) outlierChance(e estimate, change float64) *result.Remark {
	switch {
	case t.single == "" || e.metric.Exact:
	case t.swerve != 0:
		return new(result.Say(reason.OutlierAsAWhole{Side: t.single, Change: result.Number(t.swerve)}))
	case e.isStep() && math.Abs(change) <= straySteps:
		return new(result.Say(reason.SingleRun{Side: t.single, What: "step"}))
	case e.subject.Scope == measure.ScopeKernel && math.Abs(change) <= strayKernels:
		return new(result.Say(reason.SingleRun{Side: t.single, What: "kernel"}))
	case e.metric.Name == measure.CopyTime.Name && math.Abs(change) <= copyJump:
		return new(result.Say(reason.SingleRun{Side: t.single, What: "copies"}))
	}
	return nil
}

// swerve is by how much a single run is off those of the other side as a whole, 0 where it is not.
func swerve(t trial, s, of *recorded.Index) float64 {
	var moves []float64
	for _, subject := range s.Subjects() {
		if subject.Scope != measure.ScopeKernel || math.Max(s.Share(subject), of.Share(subject)) < t.policy.Impact {
			continue
		}
		if by := math.Log(s.Typical(subject, t.time.Name) / of.Typical(subject, t.time.Name)); !math.IsNaN(by) && !math.IsInf(by, 0) {
			moves = append(moves, by)
		}
	}
	least := CommonSize
	if len(t.shared) == 0 {
		least += 2 * t.policy.SessionSD // hosts differ as a whole, which the term between sessions holds
	}
	return asOne(moves, least)
}
