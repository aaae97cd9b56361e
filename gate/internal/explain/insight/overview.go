package insight

import (
	"cmp"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/judge/decide"
	"github.com/nsgate/nsgate/gate/internal/judge/recorded"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
)

const mostOverview = 20

// overview gives the numbers of a comparison without a verdict.
func overview(d *decide.Decision, x *result.Report) {
	base := d.Base
	if d.Stage < decide.Compared {
		base = d.Baseline
	}
	if d.Verdict == result.NoVerdict {
		x.Overview = overviewOf(base, d.Head)
	}
}

// overviewOf gives the typical numbers of both sides of a comparison without a verdict: step, GPU time, launches and
// outputs, then the kernels with the most time on either side.
func overviewOf(base, head []model.Session) []result.OverviewRow {
	_, total := recorded.Times(head)
	if _, own := recorded.Times(base); own == measure.ReplayTime { // sides of two profilers
		total = own
	}
	b, h := recorded.New(base, total), recorded.New(head, total)
	row := func(s measure.Subject, m measure.Metric) result.OverviewRow {
		return result.OverviewRow{Name: s.Short(), Geometry: s.Geometry(), Metric: m.Name, Unit: m.Unit,
			Base: result.Number(b.Typical(s, m.Name)), Head: result.Number(h.Typical(s, m.Name))}
	}
	var rows, kernels []result.OverviewRow
	for _, m := range []measure.Metric{measure.StepTime, measure.GPUTime, measure.Launches} {
		rows = append(rows, row(measure.Workload, m))
	}
	subjects := slices.Concat(b.Subjects(), h.Subjects())
	slices.SortFunc(subjects, measure.Subject.Compare)
	for _, s := range slices.Compact(subjects) {
		switch s.Scope {
		case measure.ScopeOutput:
			rows = append(rows, row(s, measure.Rate), row(s, measure.Cost))
		case measure.ScopeKernel:
			kernels = append(kernels, row(s, total))
		}
	}
	most := func(r result.OverviewRow) result.Number { return max(r.Base.Or(0), r.Head.Or(0)) }
	measure.Sort(kernels, func(a, b result.OverviewRow) int { return cmp.Compare(most(b), most(a)) })
	rows = append(rows, kernels[:min(len(kernels), mostOverview)]...)
	return slices.DeleteFunc(rows, func(r result.OverviewRow) bool { return most(r) == 0 })
}
