package match

import (
	"github.com/nsgate/nsgate/gate/internal/explain/reason"
	"github.com/nsgate/nsgate/gate/internal/judge/recorded"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// lostStep is the side without a step where the other one has one, as a solver has with a tolerance that makes it
// choose its steps; else "".
func (t Sides) lostStep() string {
	step := measure.StepTime.Name
	base, head := t.Base.HasMetric(measure.Workload, step), t.Head.HasMetric(measure.Workload, step)
	switch {
	case base && !head && t.Head.Has(measure.Steps):
		return "head"
	case head && !base && t.Base.Has(measure.Steps):
		return "baseline"
	}
	return ""
}

// OneStep says that only one side has a step, so that whole runs are judged; nil where that is not so, or where a
// side does not know the times of whole runs.
func (t Sides) OneStep() []result.Remark {
	without := t.lostStep()
	for _, x := range []*recorded.Index{t.Base, t.Head} {
		if !(x.Typical(measure.Workload, measure.RunTime.Name) > 0 && x.WholeRun(measure.GPUTime) > 0) {
			without = ""
		}
	}
	return result.SayIf(without != "", reason.OneStep{Without: without})
}

// ofRuns keeps of the pairs of sides of which one has a step those of whole runs, and names the rules that limit only
// others. Steps leave out the start-up, so that kernels, copies and sections are not alike; their bounds are.
func (t Sides) ofRuns(pairs []Pair) (kept []Pair, rules []string) {
	judged := map[string]bool{} // by rule
	for _, p := range pairs {
		run := p.Subject == measure.Workload && (p.Metric == measure.GPUTime || p.Metric == measure.RunTime)
		other := p.Subject.Scope == measure.ScopeOutput || p.Subject.Scope == measure.ScopeBenchmark
		if p.Subject == measure.Workload && p.Metric == measure.GPUTime {
			p.Base, p.Head = t.Base.Sum(measure.Sections, p.Metric.Name), t.Head.Sum(measure.Sections, p.Metric.Name)
		}
		keep := run || other || p.Metric.Unprofiled() || p.Limit.Bounded()
		if keep {
			kept = append(kept, p)
		}
		judged[p.Limit.Rule] = judged[p.Limit.Rule] || keep
	}
	for i := range t.Policy.Rules {
		r := &t.Policy.Rules[i]
		of, any := judged[r.Where]
		m, _ := r.InFull()
		if any && !of || !any && m.OnHost() && !r.Bounds() && r.Severity != thresholds.Ignore {
			rules = append(rules, r.Where)
		}
	}
	return kept, rules
}
