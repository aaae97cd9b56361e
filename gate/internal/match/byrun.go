package match

import (
	"slices"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/reason"
	"github.com/nsgate/nsgate/gate/internal/recorded"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// lostStep is the side without a step where the other one has one, as a solver has with a tolerance that makes it choose
// its steps; else "".
func (t Sides) lostStep() string {
	hasStep := func(x *recorded.Index) bool { return x.HasMetric(measure.Workload, measure.StepTime.Name) }
	lacks := func(x *recorded.Index) bool { return !hasStep(x) && x.Has(measure.Steps) }
	switch {
	case hasStep(t.Base) && lacks(t.Head):
		return "head"
	case hasStep(t.Head) && lacks(t.Base):
		return "baseline"
	}
	return ""
}

// byRun reports whether both sides know the GPU time and the run time of a whole run.
func (t Sides) byRun() bool {
	return !slices.ContainsFunc([]*recorded.Index{t.Base, t.Head}, func(x *recorded.Index) bool {
		return !(x.Typical(measure.Workload, measure.RunTime.Name) > 0) || !(x.WholeRun(measure.GPUTime) > 0)
	})
}

// OneStep says that only one side has a step, so that whole runs are judged; nil where that is not so.
func (t Sides) OneStep() *result.Remark {
	if without := t.lostStep(); without != "" && t.byRun() {
		return new(result.Say(reason.OneStep{Without: without}))
	}
	return nil
}

// ofRuns keeps of the pairs of sides of which one has a step those of whole runs. Steps leave out the start-up, so that
// kernels, copies and sections are not alike; their bounds are.
func (t Sides) ofRuns(pairs []Pair) []Pair {
	for i := range pairs {
		if p := &pairs[i]; p.Subject == measure.Workload && p.Metric == measure.GPUTime {
			p.Base, p.Head = t.Base.Sum(measure.Sections, p.Metric.Name), t.Head.Sum(measure.Sections, p.Metric.Name)
		}
	}
	return slices.DeleteFunc(pairs, func(p Pair) bool {
		run := p.Subject == measure.Workload && (p.Metric == measure.GPUTime || p.Metric == measure.RunTime)
		other := p.Subject.Scope == measure.ScopeOutput || p.Subject.Scope == measure.ScopeBenchmark
		return !run && !other && !p.Metric.Unprofiled() && !p.Limit.Bounded()
	})
}
