package decide

import (
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/stats"
	"github.com/nsgate/nsgate/gate/measure"
	"github.com/nsgate/nsgate/thresholds"
)

// pair is one metric of one subject as both sides have it, or as one side has it.
type pair struct {
	subject    measure.Subject
	metric     measure.Metric
	match      string         // see [Finding.Match]
	base, head [][]float64    // samples by session and run, NaN for runs that are left out
	shown      [2][][]float64 // samples of base and head with those
	limit      thresholds.Limit
	listed     result.Outcome // Added or Removed, where there is nothing to compare
	outliers   []float64      // of a step's period, by how much samples are far from the others of their side, on the log scale
	movedRuns  []int          // runs of the head whose samples are moved to the edge of the others, counted over all sessions
	because    result.Remark  // of that outcome
	oneSided   bool           // one side does not have the metric: only the bounds of its value can be judged
	baseNames  []string
	headNames  []string             // where they are several
	summed     [2][]measure.Subject // the kernels of base and head whose times are summed
	facts      []result.Remark
}

// compared reports whether both sides have something to compare.
func (p *pair) compared() bool { return p.listed == "" && !p.oneSided }

// named reports whether the rule that limits a metric names it in full.
func (t comparison) named(p pair) bool {
	return slices.ContainsFunc(t.policy.Rules, func(r thresholds.Rule) bool {
		return string(r.Metric) == p.metric.Name && r.Where == p.limit.Rule
	})
}

// kindOf names the pairs whose variances are expected to be alike.
func kindOf(s measure.Scope, m measure.Metric) string { return string(s) + " " + m.Name }

func (p *pair) kind() string { return kindOf(p.subject.Scope, p.metric) }

// isStep reports whether a pair is the period of a step, or another time that depends on the host.
func (p *pair) isStep() bool { return p.metric.OnHost() }

// winsoriseStep is a pair whose sides are both winsorised, see [stats.Winsorised].
func winsoriseStep(p pair) pair {
	if hasZero(p.base) || hasZero(p.head) {
		return p
	}
	base, far := stats.Winsorised(p.base)
	head, farHead := stats.Winsorised(p.head)
	p.movedRuns = differing(p.head, head)
	p.base, p.head, p.outliers = base, head, slices.Concat(p.outliers, far, farHead)
	return p
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
func (p *pair) dependsOnHost() bool { return p.isStep() || p.metric.Unprofiled() }

// estimate is the change from baseline to head of one pair, with its variance.
type estimate struct {
	pair
	small         bool // a kernel below [recorded.KernelShare]
	winsorised    bool // outlier runs were moved to the others
	relative      bool // on the log scale; else relative to the base's mean, because a value is zero
	contrast      stats.Contrast
	pool          pool           // of the estimates of its kind
	run           stats.Variance // moderated variance between runs
	session       stats.Variance // moderated variance between sessions
	hostEffect    float64        // relative change up to which a difference between hosts explains it, see [spreads.hostEffect]
	variance      stats.Variance // of contrast.Estimate
	outlierChance float64        // chance of such a change from outlier runs alone, which the variance does not hold
	delays        float64        // chance of such a step from delays of the CPU
	slowRuns      int            // runs of the head that such delays may have made slower
}

// with is the variance of the change: the weighted sum of those between runs, and of that between sessions.
func (e *estimate) with(weights []float64, runs ...stats.Variance) stats.Variance {
	if e.contrast.SessionWeight > 0 {
		weights, runs = append(weights, e.contrast.SessionWeight), append(runs, e.session)
	}
	return stats.Satterthwaite(weights, runs)
}

// judgedBase is the value of the baseline that the change is relative to: the weighted geometric mean of the runs that are judged, the
// arithmetic mean where a value is zero.
func (e *estimate) judgedBase() float64 {
	values := stats.Pooled(e.base)
	if slices.Min(values) == slices.Max(values) {
		return values[0]
	}
	if !e.relative {
		return stats.Average(e.base)
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

// beyondBase are the samples of the head that lie beyond the limit and clearly beyond every run of the base, on the
// worse side: by two of the base's standard deviations.
func beyondBase(e estimate, limit, sign float64) (beyond []float64) {
	scale := func(v float64) float64 { return sign * v / stats.Average(e.base) }
	if e.relative {
		scale = func(v float64) float64 { return sign * math.Log(v) }
	}
	prior := e.pool.prior
	if e.pool.unequal {
		prior = e.pool.sides[0]
	}
	sd := math.Sqrt(moderateRuns(e.metric, e.contrast.Sides[0], prior).S2)
	if e.pool.exact {
		sd = 0
	}
	all := stats.Pooled(stats.Transform(e.base, scale))
	least := math.Max(stats.Median(all)+e.working(limit), slices.Max(all)+2*sd)
	for _, v := range stats.Pooled(e.head) {
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
