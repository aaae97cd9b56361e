package decide

import (
	"math"

	"github.com/nsgate/nsgate/gate/internal/model"
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
	base, head := t.base.runs(), t.head.runs()
	switch {
	case t.time == model.NcuTime || min(base, head) >= minRuns:
	case max(base, head) < HeldAgainst:
		t.few = refusal("few-runs", Args{"base": Number(base), "head": Number(head)})
	case head < minRuns:
		t.single, t.swerve = sideNames[1], swerve(t, t.head, t.base)
	default:
		t.single, t.swerve = sideNames[0], swerve(t, t.base, t.head)
	}
	return t
}

// singleRunRemarks says what a single run was held against.
func (t trial) singleRunRemarks() []Remark {
	switch t.single {
	case "":
		return nil
	case sideNames[0]:
		return []Remark{remark("held", Args{"side": t.single, "other": sideNames[1], "runs": Number(t.head.runs())})}
	}
	return []Remark{remark("held", Args{"side": t.single, "other": sideNames[0], "runs": Number(t.base.runs())})}
}

// outlierChance is why a single run may show such a change now and then, however steady the runs of the other side are; nil where
// that is not known to happen.
func (t trial) outlierChance(e estimate, change float64) *Remark {
	switch {
	case t.single == "" || e.metric.Exact:
	case t.swerve != 0:
		return new(remark("swerved", Args{"side": t.single, "change": Number(t.swerve)}))
	case e.isStep() && math.Abs(change) <= straySteps:
		return new(remark("lone-step", Args{"side": t.single}))
	case e.subject.Scope == measure.ScopeKernel && math.Abs(change) <= strayKernels:
		return new(remark("lone-kernel", Args{"side": t.single}))
	case e.metric.Name == measure.CopyTime.Name && math.Abs(change) <= copyJump:
		return new(remark("lone-copies", Args{"side": t.single}))
	}
	return nil
}

// swerve is by how much a single run is off those of the other side as a whole, 0 where it is not.
func swerve(t trial, s, of *side) float64 {
	var moves []float64
	for _, subject := range s.subjects() {
		if subject.Scope != measure.ScopeKernel || math.Max(s.share(subject), of.share(subject)) < t.policy.Impact {
			continue
		}
		if by := math.Log(s.typical(subject, t.time.Name) / of.typical(subject, t.time.Name)); !math.IsNaN(by) && !math.IsInf(by, 0) {
			moves = append(moves, by)
		}
	}
	least := commonSize
	if len(t.shared) == 0 {
		least += 2 * t.policy.SessionSD // hosts differ as a whole, which the term between sessions holds
	}
	return asOne(moves, least)
}

// NotJudged reports whether a finding is a difference and no more, for the sides have too few runs to judge it.
func (f *Finding) NotJudged() bool { return f.ReasonKey == "not-judged" }
