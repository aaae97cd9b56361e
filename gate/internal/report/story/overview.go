package story

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// Overview is the table of both sides of a comparison without a verdict, empty if the report has findings to show.
func Overview(v *Story) *Table {
	r := v.Report
	t := &Table{Title: "Both sides, not judged", Columns: []Column{{Title: "name", Least: 20, Name: true},
		{Title: "geometry", Rank: 3, Optional: true}, {Title: "metric"}, {Title: "baseline → head", Right: true},
		{Title: "change", Rank: 1, Right: true, Optional: true}}}
	if len(Untold(v.Of(Failing, Warned, Open, Increased)))+len(Notable(Untold(v.Of(Differing)))) > 0 {
		return t
	}
	base, head := UnitOf(r.Base), UnitOf(r.Head)
	t.Title += measure.Either(base != head, ": baseline per "+base+", head per "+head, "")
	const always = 8 // rows that are shown whatever changed
	same := 0
	for i, x := range r.Overview {
		change := ""
		if base == head && x.Base.Known() && x.Head.Known() && x.Base > 0 {
			by := x.Head/x.Base - 1
			change = by.Change()
			if i >= always && math.Abs(float64(by)) < 0.01 {
				same++
				continue
			}
		}
		t.Add(Elide(cmp.Or(Trimmed(x.Name), "workload"), 60), Clean(x.Geometry), Metric(x.Metric),
			pair(x.Base, x.Head, x.Unit, 4), change)
	}
	if same > 0 {
		t.Add(fmt.Sprintf("%d more", same), "", "", "", "under 1 %")
	}
	return t
}

// Unjudged prints the part of a run that no limit covers, "" for a small one.
func (v *Story) Unjudged() string {
	// unjudgedMost is the share of a run without a limit above which the first lines of a report name it.
	const unjudgedMost = 0.1
	if u := v.Report.Unjudged; u != nil && (u.WallShare > unjudgedMost || u.GPUShare > unjudgedMost) {
		return unjudged(u)
	}
	return ""
}

// unjudged prints the part of a run that no limit covers: "12.0 % of wall time (before 8.0 %, between 4.0 %), 0.40 % of
// GPU time".
func unjudged(u *result.Unjudged) string {
	if u == nil {
		return ""
	}
	var out []string
	for _, x := range []struct {
		of    string
		whole result.Number
		part  func(result.UnjudgedPart) result.Number
	}{
		{"wall time", u.WallShare, func(x result.UnjudgedPart) result.Number { return x.WallShare }},
		{"GPU time", u.GPUShare, func(x result.UnjudgedPart) result.Number { return x.GPUShare }},
	} {
		if !x.whole.Known() {
			continue
		}
		var parts []string
		for _, part := range u.Parts {
			if n := x.part(part); n > 0 {
				parts = append(parts, Trimmed(part.What)+NB+Share(n))
			}
		}
		out = append(out, Bind(Share(x.whole)+" of "+x.of)+Wrapped(" (", strings.Join(parts, ", "), ")"))
	}
	return strings.Join(out, ", ")
}

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
