package decide

import (
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/judge/recorded"
	"github.com/nsgate/nsgate/gate/internal/judge/terms"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/thresholds"
)

// costShare is the part of a step or run that a pair has, the larger of base and head: a change of it times this part
// is the cost of the change.
func (t comparison) costShare(p pair) float64 {
	if p.Metric.Name != measure.CopyTime.Name {
		return t.share(p)
	}
	most := 0.0
	for _, side := range []*recorded.Index{t.Base, t.Head} {
		part, of := side.Typical(p.Subject, p.Metric.Name), side.Typical(measure.Workload, measure.StepTime.Name)
		if !(of > 0) {
			of = side.Whole + copies(side)
		}
		if share := part / of; share > most {
			most = share
		}
	}
	return math.Min(most, 1)
}

// copies is the time of all copies and memsets of a typical run.
func copies(side *recorded.Index) (all float64) {
	for _, s := range side.Subjects() {
		if s.Scope == measure.ScopeWorkload && side.HasMetric(s, measure.CopyTime.Name) {
			all += side.Typical(s, measure.CopyTime.Name)
		}
	}
	return all
}

// exposedChange is the change of the copies that no kernel hides, as a part of a step; where that is not known, what
// the step got longer by, which is the most that they cost. NaN where there is no step.
func (t comparison) exposedChange(p pair) float64 {
	if p.Metric.Name != measure.CopyTime.Name {
		return math.NaN()
	}
	longer := func(m measure.Metric) float64 {
		return t.Head.Typical(measure.Workload, m.Name) - t.Base.Typical(measure.Workload, m.Name)
	}
	period := measure.StepTime.Name
	step := math.Max(t.Base.Typical(measure.Workload, period), t.Head.Typical(measure.Workload, period))
	exposed := math.Abs(t.Head.Exposed(p.Subject) - t.Base.Exposed(p.Subject))
	if math.IsNaN(exposed) {
		exposed = max(longer(measure.StepTime), longer(measure.MeanStep), 0)
	}
	return exposed / step
}

// selected reports whether a rule names a pair, by its metric in full or by its subject, or bounds its value.
func (t comparison) selected(p pair) bool {
	selects := func(r thresholds.Rule) bool {
		return r.Where == p.Limit.Rule && r.Kernel+r.Range+r.Device+r.Copy+r.Output+r.Benchmark+r.Section != ""
	}
	return t.Named(p.Pair) || p.Limit.Bounded() || slices.ContainsFunc(t.Policy.Rules, selects)
}

// leastCost is the least cost at which a slower pair fails the gate, 0 where a rule selects it.
func (t comparison) leastCost(p pair) float64 {
	if t.selected(p) {
		return 0
	}
	return t.cost()
}

// cost is the part of a step or run that a slowdown has to add to fail the gate. Between hosts kernels differ by as
// much as a lowered cost.
func (t comparison) cost() float64 {
	if t.relation() >= terms.SameBoard {
		return t.Policy.Cost
	}
	return t.loweredCost()
}

// loweredCost is the cost that a threshold asks for: one below the default asks for smaller changes, and lowers the
// default cost in proportion.
func (t comparison) loweredCost() float64 {
	if t.Policy.Places["cost"] != "" {
		return t.Policy.Cost
	}
	return math.Min(t.Policy.Cost, costPart*t.Policy.Threshold)
}

// openCost is the least cost at which a slower pair is in doubt: where several hosts of one board show how far they
// differ, a change that would fail on one of them is named.
func (t comparison) openCost(p pair) float64 {
	least := t.leastCost(p)
	if t.relation() == terms.SameBoard && t.showsSessions() {
		least = math.Min(least, t.loweredCost())
	}
	return least
}
