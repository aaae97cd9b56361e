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
		if t.widens(e) {
			e.Limit.Max = t.Policy.StepThreshold
		}
		if e.isStep() && !e.modes.counted {
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
	if hasZero(p.Base) || hasZero(p.Head) {
		e.relative = false
		mean := stats.Average(p.Base)
		scale = func(v float64) float64 { return v / mean }
	}
	e.contrast = stats.NewContrast(stats.Transform(p.Base, scale), stats.Transform(p.Head, scale), t.shared)
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

// widens reports whether a step keeps the wider limit of steps: a strict threshold lowers it where the data can tell
// such a change from noise.
func (t comparison) widens(e *estimate) bool {
	lowered := e.isStep() && e.Subject == measure.Workload && e.Limit.Max < t.Policy.StepThreshold &&
		e.Limit.Rule == t.Policy.Places.Of("threshold")
	return lowered && !(stats.Margin(e.variance, result.Confidence) <= e.working(e.Limit.Max))
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
	if p.few && (v.DF == 0 || !(m.S2 > v.S2)) {
		return v
	}
	return m
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
