package decide

import (
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/judge/match"
	"github.com/nsgate/nsgate/gate/internal/judge/recorded"
	"github.com/nsgate/nsgate/gate/internal/judge/stats"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// pair is one metric of one subject with the samples that are judged, NaN for runs that are left out.
type pair struct {
	match.Pair
	shown [2][][]float64 // samples of base and head with those
	// of a step's period, by how much samples are far from the others of their side, on the log scale
	outliers []float64
	// runs of the head whose samples are moved to the edge of the others, counted over all sessions
	movedRuns []int
}

// kindOf names the pairs whose variances are expected to be alike.
func kindOf(s measure.Scope, m measure.Metric) string { return string(s) + " " + m.Name }

func (p *pair) kind() string { return kindOf(p.Subject.Scope, p.Metric) }

// winsoriseStep is a pair whose sides are both winsorised, see [stats.Winsorised].
func winsoriseStep(p pair) pair {
	spare := measure.Either(p.Metric.Unprofiled(), runs(p.Base, p.Head)/fewRuns, 0) // zeros are outliers as well
	if hasZero(p.Base, spare) || hasZero(p.Head, spare) {
		return p
	}
	base, far := stats.Winsorised(p.Base)
	head, farHead := stats.Winsorised(p.Head)
	if p.Metric.Unprofiled() {
		base, head = offLevel(p.Base, base, p.Head), offLevel(p.Head, head, p.Base)
	}
	p.movedRuns = differing(p.Head, head)
	p.Base, p.Head, p.outliers = base, head, slices.Concat(p.outliers, far, farHead)
	return p
}

// offLevel are the winsorised runs of a side. Of more than one in five those on the level of the other side are no
// outliers, but in a mode that its runs have as well, and stay as they are.
func offLevel(side, winsorised, other [][]float64) [][]float64 {
	if len(differing(side, winsorised)) <= max(1, len(stats.Pooled(side))/fewRuns) {
		return winsorised
	}
	level := math.Log(stats.Median(stats.Pooled(other)))
	for i, runs := range side {
		middle := math.Log(stats.Median(stats.Known(runs)))
		for run, v := range runs {
			if onLevel(math.Log(v)-middle, []float64{level - middle}) {
				winsorised[i][run] = v
			}
		}
	}
	return winsorised
}

// differing lists the runs, over all sessions, whose known samples differ.
func differing(before, after [][]float64) (runs []int) {
	x, y := slices.Concat(before...), slices.Concat(after...)
	for run := range x {
		if x[run] != y[run] && !math.IsNaN(x[run]) {
			runs = append(runs, run)
		}
	}
	return runs
}

// dependsOnHost reports whether a metric depends on the CPU of the host.
func (p *pair) dependsOnHost() bool {
	return p.Metric.OnHost() || p.Metric.Unprofiled() && !p.Metric.OnGPU()
}

// estimate is the change from baseline to head of one pair, with its variance.
type estimate struct {
	pair
	small      bool // a kernel below [recorded.KernelShare]
	winsorised bool // outlier runs were moved to the others
	relative   bool // on the log scale; else relative to the base's mean, because a value is zero
	contrast   stats.Contrast
	modes      modes          // of its runs, see [comparison.counted]
	pool       pool           // of the estimates of its kind
	run        stats.Variance // moderated variance between runs
	session    stats.Variance // moderated variance between sessions
	// relative change up to which a difference between hosts explains it, see [spreads.hostEffect]
	hostEffect    float64
	variance      stats.Variance // of contrast.Estimate
	outlierChance float64        // chance of such a change from outlier runs alone, which the variance does not hold
	delays        float64        // chance of such a step from delays of the CPU
	slowRuns      int            // runs of the head that delays may have made slower
}

// with is the variance of the change: the weighted sum of the variances between runs and between sessions.
func (e *estimate) with(weights []float64, runs ...stats.Variance) stats.Variance {
	if e.contrast.SessionWeight > 0 {
		weights, runs = append(weights, e.contrast.SessionWeight), append(runs, e.session)
	}
	return stats.Satterthwaite(weights, runs)
}

// judgedBase is the value of the baseline that the change is relative to: the weighted geometric mean of the runs that
// are judged, the arithmetic mean where a value is zero.
func (e *estimate) judgedBase() float64 {
	values := stats.Pooled(e.Base)
	if slices.Min(values) == slices.Max(values) {
		return values[0]
	}
	if !e.relative {
		return stats.Average(e.Base)
	}
	return math.Exp(e.contrast.Means[0])
}

// natural turns an estimate on the working scale into a relative change. Nothing is measured below zero.
func (e *estimate) natural(x float64) float64 {
	return measure.Either(e.relative, math.Expm1(x), math.Max(x, -1))
}

// working is the inverse of natural.
func (e *estimate) working(x float64) float64 {
	return measure.Either(e.relative, math.Log1p(x), x)
}

// distance is the size of a relative change on the working scale.
func (e *estimate) distance(change float64) float64 { return math.Abs(e.working(change)) }

// loss is the relative change for the worse of this size on the working scale: of a rate a fall.
func (e *estimate) loss(size float64) float64 { return math.Abs(e.natural(e.Metric.Sign() * size)) }

// hasZero reports whether more values than so many are zero.
func hasZero(sessions [][]float64, spare int) bool {
	return measure.HowMany(slices.Concat(sessions...), func(v float64) bool { return v == 0 }) > spare
}

// beyondBase are the samples of the head that lie beyond the limit and clearly beyond every run of the base but the
// worst spare ones, on the worse side by the standard deviation of the base.
func beyondBase(e estimate, limit, sign float64, spare int) []float64 {
	scale := func(v float64) float64 { return sign * v / stats.Average(e.Base) }
	if e.relative {
		scale = func(v float64) float64 { return sign * math.Log(v) }
	}
	prior := measure.Either(e.pool.unequal, e.pool.sides[0], e.pool.prior)
	sd := measure.Either(e.pool.exact, 0, math.Sqrt(e.pool.moderate(e.contrast.Sides[0], prior).S2))
	all := slices.Sorted(slices.Values(stats.Pooled(stats.Transform(e.Base, scale))))
	least := math.Max(stats.Median(all)+sign*e.working(sign*limit), all[len(all)-1-spare]+beyondSDs*sd)
	return slices.DeleteFunc(stats.Pooled(e.Head), func(v float64) bool { return !(scale(v) > least) })
}

// runs is the smaller number of runs of the two sides.
func runs(base, head [][]float64) int {
	return min(len(slices.Concat(base...)), len(slices.Concat(head...)))
}

// estimates computes the change of every pair and its variance, with a variance prior of the pairs of one kind. A pair
// that is not compared has no estimate.
func estimates(t *comparison, pairs []match.Pair) []estimate {
	out := measure.Map(pairs, func(x match.Pair) estimate { return newEstimate(*t, t.judged(x)) })
	pools := poolUp(*t, out)
	again := false
	for i := range out {
		e := &out[i]
		changed := e.Compared() && (t.counted(e) || winsoriseTime(*t, e, t.poolOf(pools, e.pair).prior))
		again = again || changed
	}
	if again {
		pools = poolUp(*t, out)
	}
	sessions := newSpreads(*t, out)
	for i := range out {
		e := &out[i]
		if !e.Compared() {
			continue
		}
		*e = moderate(*t, *e, t.poolOf(pools, e.pair), sessions)
		lowered := e.Metric.OnHost() && e.Subject == measure.Workload && e.Limit.Max < t.Policy.StepThreshold &&
			e.Limit.Rule == t.Policy.Places.Of("threshold") // where the data can tell such a change from noise
		if lowered && !(stats.Margin(e.variance, result.Confidence) <= e.working(e.Limit.Max)) {
			e.Limit.Max = t.Policy.StepThreshold
		}
		if e.Metric.OnHost() && !e.modes.counted {
			e.delays = t.delayChance(e)
			if e.delays <= delaysMost {
				e.outlierChance = e.delays
			}
		}
	}
	return out
}

// newEstimate compares the two sides on the log scale, or relative to the base's mean where a value is zero. A pair
// that is not compared has no contrast.
func newEstimate(t comparison, p pair) estimate {
	e := estimate{pair: p, small: p.Subject.Scope == measure.ScopeKernel && t.share(p) < recorded.KernelShare}
	if !p.Compared() {
		return e
	}
	e.relative = true
	scale := math.Log
	if hasZero(p.Base, 0) || hasZero(p.Head, 0) {
		e.relative = false
		mean := stats.Average(p.Base)
		scale = func(v float64) float64 { return v / mean }
	}
	e.contrast = stats.NewContrast(stats.Transform(p.Base, scale), stats.Transform(p.Head, scale), t.shared)
	if p.Metric.Unprofiled() {
		for i, judged := range [][][]float64{p.Base, p.Head} {
			e.contrast.CountMoved(i, len(differing(p.shown[i], judged))-len(stats.Pooled(judged))/fewRuns)
		}
	}
	if t.batches {
		e.contrast.SessionWeight = e.contrast.PairWeight
	}
	if p.Metric.Exact {
		e.contrast.SessionWeight = 0 // hosts do not differ in counts
	}
	if math.Abs(e.contrast.Estimate) < rounding {
		e.contrast.Estimate = 0 // rounding of the mean logarithm of equal values is no change
	}
	if p.Metric.Name == measure.Time.Name && e.contrast.Run.DF > 0 {
		// Rounding to the timer's tick is noise of its own: uniform over one tick.
		tick := t.Tick / stats.Average(p.Base)
		for _, v := range []*stats.Variance{&e.contrast.Run, &e.contrast.Sides[0], &e.contrast.Sides[1]} {
			v.S2 = math.Max(v.S2, tick*tick/12)
		}
	}
	return e
}

// moderate turns the raw variances of an estimate into the variance of its contrast.
func moderate(t comparison, e estimate, pool pool, sessions spreads) estimate {
	e.pool, e.outlierChance = pool, pool.outlierChance(&e)
	shared := e.contrast.Run.S2 == 0 && e.contrast.Estimate == 0 // a count of all runs of both sides
	if e.Metric.Exact && (pool.exact || shared || t.Time == measure.ReplayTime) {
		e.run = e.contrast.Run
		if e.run.DF == 0 && t.Time == measure.ReplayTime {
			e.run = stats.Variance{DF: countedRuns} // one launch is enough for a count
		}
		e.variance = stats.Variance{S2: e.contrast.RunWeight * e.run.S2, DF: e.run.DF}
		return e
	}
	pool.few = pool.few || e.modes.counted
	e.pool = pool
	e.run = pool.moderate(e.contrast.Run, pool.prior)
	if own := e.contrast.Run; pool.few && own.DF < pool.prior.DF && 2*own.S2 > pool.prior.S2 {
		e.run.DF = own.DF // two runs a side that spread as much show nothing of whether the prior holds
	}
	e.run.S2 = math.Max(e.run.S2, t.rare(e.pair))
	if e.contrast.Run.DF == 0 {
		e.run = stats.Variance{} // the prior alone decides nothing
	}
	if e.contrast.SessionWeight > 0 {
		e.session = sessions.of(t, &e)
		e.hostEffect = sessions.hostEffect(t, &e)
	}
	e.variance = e.with([]float64{e.contrast.RunWeight}, e.run)
	if pool.unequal && e.run.DF > 0 {
		e = welch(e)
	}
	return e
}

// rare is the least variance between runs, and between sessions, of the time of a kernel with few launches a run, and
// of the GPU time that it makes up: 0 for other pairs.
func (t comparison) rare(p pair) float64 {
	kernel := p.Subject
	switch {
	case isKernelTime(p):
	case p.kind() == gpuTime && t.whole != measure.Subject{}:
		kernel = t.whole
	default:
		return 0
	}
	for _, side := range []*recorded.Index{t.Base, t.Head} {
		steps := 1
		if s := &side.Sessions[len(side.Sessions)-1]; s.Step != "" {
			steps = recorded.Steps(s)
		}
		launches := side.Typical(kernel, measure.Launches.Name) * float64(steps)
		if launches > 0 && launches < rareLaunches {
			return rareSD * rareSD
		}
	}
	return 0
}

// moderate is the variance between runs of a metric, shrunk toward the prior of its kind. Few members, as one or two
// outputs, are no pool to learn from: their prior only widens it, and alone decides nothing.
func (p pool) moderate(v, expected stats.Variance) stats.Variance {
	m := stats.Moderate(v, expected)
	return measure.Either(p.few && (v.DF == 0 || !(m.S2 > v.S2)), v, m)
}

// welch gives an estimate a variance between runs a side (Welch 1938), each moderated by the prior of its side. That
// makes nothing surer than one variance for both would.
func welch(e estimate) estimate {
	w := e.contrast.SideWeights[:]
	var sides []stats.Variance
	for i, v := range e.contrast.Sides {
		sides = append(sides, e.pool.moderate(v, e.pool.sides[i]))
	}
	if v := e.with(slices.Clone(w), slices.Clone(sides)...); stats.Margin(v,
		result.Confidence) > stats.Margin(e.variance, result.Confidence) {
		e.variance = v
		// Uses that need one variance for both sides take the equivalent one.
		e.run = stats.Satterthwaite([]float64{w[0] / (w[0] + w[1]), w[1] / (w[0] + w[1])}, sides)
	}
	return e
}
