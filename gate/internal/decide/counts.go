package decide

import (
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/large"
	"github.com/nsgate/nsgate/gate/internal/recorded"
	"github.com/nsgate/nsgate/gate/internal/result"
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
		step := math.Max(recorded.Typical(t.base.Values(measure.Workload, measure.StepTime.Name)), recorded.Typical(t.head.Values(measure.Workload, measure.StepTime.Name)))
		return math.Abs(recorded.Typical(p.head)-recorded.Typical(p.base)) < t.policy.Impact*step // false where the step is not known
	}
	return false
}

// calls names the functions by which synchronising calls changed, and the range that they are made in.
func calls(t trial) []result.Remark {
	typical := func(s *recorded.Index, subject measure.Subject) float64 {
		var values []float64
		for i, all := range s.Values(measure.Workload, measure.SyncCalls.Name) {
			of := s.Values(subject, measure.SyncCalls.Name)[i]
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
	var out []result.Remark
	subjects := slices.Concat(t.base.Subjects(), t.head.Subjects())
	large.Sort(subjects, measure.Subject.Compare)
	for _, s := range slices.Compact(subjects) {
		if s.Scope != measure.ScopeCall {
			continue
		}
		if b, h := typical(t.base, s), typical(t.head, s); b != h {
			role := ""
			if x := t.head.Find(s, measure.SyncCalls.Name); x != nil {
				role = x.Role
			}
			out = append(out, result.NewRemark("calls", result.Args{"call": s.Name, "base": result.Number(b), "head": result.Number(h), "range": role}))
		}
	}
	return out
}

// regraphed lets the step decide where one side launches its kernels as CUDA graphs and the other one by one: the same kernels
// take other times inside a graph, and a graph has some more of them. That the step is no slower is what the change was for.
func regraphed(t trial, findings []result.Finding) {
	graphs := func(s *recorded.Index) string { return s.Sessions[len(s.Sessions)-1].GraphTrace }
	if graphs(t.base) == graphs(t.head) {
		return
	}
	kept := slices.ContainsFunc(findings, func(f result.Finding) bool {
		program := f.Scope == measure.ScopeOutput || f.Metric == measure.StepTime.Name && f.Scope == measure.ScopeWorkload && !t.outputs()
		return program && (f.Outcome == result.Unchanged || f.Outcome == result.Improved)
	})
	if !kept || slices.ContainsFunc(findings, func(f result.Finding) bool {
		return f.Scope == measure.ScopeOutput && f.Outcome != result.Unchanged && f.Outcome != result.Improved
	}) {
		return
	}
	for i := range findings {
		f := &findings[i]
		timed := f.Unit == measure.Time.Unit && f.Metric != measure.StepTime.Name && f.Scope != measure.ScopeOutput
		if f.Gates && timed && f.AtMost == nil && f.AtLeast == nil && (f.Outcome == result.Regressed || f.Outcome == result.Inconclusive) {
			f.Gates, f.Undecided, f.Doubted = false, false, false
			f.Also = append(f.Also, result.NewRemark("in-graphs", nil))
		}
	}
}
