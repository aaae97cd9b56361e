package story

import (
	"cmp"
	"fmt"
	"math"
	"strings"

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
	if base != head {
		t.Title += ": baseline per " + base + ", head per " + head
	}
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

// unjudgedMost is the share of a run without a limit above which the first lines of a report name it.
const unjudgedMost = 0.1

// Unjudged prints the part of a run that no limit covers, "" for a small one.
func (v *Story) Unjudged() string {
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
