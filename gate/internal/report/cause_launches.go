package report

import (
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/measure"
)

// foldLaunches makes one cause of three or more kernels that are launched more often, all by about the same factor, and take no
// longer a launch: more iterations, layers or batches are one change, not one of each kernel.
func foldLaunches(list []cause) []cause {
	const many, alike = 3, 0.1
	worst(list)
	at, factor := -1, 0.0
	same := make([]bool, len(list))
	for i := range list {
		f := list[i].launched()
		if at < 0 && f > 0 {
			at, factor = i, f
		}
		same[i] = at >= 0 && list[i].Class == list[at].Class && math.Abs(f/factor-1) <= alike
		if same[i] {
			list[at].oftener = append(list[at].oftener, *group(list[i].Rows).of(measure.Total.Name))
		}
	}
	if at < 0 || len(list[at].oftener) < many {
		for i := range list {
			list[i].oftener = nil
		}
		return list
	}
	for i := range list {
		if i != at && same[i] {
			list[at].Cost += list[i].Cost
			list[at].Rows = append(list[at].Rows, list[i].Rows...)
			list[i].Rows = nil
		}
	}
	return slices.DeleteFunc(list, func(c cause) bool { return len(c.Rows) == 0 })
}

// launched is the factor by which a kernel is launched more often where that explains its time, else 0.
func (c *cause) launched() float64 {
	g := group(c.Rows)
	total, launches := g.of(measure.Total.Name), g.of(measure.Launches.Name)
	if g[0].F.Scope != measure.ScopeKernel || total == nil || launches == nil || len(total.Parts) > 0 {
		return 0
	}
	const alike = 0.03
	factor := float64(launches.F.Head / launches.F.Base)
	if !(factor > 1) || math.Abs(float64(total.F.Head/total.F.Base)/factor-1) > alike {
		return 0
	}
	return factor
}

// moreLaunches is the text of a cause of [foldLaunches].
func moreLaunches(c *cause, per string) (why []string, short string) {
	sum := result.Finding{Unit: ns}
	for _, r := range c.oftener {
		sum.Base += r.F.Base
		sum.Head += r.F.Head
	}
	n := count(len(c.oftener), "kernel")
	launches := group(c.Rows).of(measure.Launches.Name)
	return []string{n + " run more often, each launch as long as before: " + values(sum) + " a " + per + ", " + changed(sum.Head/sum.Base-1),
		"first " + Elide(c.Subject, 60) + ", " + launches.Metric + " " + launches.Values}, n + " run more often"
}
