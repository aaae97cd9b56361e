package decide

import (
	"math"

	"github.com/nsgate/nsgate/gate/internal/judge/recorded"
	"github.com/nsgate/nsgate/gate/internal/judge/stats"
	"github.com/nsgate/nsgate/gate/internal/measure"
)

// pool is the common noise of the estimates of one kind, whose variances are expected to be alike.
type pool struct {
	prior   stats.Variance    // of the variance between runs
	sides   [2]stats.Variance // of that of base and head alone
	unequal bool              // the sides differ in noise, see [stats.Unequal]
	// steady is true of counts with no difference between the runs of a side, exact if enough runs show that.
	steady, exact bool
	gaps          []float64 // between the two levels of each member that is bimodal, as log ratios
	changes       []float64 // of the members
	// few is true of a kind with too few members for a learnt variance: the prior only widens theirs.
	few bool
}

func (t comparison) times() string { return kindOf(measure.ScopeKernel, t.Time) }

// gpuTime is the kind of the GPU time of the workload.
var gpuTime = kindOf(measure.ScopeWorkload, measure.GPUTime)

// poolOf is the pool of a pair: that of its kind, and of the GPU time for the kernel that makes it up. Both are one
// time, which other kernels say nothing of.
func (t comparison) poolOf(pools map[string]pool, p pair) pool {
	if of, ok := pools[gpuTime]; ok && isKernelTime(p) && p.Subject == t.whole {
		return of
	}
	return pools[p.kind()]
}

func isKernelTime(p pair) bool {
	return p.Subject.Scope == measure.ScopeKernel &&
		(p.Metric.Name == measure.Time.Name || p.Metric.Name == measure.Total.Name)
}

// wholeKernel is the kernel that makes up the GPU time of both sides, but for less than a kernel that shows; the zero
// subject where there is none.
func wholeKernel(t comparison) measure.Subject {
	for _, s := range recorded.Kernels(t.Head.Subjects()) {
		if math.Min(t.Base.Share(s), t.Head.Share(s)) > 1-recorded.KernelShare {
			return s
		}
	}
	return measure.Subject{}
}

func poolUp(t comparison, estimates []estimate) map[string]pool {
	members := map[string][]*estimate{}
	for i := range estimates {
		if e := &estimates[i]; e.Compared() {
			members[e.kind()] = append(members[e.kind()], e)
		}
	}
	var times [][2]stats.Variance
	for _, e := range members[t.times()] {
		if len(members[t.times()]) >= stats.PoolLeast || !t.coarse(e.pair) {
			times = append(times, e.contrast.Sides)
		}
	}
	unequal := math.Abs(stats.Unequal(times)) > unequalFrom
	out := map[string]pool{}
	for kind, of := range members {
		p := newPool(t, of)
		p.unequal = unequal || of[0].Metric.Unprofiled() // there are too few to tell
		out[kind] = p
	}
	sums(t, out)
	return out
}

func newPool(t comparison, members []*estimate) pool {
	p := pool{steady: true, exact: true}
	var runs, base, head []stats.Variance
	for _, e := range members {
		if len(members) >= stats.PoolLeast || !t.coarse(e.pair) {
			runs = append(runs, e.contrast.Run)
			base, head = append(base, e.contrast.Sides[0]), append(head, e.contrast.Sides[1])
		}
		p.changes = append(p.changes, e.contrast.Estimate)
		p.steady = p.steady && e.Metric.Exact && e.contrast.Run.S2 == 0
		p.exact = p.exact && min(len(stats.Pooled(e.Base)), len(stats.Pooled(e.Head))) >= countedRuns
		samples := [2][][]float64{e.Base, e.Head}
		if e.Metric.Unprofiled() { // a level is no outlier here
			samples = e.shown
		}
		if gap := t.modesOf(e, samples).gap; gap > 0 {
			p.gaps = append(p.gaps, gap)
		}
	}
	p.exact = p.steady && (p.exact || t.Time == measure.ReplayTime)
	p.prior, p.sides = stats.Prior(runs), [2]stats.Variance{stats.Prior(base), stats.Prior(head)}
	switch {
	case members[0].Metric.Unprofiled() && (members[0].Subject.Scope != measure.ScopeBenchmark ||
		len(runs) < stats.PoolLeast):
		p.few = true
		p.prior, p.sides = outputPrior, [2]stats.Variance{outputPrior, outputPrior}
	case members[0].isStep():
		p.prior, p.sides = stepPrior, [2]stats.Variance{stepPrior, stepPrior}
	}
	return p
}

// sums makes the priors of sums over kernels as wide as that of the kernels asks for: were the kernels' runs
// independent, the variance of a sum would be that of a kernel times the sum of the squares of their shares.
func sums(t comparison, pools map[string]pool) {
	kernels := pools[t.times()]
	squares := measure.Sum(recorded.Kernels(t.Head.Subjects()), func(s measure.Subject) float64 {
		return math.Pow(t.Head.Share(s), 2)
	})
	for _, scope := range []measure.Scope{measure.ScopeWorkload, measure.ScopeRange, measure.ScopeDevice} {
		kind := kindOf(scope, measure.GPUTime)
		if p, ok := pools[kind]; ok {
			p.prior.S2 = math.Max(p.prior.S2, squares*kernels.prior.S2)
			for i := range p.sides {
				p.sides[i].S2 = math.Max(p.sides[i].S2, squares*kernels.sides[i].S2)
			}
			pools[kind] = p
		}
	}
}

// coarse reports whether the timer's tick dominates the noise of a time, which then says nothing about the few other
// kernels.
func (t comparison) coarse(p pair) bool {
	return p.Metric.Name == t.Time.Name && t.Tick > coarse*stats.Average(p.Base)
}

// levelReach is how many times the gap between the levels of one kernel the gap of another one may be.
const levelReach = 3

// bimodal is the part of the estimates whose levels lie far enough apart to explain a change of this size.
func (p pool) bimodal(size float64) float64 {
	far := 0
	for _, gap := range p.gaps {
		if gap*levelReach >= size {
			far++
		}
	}
	return float64(far) / float64(len(p.changes))
}

// outlierChance is the chance of a change without a cause: where some kernels of a pool are bimodal, a quiet one may
// be, too, with all runs of a side on one level.
func (p pool) outlierChance(e *estimate) float64 {
	part := p.bimodal(math.Abs(e.contrast.Estimate))
	if part == 0 || p.exact {
		return 0
	}
	return part * stats.Split(len(stats.Pooled(e.Base)), len(stats.Pooled(e.Head)))
}
