package gate

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/measure"
	"github.com/nsgate/nsgate/gate/stats"
)

// A shift is common when at least this many kernels, and at least this part of all, move by the same amount; and it is
// worth a word from this size on.
const (
	commonLeast = 2
	commonPart  = 0.3
	commonSize  = 0.01
)

// commonShift names a change that several kernels share, which another host, clock or power limit makes rather than
// code: on H200 hosts all memory-bound kernels are 1.5 % apart between two kinds of host. Sides of one session must
// move as a whole to be named so, because there a change of code is the likelier cause. "" where there is none.
func (e *engine) commonShift() string {
	var moved []*comparison
	kernels := 0
	for _, c := range e.comparisons {
		if c.listed || c.metric.Name != e.time.Name || float64(c.finding.Share) < e.policy.Impact {
			continue
		}
		kernels++
		if math.Abs(float64(c.finding.Change)) >= commonSize {
			moved = append(moved, c)
		}
	}
	slices.SortFunc(moved, func(a, b *comparison) int {
		return compareNumbers(float64(a.finding.Change), float64(b.finding.Change))
	})
	var best []*comparison
	for i := range moved {
		for j := i + 1; j <= len(moved); j++ {
			group := moved[i:j]
			first, last := float64(group[0].finding.Change), float64(group[len(group)-1].finding.Change)
			if last-first <= math.Min(math.Abs(first), math.Abs(last))/2 && len(group) > len(best) {
				best = group
			}
		}
	}
	least := max(commonLeast, int(math.Ceil(commonPart*float64(kernels))))
	if len(e.shared) > 0 {
		least = max(3, kernels)
	}
	if len(best) < least {
		return ""
	}
	best = slices.Clone(best)
	slices.SortStableFunc(best, func(a, b *comparison) int { return compareNumbers(float64(b.finding.Share), float64(a.finding.Share)) })
	var names []string
	var changes []float64
	for _, c := range best {
		changes = append(changes, float64(c.finding.Change))
		if n := c.finding.Kernel; !slices.Contains(names, n) && len(names) < 4 {
			names = append(names, n)
		}
	}
	why := e.hosts() + ", and hosts of one model differ like this, above all in memory-bound kernels"
	if len(e.shared) > 0 {
		why = "another clock, power limit or neighbour does that more often than code"
	}
	return fmt.Sprintf("%d of %s moved together by about %s (%s): %s",
		len(best), count(kernels, "kernel"), percent(stats.Median(changes)), strings.Join(names, ", "), why)
}

// outlier names the one run of a session that lies far from all others, which widens the interval by itself. "" where
// there is none.
func (c *comparison) outlier() string {
	const far, least = 8, 4 // robust standard deviations; runs
	for i, side := range [][][]float64{c.base, c.head} {
		for _, session := range side {
			runs := known(session)
			centre, spread := stats.Median(runs), stats.MAD(runs)
			var off []float64
			for _, v := range runs {
				if d := math.Abs(v - centre); d > far*spread && d > commonSize*centre {
					off = append(off, v)
				}
			}
			if len(runs) >= least && len(off) == 1 {
				return fmt.Sprintf("one run of the %s is %s off the others", [...]string{"base", "head"}[i], percent(off[0]/centre-1))
			}
		}
	}
	return ""
}

// levels names samples that jump between two levels from run to run, which no number of runs turns into one value. ""
// where they do not.
func (c *comparison) levels() string {
	for _, side := range [][][]float64{c.base, c.head} {
		for _, session := range side {
			// Each session for itself: two sessions may well be two levels.
			low, high, n, ok := stats.Levels(known(session))
			if ok && high > low*(1+commonSize) {
				return fmt.Sprintf("runs fall on two levels, %d of %d near %s and the others %s above",
					n, len(known(session)), number(low)+" "+c.metric.Unit, plain(high/low-1))
			}
		}
	}
	return ""
}

func known(values []float64) []float64 {
	return slices.DeleteFunc(slices.Clone(values), math.IsNaN)
}

// waiting names a workload whose steps take longer although its kernels do not: the GPU waits. Tracing slows the CPU
// down, so the step time is no finding unless a rule says so; but it is worth a word. "" where steps take no longer.
func (e *engine) waiting() string {
	const least = 0.05 // relative
	if !e.base.hasMetric(measure.Workload, measure.StepTime.Name) || !e.head.hasMetric(measure.Workload, measure.StepTime.Name) {
		return ""
	}
	c := &comparison{subject: measure.Workload, metric: measure.StepTime, match: "exact",
		base: e.base.values(measure.Workload, measure.StepTime.Name), head: e.head.values(measure.Workload, measure.StepTime.Name)}
	e.estimate(c)
	e.moderate(c, runPrior)
	change := c.natural(c.contrast.Estimate)
	if !(change > least && change > e.policy.Threshold && stats.TwoSided(c.contrast.Estimate, c.variance) < e.policy.Alpha/10) {
		return ""
	}
	kernels := typical(e.head.values(measure.Workload, measure.GPUTime.Name))/e.base.whole - 1
	if change < 2*kernels {
		return "" // the kernels themselves explain it
	}
	return fmt.Sprintf("steps take longer, %s → %s µs (%s), although the kernels' time changed by %s: the GPU waits more; "+
		"a rule with metric = \"step_time\" judges that",
		number(typical(c.base)/1000), number(typical(c.head)/1000), percent(change), percent(kernels))
}
