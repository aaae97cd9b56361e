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
	subject     measure.Subject
	metric      measure.Metric
	match       string         // see [Finding.Match]
	base, head  [][]float64    // samples by session and run, NaN for runs that are left out
	shown       [2][][]float64 // samples of base and head with those
	limit       thresholds.Limit
	trendWeight float64        // part of the variance between runs that a trend adds to that of the change, see [trend]
	listed      result.Outcome // Added or Removed, where there is nothing to compare
	outliers    []float64      // of a step's period, by how much samples are far from the others of their side, on the log scale
	movedRuns   []int          // runs of the head whose samples are moved to the edge of the others, counted over all sessions
	because     result.Remark  // of that outcome
	oneSided    bool           // one side does not have the metric: only the bounds of its value can be judged
	baseNames   []string
	headNames   []string             // where they are several
	summed      [2][]measure.Subject // the kernels of base and head whose times are summed
	facts       []result.Remark
}

// compared reports whether both sides have something to compare.
func (p *pair) compared() bool { return p.listed == "" && !p.oneSided }

// named reports whether the rule that limits a metric names it in full.
func (t comparison) named(p pair) bool {
	return slices.ContainsFunc(t.policy.Rules, func(r thresholds.Rule) bool {
		return string(r.Metric) == p.metric.Name && r.Where == p.limit.Rule
	})
}

// kind names the pairs whose variances are expected to be alike.
func (p *pair) kind() string { return string(p.subject.Scope) + " " + p.metric.Name }

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
