package decide

import (
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/large"
	"github.com/nsgate/nsgate/gate/internal/stats"
	"github.com/nsgate/nsgate/gate/measure"
)

// slight reports whether a pair cannot fail the gate whatever comes of it, because of what it is worth: a count that no rule
// names, or a kind of copy of which the change is too small a part of the step.
func (t trial) slight(p pair) bool {
	switch {
	case t.named(p) || p.limit.Bounded():
		return false
	case p.metric.Informational():
		return true
	case p.metric.Name == measure.CopyTime.Name && p.compared():
		step := math.Max(typical(t.base.values(measure.Workload, measure.StepTime.Name)), typical(t.head.values(measure.Workload, measure.StepTime.Name)))
		return math.Abs(typical(p.head)-typical(p.base)) < t.policy.Impact*step // false where the step is not known
	}
	return false
}

// calls names the functions by which synchronising calls changed, and the range that they are made in.
func calls(t trial) []Remark {
	typical := func(s *side, subject measure.Subject) float64 {
		var values []float64
		for i, all := range s.values(measure.Workload, measure.SyncCalls.Name) {
			of := s.values(subject, measure.SyncCalls.Name)[i]
			for run, v := range all {
				switch {
				case math.IsNaN(v):
				case math.IsNaN(of[run]):
					values = append(values, 0) // the run knows its calls, and this is none of them
				default:
					values = append(values, of[run])
				}
			}
		}
		return stats.Median(values)
	}
	var out []Remark
	subjects := slices.Concat(t.base.subjects(), t.head.subjects())
	large.Sort(subjects, measure.Subject.Compare)
	for _, s := range slices.Compact(subjects) {
		if s.Scope != measure.ScopeCall {
			continue
		}
		if b, h := typical(t.base, s), typical(t.head, s); b != h {
			role := ""
			if x := t.head.find(s, measure.SyncCalls.Name); x != nil {
				role = x.Role
			}
			out = append(out, remark("calls", Args{"call": s.Name, "base": Number(b), "head": Number(h), "range": role}))
		}
	}
	return out
}

// regraphed lets the step decide where one side launches its kernels as CUDA graphs and the other one by one: the same kernels
// take other times inside a graph, and a graph has some more of them. That the step is no slower is what the change was for.
func regraphed(t trial, findings []Finding) {
	graphs := func(s *side) string { return s.sessions[len(s.sessions)-1].GraphTrace }
	if graphs(t.base) == graphs(t.head) {
		return
	}
	kept := slices.ContainsFunc(findings, func(f Finding) bool {
		program := f.Scope == measure.ScopeOutput || f.Metric == measure.StepTime.Name && f.Scope == measure.ScopeWorkload && !t.outputs()
		return program && (f.Outcome == Unchanged || f.Outcome == Improved)
	})
	if !kept || slices.ContainsFunc(findings, func(f Finding) bool {
		return f.Scope == measure.ScopeOutput && f.Outcome != Unchanged && f.Outcome != Improved
	}) {
		return
	}
	for i := range findings {
		f := &findings[i]
		timed := f.Unit == measure.Time.Unit && f.Metric != measure.StepTime.Name && f.Scope != measure.ScopeOutput
		if f.Gates && timed && f.AtMost == nil && f.AtLeast == nil && (f.Outcome == Regressed || f.Outcome == Inconclusive) {
			f.Gates, f.Undecided, f.Doubted = false, false, false
			f.Also = append(f.Also, remark("in-graphs", nil))
		}
	}
}
