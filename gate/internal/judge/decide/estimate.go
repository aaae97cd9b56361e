package decide

import (
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/judge/match"
	"github.com/nsgate/nsgate/gate/internal/judge/stats"
	"github.com/nsgate/nsgate/gate/internal/measure"
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

// isStep reports whether a pair is the period of a step, or another time that depends on the host.
func (p *pair) isStep() bool { return p.Metric.OnHost() }

// winsoriseStep is a pair whose sides are both winsorised, see [stats.Winsorised].
func winsoriseStep(p pair) pair {
	if hasZero(p.Base) || hasZero(p.Head) {
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
func (p *pair) dependsOnHost() bool { return p.isStep() || p.Metric.Unprofiled() && !p.Metric.OnGPU() }

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
	if e.relative {
		return math.Expm1(x)
	}
	return math.Max(x, -1)
}

// working is the inverse of natural.
func (e *estimate) working(x float64) float64 {
	if e.relative {
		return math.Log1p(x)
	}
	return x
}

func hasZero(sessions [][]float64) bool { return slices.Contains(slices.Concat(sessions...), 0) }

// beyondBase are the samples of the head that lie beyond the limit and clearly beyond every run of the base but the
// worst spare ones, on the worse side by the standard deviation of the base.
func beyondBase(e estimate, limit, sign float64, spare int) (beyond []float64) {
	scale := func(v float64) float64 { return sign * v / stats.Average(e.Base) }
	if e.relative {
		scale = func(v float64) float64 { return sign * math.Log(v) }
	}
	prior := e.pool.prior
	if e.pool.unequal {
		prior = e.pool.sides[0]
	}
	sd := math.Sqrt(e.pool.moderate(e.contrast.Sides[0], prior).S2)
	if e.pool.exact {
		sd = 0
	}
	all := slices.Sorted(slices.Values(stats.Pooled(stats.Transform(e.Base, scale))))
	least := math.Max(stats.Median(all)+e.working(limit), all[len(all)-1-spare]+beyondSDs*sd)
	for _, v := range stats.Pooled(e.Head) {
		if scale(v) > least {
			beyond = append(beyond, v)
		}
	}
	return beyond
}

// runs is the smaller number of runs of the two sides.
func runs(base, head [][]float64) int {
	return min(len(slices.Concat(base...)), len(slices.Concat(head...)))
}
