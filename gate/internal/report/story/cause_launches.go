package story

import (
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// foldLaunches makes one cause of three or more kernels that are launched more often, all by about the same factor, and
// take no longer a launch: more iterations, layers or batches are one change, not one of each kernel.
func foldLaunches(list []Cause) []Cause {
	const many, alike = 3, 0.1
	worst(list)
	at := slices.IndexFunc(list, func(c Cause) bool { return c.launched() > 0 })
	if at < 0 {
		return list
	}
	first := &list[at]
	same := func(c Cause) bool {
		return c.Class == first.Class && math.Abs(c.launched()/first.launched()-1) <= alike
	}
	var totals []Row
	cost := result.Number(0)
	for _, c := range list {
		if same(c) {
			totals, cost = append(totals, *Group(c.Rows).of(measure.Total.Name)), cost+c.Cost
		}
	}
	if len(totals) < many {
		return list
	}
	first.totals, first.Cost = totals, cost
	return fold(list, at, same)
}

// launched is the ratio of the launches of a kernel, head to base, where that explains its time, else 0.
func (c Cause) launched() float64 {
	g := Group(c.Rows)
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
func moreLaunches(c *Cause, per string) (why []string, short string) {
	sum := result.Finding{Unit: NS}
	for _, r := range c.totals {
		sum.Base += r.F.Base
		sum.Head += r.F.Head
	}
	n := Count(len(c.totals), "kernel")
	launches := Group(c.Rows).of(measure.Launches.Name)
	return []string{n + " are launched more often, each launch takes as long as before: " + Values(sum) + " a " + per +
		", " + Changed(sum.Head/sum.Base-1),
		"first " + Elide(c.Subject, 60) + ", " + launches.Metric + " " + launches.Values}, n + " launched more often"
}
