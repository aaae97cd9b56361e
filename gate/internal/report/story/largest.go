package story

import (
	"math"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// Largest is the largest certain change of a gate that passes, as a part of its limit or floor: "saxpy 84.55 → 86.21
// µs +2.0 % (limit 3 %)"; "" where the headline or what got faster says it, or nothing changed for certain.
func (v *Story) Largest() string {
	if v.Report.Verdict != result.Pass || !(v.Report.Alpha > 0) || len(v.Gains) > 0 {
		return ""
	}
	var most *Row
	used := 0.0
	for i := range v.Rows {
		r := &v.Rows[i]
		if part := r.used(); r.F.Outcome.Kept() && !r.Told && r.F.P < v.Report.Alpha && part > used {
			most, used = r, part
		}
	}
	if most == nil || v.effect != nil && v.effect.At == most.At {
		return ""
	}
	bound := Join(", ", limits(most.F, "limit ", "at least ", "at most ")...)
	if most.F.Outcome == result.BelowFloor {
		bound = Join(", ", bound, "floor "+Quantity(most.F.Floor, most.F.Unit))
	}
	return Bind(Elide(most.effectName(), 40)) + " " + most.Values + NB + " " + roughly(most.F.Change) +
		Wrapped(" (", bound, ")")
}

// used is how much of its limit or floor a change takes, 0 where it has none.
func (r *Row) used() float64 {
	f := r.F
	allowed := float64(f.Limit)
	if f.Base > 0 {
		allowed = math.Max(allowed, float64(f.Floor/f.Base))
	}
	if m, ok := measure.MetricByName(f.Metric); ok && m.Exact || !f.Change.Known() || !(allowed > 0) {
		return 0
	}
	return math.Abs(float64(f.Change)) / allowed
}
