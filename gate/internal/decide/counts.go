package decide

import (
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/reason"
	"github.com/nsgate/nsgate/gate/internal/recorded"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/stats"
	"github.com/nsgate/nsgate/gate/measure"
)

// slight reports whether a pair costs too little to fail the gate: a count that no rule names, or copies whose change is too small a
// part of the step.
func (t comparison) slight(p pair) bool {
	switch {
	case t.named(p) || p.limit.Bounded():
		return false
	case p.metric.Informational():
		return true
	case p.metric.Name == measure.CopyTime.Name && p.compared():
		step := math.Max(t.base.Typical(measure.Workload, measure.StepTime.Name), t.head.Typical(measure.Workload, measure.StepTime.Name))
		return t.copyCost(p) < t.policy.Impact*step // false where the step is not known
	}
	return false
}

// copyCost is the change of the exposed time of copies in a step, in ns; of all their time where exposure is unknown.
func (t comparison) copyCost(p pair) float64 {
	if base, head := t.base.Exposed(p.subject), t.head.Exposed(p.subject); !math.IsNaN(base) && !math.IsNaN(head) {
		return math.Abs(head - base)
	}
	return math.Abs(recorded.Typical(p.head) - recorded.Typical(p.base))
}

// calls names the functions by which synchronising calls changed, and the range that they are made in.
func calls(t comparison) []result.Remark {
	typical := func(s *recorded.Index, subject measure.Subject) float64 {
		var values []float64
		for i, all := range s.Values(measure.Workload, measure.SyncCalls.Name) {
			of := s.Values(subject, measure.SyncCalls.Name)[i]
			for run, v := range all {
				switch {
				case math.IsNaN(v):
				case math.IsNaN(of[run]):
					values = append(values, 0) // the run has a list of calls, without this one
				default:
					values = append(values, of[run])
				}
			}
		}
		return stats.Median(values)
	}
	var out []result.Remark
	subjects := slices.Concat(t.base.Subjects(), t.head.Subjects())
	slices.SortStableFunc(subjects, measure.Subject.Compare)
	for _, s := range slices.Compact(subjects) {
		if s.Scope != measure.ScopeCall {
			continue
		}
		if b, h := typical(t.base, s), typical(t.head, s); b != h {
			role := ""
			if x := t.head.Find(s, measure.SyncCalls.Name); x != nil {
				role = x.Role
			}
			out = append(out, result.Say(reason.Calls{Call: s.Name, Base: result.Number(b), Head: result.Number(h), Range: role}))
		}
	}
	return out
}
