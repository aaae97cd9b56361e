package decide

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/explain/reason"
	"github.com/nsgate/nsgate/gate/internal/judge/recorded"
	"github.com/nsgate/nsgate/gate/internal/judge/terms"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// costShare is the part of a step or run that a pair has, the larger of base and head: a change of it times this part
// is the cost of the change.
func (t comparison) costShare(p pair) float64 {
	if p.Metric.Name != measure.CopyTime.Name {
		return t.share(p)
	}
	return math.Min(1, measure.Most([]*recorded.Index{t.Base, t.Head}, func(side *recorded.Index) float64 {
		of := side.Typical(measure.Workload, measure.StepTime.Name)
		if !(of > 0) {
			of = side.Whole + side.TypicalSum(side.Subjects(), measure.CopyTime.Name) // with copies and memsets
		}
		return side.Typical(p.Subject, p.Metric.Name) / of
	}))
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
	return t.Named(p.Pair) || p.Limit.Bounded() || t.Policy.Selects(p.Limit)
}

// leastCost is the least cost at which a slower pair fails the gate, 0 where a rule selects it.
func (t comparison) leastCost(p pair) float64 {
	return measure.Either(t.selected(p), 0, t.cost())
}

// cost is the part of a step or run that a slowdown has to add to fail the gate. Between hosts kernels differ by as
// much as a lowered cost.
func (t comparison) cost() float64 {
	return measure.Either(t.relation() >= terms.SameBoard, t.Policy.Cost, t.loweredCost())
}

// loweredCost is the cost that a threshold asks for: one below the default asks for smaller changes, and lowers the
// default cost in proportion.
func (t comparison) loweredCost() float64 {
	return measure.Either(t.Policy.Places["cost"] != "", t.Policy.Cost,
		math.Min(t.Policy.Cost, costPart*t.Policy.Threshold))
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

// excusedPart is a kernel that the policy allows more than its default.
type excusedPart struct {
	name, role string
	more       float64 // ns a step that it takes longer
}

// excuse takes parts that a rule excuses out of the GPU times that contain them: kernels that the policy ignores, warns
// of, or allows more than others. The step is never excused.
func excuse(t comparison, estimates []estimate, findings []result.Finding) {
	parts := excusedParts(t, estimates, findings)
	for i, e := range estimates {
		f := &findings[i]
		if len(parts) == 0 || f.Metric != measure.GPUTime.Name || !t.worsened(e.pair, f) ||
			f.Scope == measure.ScopeSection && e.Subject != measure.Warmup {
			continue
		}
		more, base := 0.0, float64(f.Base)
		if e.Subject == measure.Warmup { // steps as well
			base = t.Base.Typical(measure.Workload, measure.GPUTime.Name)
		}
		var names []string
		for _, p := range parts {
			if f.Scope != measure.ScopeRange || slices.Contains(strings.Split(p.role, "/"), f.Name) {
				more += p.more / base
				names = measure.Once(names, p.name)
			}
		}
		if rest := float64(f.Change) - more; more > 0 && rest <= float64(f.Limit) &&
			float64(f.Low)-more <= float64(f.Limit) {
			waive(f, reason.Excused{Names: names, Change: result.Number(rest)})
		}
	}
}

// excusedParts lists the excused kernels that got slower, are new or gone, and do not fail the gate by themselves. A
// limit or floor of a change allows no kernel that is compared with nothing.
func excusedParts(t comparison, estimates []estimate, findings []result.Finding) (parts []excusedPart) {
	failing := map[measure.Subject]bool{}
	for i, e := range estimates {
		f := &findings[i]
		uncompared := f.ReasonKey == reason.New.Key() && f.Severity == string(thresholds.Fail)
		failing[e.Subject] = failing[e.Subject] || f.Fails() || uncompared
	}
	total := func(side *recorded.Index, s measure.Subject) float64 {
		if !side.Has(s) {
			return 0
		}
		return side.Typical(s, t.Total.Name)
	}
	gone := slices.DeleteFunc(slices.Clone(t.Base.Subjects()), t.Head.Has)
	for _, s := range recorded.Kernels(slices.Concat(t.Head.Subjects(), gone)) {
		more := total(t.Head, s) - total(t.Base, s)
		if (more > 0 || !t.Head.Has(s)) && !failing[s] && t.excused(s) {
			parts = append(parts, excusedPart{s.Short(), cmp.Or(t.Head.Role(s), t.Base.Role(s)), more})
		}
	}
	return parts
}

// excused reports whether a rule that names some kernels allows one more than the default; a rule for all of them
// excuses nothing.
func (t comparison) excused(s measure.Subject) bool {
	return slices.ContainsFunc([]measure.Metric{t.Time, t.Total}, func(m measure.Metric) bool {
		l := t.Policy.Limit(s, m)
		loose := l.Severity != thresholds.Fail || l.Max > t.Policy.Threshold || l.Floor > 0
		return loose && slices.ContainsFunc(t.Policy.Rules, func(r thresholds.Rule) bool {
			return r.Where == l.Rule && strings.Trim(string(r.Kernel), "*?") != ""
		})
	})
}
