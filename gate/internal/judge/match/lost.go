package match

import (
	"cmp"
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/explain/reason"
	"github.com/nsgate/nsgate/gate/internal/judge/recorded"
	"github.com/nsgate/nsgate/gate/internal/judge/stats"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// losses is the launches of one side that have no record, beyond those of the other side: how many in a step (or
// run), and the largest part of the GPU time that they can have taken by the times of the other side.
type losses struct {
	side            string
	launches, share float64
	rows            bool // the numbers of their calls are missing in a table
}

// lost weighs the launches without a record of the side that misses more GPU time by them, zero for none.
func (m Matching) lost() (worst losses) {
	names := [2]string{"baseline", "head"}
	for i, side := range []*recorded.Index{m.Base, m.Head} {
		other := []*recorded.Index{m.Head, m.Base}[i]
		for _, metric := range []measure.Metric{measure.LostLaunches, measure.SilentCalls} {
			rows := metric == measure.SilentCalls
			launches := perRun(side, metric.Name, measure.Workload) - perRun(other, metric.Name, measure.Workload)
			if launches <= 0 || !(other.Whole > 0) || rows &&
				!(side.HasMetric(measure.Workload, metric.Name) && other.HasMetric(measure.Workload, metric.Name)) {
				continue
			}
			found, ns := m.weigh(i, launches, rows)
			if share := math.Min(1, ns/other.Whole); share > worst.share {
				worst = losses{names[i], found, share, rows}
			}
		}
	}
	return worst
}

// hiding reports whether they took more of the GPU time than it may grow by, so that a regression may be among them.
func (m Matching) hiding() bool {
	limit := m.Policy.Limit(measure.Workload, measure.GPUTime).Max
	if math.IsInf(limit, 1) {
		limit = m.Policy.Threshold
	}
	return m.lost().share > limit
}

// weigh is the largest GPU time in ns of so many launches of a side, and how many there are: those of kernels that
// the other side launches more often take the time that they take there, the longest first. Any further ones take
// that of a mean launch, or are none where the calls may have asked the GPU for nothing.
func (m Matching) weigh(side int, calls float64, silent bool) (launches, ns float64) {
	launches = calls
	type kernel struct{ missing, time float64 }
	var kernels []kernel
	sides := [2]*recorded.Index{m.Base, m.Head}
	of, other := sides[side], sides[1-side]
	seen := map[measure.Subject]bool{}
	add := func(there, here []measure.Subject) {
		there = slices.DeleteFunc(slices.Clone(there), func(s measure.Subject) bool { return seen[s] })
		if len(there) == 0 {
			return
		}
		for _, s := range there {
			seen[s] = true
		}
		total, all := perRun(other, measure.Total.Name, there...), perRun(other, measure.Launches.Name, there...)
		if missing := all - perRun(of, measure.Launches.Name, here...); missing > 0 {
			kernels = append(kernels, kernel{missing, total / all})
		}
	}
	for _, p := range m.Pairs { // kernels that took one another's place, then single ones
		if len(p.summed[0]) > 0 {
			add(p.summed[1-side], p.summed[side])
		}
	}
	for _, s := range recorded.Kernels(other.Subjects()) {
		add([]measure.Subject{s}, []measure.Subject{s})
	}
	slices.SortFunc(kernels, func(a, b kernel) int { return cmp.Compare(b.time, a.time) })
	for _, k := range kernels {
		some := math.Min(launches, k.missing)
		ns, launches = ns+some*k.time, launches-some
	}
	if all := perRun(of, measure.Launches.Name, measure.Workload); all > 0 && !silent {
		return calls, ns + launches*of.Whole/all
	}
	return calls - launches, ns
}

// perRun is the sum of a metric of subjects in a mean profiled run. A run without it has none.
func perRun(side *recorded.Index, metric string, subjects ...measure.Subject) (sum float64) {
	for _, s := range subjects {
		for _, v := range stats.Pooled(side.Values(s, metric)) {
			sum += v
		}
	}
	return sum / float64(max(side.ProfiledRuns(), 1))
}

// LostRemarks names the part of the GPU time that is missing and too small to hide a regression.
func (m Matching) LostRemarks() []result.Remark {
	x := m.lost()
	return result.SayIf(x.share > 0, reason.LostLaunches{Side: x.side, Launches: result.Number(x.launches),
		Share: result.Number(x.share), Rows: x.rows})
}
