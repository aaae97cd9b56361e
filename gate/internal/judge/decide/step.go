package decide

import (
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/judge/recorded"
	"github.com/nsgate/nsgate/gate/internal/judge/stats"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/reduce/attribution"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// stepPrior is the variance between runs that is expected of a step.
var stepPrior = stats.Variance{S2: stats.StepRunSD * stats.StepRunSD, DF: stats.RunPrior.DF}

// delayChance is the chance that so many outlier runs in the head and so few in the baseline make the change, where a
// run of either has the same chance of it, times that of the head's to agree as they do, where each met its own delay
// of at most the change and one in five need not agree.
func (t comparison) delayChance(e *estimate) float64 {
	base, head := stats.Pooled(e.shown[0]), stats.Pooled(e.shown[1])
	change := math.Max(math.Abs(e.contrast.Estimate), e.working(e.Limit.Max))
	if t.single != "" && !slices.ContainsFunc(e.outliers, func(by float64) bool { return 2*by >= change }) {
		return 0 // no run is such an outlier; for a single run see [comparison.outlierChance]
	}
	slow, beyond := e.slower()
	slices.Sort(head)
	most := len(head) - len(head)/fewRuns
	width := math.Inf(1)
	for i := range head[most-1:] {
		width = math.Min(width, math.Log(head[i+most-1]/head[i]))
	}
	e.slowRuns = slow
	return stats.Apart(slow, len(head), beyond, len(base)) * stats.Within(most, len(head), width/change)
}

// slower counts the runs of the head that lie beyond the limit and the base, all of them where the head as a whole does
// not, and those of the base that may be outliers as well.
func (e *estimate) slower() (slow, beyond int) {
	base, limit := stats.Pooled(e.shown[0]), e.working(e.Limit.Max)
	change, sign := math.Abs(e.contrast.Estimate), math.Copysign(1, e.contrast.Estimate)
	slow = len(stats.Pooled(e.shown[1])) // all runs, for the smallest change that can be found
	if e.natural(change) > e.Limit.Max {
		seen := *e
		seen.Head = e.shown[1] // a run that is no slower is none of them, however far it was moved to the others
		slow = len(beyondBase(seen, e.Limit.Max, sign, 0))
	}
	middle := stats.Median(stats.Pooled(e.Base))
	return slow, measure.HowMany(base, func(v float64) bool {
		return sign*math.Log(v/middle) >= math.Min(math.Max(change, limit)/2, limit)
	})
}

// settledBy is how many runs a side tell a step that changed from outlier runs, if as many of them as now are slow;
// more than most where not even that many do.
func (e *estimate) settledBy(most int) int {
	slow, beyond := e.slower()
	part := func(some int, of [][]float64, n int) int {
		return int(math.Round(float64(some*n) / float64(len(stats.Pooled(of)))))
	}
	n := runs(e.Base, e.Head) + 1
	for n <= most && stats.Apart(part(slow, e.shown[1], n), n, part(beyond, e.shown[0], n), n) > delaysMost {
		n++
	}
	return n
}

// launchRate reports whether the cycles of both sides, which were found by kernels, are short enough to be as long as
// the CPU takes to launch them.
func (t comparison) launchRate() bool {
	short := func(side *recorded.Index) bool {
		return side.HasMetric(measure.Workload, measure.Repeats.Name) &&
			side.Typical(measure.Workload, measure.StepTime.Name) < measure.SmallKernel
	}
	return short(t.Base) && short(t.Head)
}

// neighbour reports whether another program on the GPU, or something outside of the recording, may have made a step
// longer. Most of the change is then waiting of issued operations while the program ran nothing else, in the typical
// step as well. Equal stalls in all runs are the program's own.
func (t comparison) neighbour(m measure.Metric, change float64) bool {
	w, step := t.waterfall, measure.StepTime.Name
	if w == nil || m != measure.StepTime && m != measure.MeanStep {
		return false
	}
	i := slices.IndexFunc(w.Parts, func(p result.WaterfallPart) bool { return p.Class == attribution.Stalled.String() })
	return i >= 0 && 2*w.Parts[i].Change > w.Change && (m == measure.StepTime ||
		2*(t.Head.Typical(measure.Workload, step)/t.Base.Typical(measure.Workload, step)-1) > change)
}

// outputPrior is the variance between runs that is expected of an output.
var outputPrior = stats.Variance{S2: outputSD * outputSD, DF: stats.RunPrior.DF}

// outputs reports whether unprofiled runs say how fast both sides are, by a time or rate whose change can fail the
// gate: then they decide, and the profiled step explains.
func (t comparison) outputs() bool {
	for _, s := range t.Head.Subjects() {
		for _, m := range []measure.Metric{measure.Rate, measure.Cost} {
			l := t.Policy.Limit(s, m)
			fails := l.Severity == thresholds.Fail && !math.IsInf(l.Max, 1)
			base, head := stats.Pooled(t.Base.Values(s, m.Name)), stats.Pooled(t.Head.Values(s, m.Name))
			if _, few := singleSide(len(base), len(head)); few == nil && fails && t.Head.HasMetric(s, m.Name) &&
				t.Base.HasMetric(s, m.Name) && t.Policy.OutputKind(s.Name, m) != measure.OfOther {
				return true
			}
		}
	}
	return false
}
