package match

import (
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/explain/reason"
	"github.com/nsgate/nsgate/gate/internal/judge/align"
	"github.com/nsgate/nsgate/gate/internal/judge/recorded"
	"github.com/nsgate/nsgate/gate/internal/judge/stats"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// Sides are the baseline and the head under a policy.
type Sides struct {
	Policy *thresholds.Resolved
	// Time is how long one launch takes by the profiler of both sides, Total what a kernel costs: by a counter, which
	// profiles a few launches of each kernel, both are the duration of a launch.
	Time, Total measure.Metric
	Base, Head  *recorded.Index
	operations  map[string]bool // short names of kernels that are the same operation on both sides
	known       map[string]bool // those of the head's whose operation is known, as those of the baseline are
	Tick        float64         // of the timer in ns, the finest of all sessions: a coarser one would hide changes
}

// NewSides indexes the sessions of both sides, oldest first.
func NewSides(base, head []model.Session, policy *thresholds.Resolved) Sides {
	t := Sides{Policy: policy}
	t.Time, t.Total = recorded.Times(head)
	t.Base, t.Head = recorded.New(base, t.Total), recorded.New(head, t.Total)
	t.operations, t.known = operations(base, head)
	t.Tick = recorded.FinestTick(slices.Concat(base, head))
	return t
}

// Pair is one metric of one subject as both sides have it, or as one side has it.
type Pair struct {
	Subject    measure.Subject
	Metric     measure.Metric
	Match      string      // "exact", or the level of [Pairs]
	Base, Head [][]float64 // samples by session and run
	Limit      thresholds.Limit
	Listed     result.Outcome // Added or Removed, where there is nothing to compare
	Because    result.Remark  // of that outcome
	OneSided   bool           // one side does not have the metric: only the bounds of its value can be judged
	BaseNames  []string
	HeadNames  []string             // where they are several
	summed     [2][]measure.Subject // the kernels of base and head whose times are summed
	Facts      []result.Remark
}

// Compared reports whether both sides have something to compare.
func (p *Pair) Compared() bool { return p.Listed == "" && !p.OneSided }

// Exchanged are the kernels of both sides that exchange launches, if a pair is their sum.
func (p *Pair) Exchanged() []measure.Subject {
	if p.Match != "choice" {
		return nil
	}
	return slices.Concat(p.summed[0], p.summed[1])
}

// Named reports whether the rule that limits a metric names it in full.
func (t Sides) Named(p Pair) bool {
	return slices.ContainsFunc(t.Policy.Rules, func(r thresholds.Rule) bool {
		return r.Where == p.Limit.Rule && r.Metric != "" && p.Metric.Is(string(r.Metric))
	})
}

// OtherCycle says that the sides repeat different cycles, nil where that is not so or not known: with a kernel that
// runs once every ten steps a cycle may be ten of them.
func (t Sides) OtherCycle() *result.Remark {
	for _, s := range t.Head.Subjects() { // the same loop has the same cycle, however often it is repeated
		if s.IsLoop() && t.Head.Note(s, measure.Repeats.Name) != "" && t.Base.Note(s, measure.Repeats.Name) != "" {
			return nil
		}
	}
	if base, head, differ := t.repeats(); differ {
		return new(result.Say(reason.OtherCycle{Base: base, Head: head}))
	}
	return nil
}

// OtherRepeats says that the sides repeat a cycle in other numbers, nil where that is not so.
func (t Sides) OtherRepeats() *result.Remark {
	if base, head, differ := t.repeats(); differ {
		return new(result.Say(reason.OtherRepeats{Base: base, Head: head}))
	}
	return nil
}

// repeats are the first numbers of repeats of a run of the baseline and of the head that differ.
func (t Sides) repeats() (base, head result.Number, differ bool) {
	for _, b := range stats.Pooled(t.Base.Values(measure.Workload, measure.Repeats.Name)) {
		for _, h := range stats.Pooled(t.Head.Values(measure.Workload, measure.Repeats.Name)) {
			if math.Abs(b-h) > math.Max(1, align.CycleSlack*b) {
				return result.Number(b), result.Number(h), true
			}
		}
	}
	return 0, 0, false
}

// replacedStep reports whether a metric of the step is not judged: the period of cycles that are not the same, and
// the time of a whole run where a period is.
func (t Sides) replacedStep(m measure.Metric) bool {
	judged := t.Base.HasMetric(measure.Workload, measure.MeanStep.Name) &&
		t.Head.HasMetric(measure.Workload, measure.MeanStep.Name)
	return measure.Either(m == measure.RunTime, judged && t.OtherCycle() == nil, m.OnHost() && t.OtherCycle() != nil)
}

// Counted reports whether a metric is how often something is done that has a total time as well.
func Counted(m measure.Metric) bool { return m == measure.Launches || m == measure.Copies }

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
