package report

import (
	"cmp"
	"fmt"
	"math"
)

// overview is the table of both sides of a comparison without a verdict, empty if the report has findings to show.
func overview(v *view) *table {
	r := v.Report
	t := &table{Title: "Both sides, not judged", Columns: []column{{Title: "name", least: 20, Name: true}, {Title: "geometry", rank: 3, optional: true}, {Title: "metric"},
		{Title: "baseline → head", Right: true}, {Title: "change", rank: 1, Right: true, optional: true}}}
	if len(untold(v.of(failing, warned, open, increased)))+len(notable(untold(v.of(differing)))) > 0 {
		return t
	}
	base, head := unitOf(r.Base), unitOf(r.Head)
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
		t.add(Elide(cmp.Or(trimmed(x.Name), "workload"), 60), Clean(x.Geometry), metric(x.Metric), pair(x.Base, x.Head, x.Unit, 4), change)
	}
	if same > 0 {
		t.add(fmt.Sprintf("%d more", same), "", "", "", "under 1 %")
	}
	return t
}
