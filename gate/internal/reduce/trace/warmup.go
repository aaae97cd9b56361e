package trace

import (
	"math"
	"slices"
	"strconv"

	"github.com/nsgate/nsgate/gate/internal/judge/stats"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// settle finds where a series settles, by [stats.Steady]. If not, every second, third or fourth value may differ: the
// series is scaled by its second half at each place of such a cycle, and tested again.
func settle(x []float64) settling {
	const longest, fewest = 4, 3
	skip, steady := stats.Steady(x)
	out := settling{skip, steady}
	for n := 2; n <= longest && !out.steady && len(x)/2/n >= fewest; n++ {
		centres := make([]float64, n)
		for k := range centres {
			var values []float64
			for i := k; i < len(x); i += n {
				if i >= len(x)/2 {
					values = append(values, x[i])
				}
			}
			centres[k] = stats.Median(values)
		}
		if slices.Min(centres) <= 0 {
			break
		}
		scaled := make([]float64, len(x))
		for i, v := range x {
			scaled[i] = v / centres[i%n]
		}
		skip, steady = stats.Steady(scaled)
		if steady {
			out = settling{skip, true}
		}
	}
	return out
}

// skipWarmup decides how much of every run is warm-up, for the runs of all sides alike. Under Auto the kernel times of
// a run's steps or cycles, or else of each kernel's launches, say where it settles: the latest of the runs, and at
// least a tenth, is left out of every run. A finished session says it for those that are cut like it.
func skipWarmup(cuts []*cut, o Options) error {
	if o.Warmup != Auto {
		skip, _ := strconv.Atoi(o.Warmup) // 0 of a capture
		for _, c := range cuts {
			if n := len(c.steps); n > 0 && skip >= n {
				return model.Refuse(model.LongWarmup, "leave out fewer, or let the workload run longer",
					"%s: a warm-up of %d steps leaves none of the %d", c.file(), skip, n)
			}
			c.skip = skip
		}
		return nil
	}
	latest := make([]int, len(cuts))
	spread(len(cuts), func(i int) {
		c := cuts[i]
		x := c.turns
		if len(c.steps) > 0 {
			x = c.kernelTime()
		}
		if len(x) == 0 {
			return
		}
		s := settle(x)
		if len(c.steps) > 0 {
			c.steady = s.steady
		}
		latest[i] = len(x) / 10
		if s.steady || len(c.steps) == 0 {
			latest[i] = max(latest[i], s.skip)
		}
	})
	most := roundWarmup(slices.Max(append(latest, 0)))
	if n := o.Skipped(); n >= 0 {
		most = n
	}
	for _, c := range cuts {
		c.skip = min(most, max(len(c.laid())-1, 0))
	}
	settleKernels(cuts, o)
	return nil
}

// Skipped is how many steps or cycles the session left out that others are cut like, -1 where that is not known.
func (o *Options) Skipped() int {
	if o.Like == nil || o.Like.Warmup != Auto {
		return -1
	}
	if x, ok := o.Like.Find(measure.Warmup, measure.Repeats.Name); ok {
		return int(largest(x.Values))
	}
	if o.Like.Step == "" {
		return -1
	}
	return measure.Most(o.Like.Runs[:o.Like.Profiled()], func(r model.Run) int { return r.Skipped })
}

// settleKernels decides how many launches of each kernel are warm-up in runs without steps.
func settleKernels(cuts []*cut, o Options) {
	whole := measure.Where(cuts, func(c *cut) bool { return len(c.steps) == 0 })
	spread(len(whole), func(i int) {
		c := whole[i]
		times := make([][]float64, len(c.Kernels))
		for i := range c.launches {
			if l := &c.launches[i]; c.share(l.API) > 0 {
				times[l.Kernel] = append(times[l.Kernel], float64(l.End-l.Start))
			}
		}
		c.settles = measure.Map(times, settle)
	})
	most := map[measure.Subject]int{}
	for _, c := range whole {
		for k, s := range c.settles {
			if subject := c.Kernels[k].Subject; s.steady {
				most[subject] = max(most[subject], s.skip)
			}
		}
	}
	if o.Like != nil {
		for _, x := range o.Like.Series {
			if x.Metric.Name == measure.WarmupLaunches.Name {
				most[x.Subject] = int(largest(x.Values))
			}
		}
	}
	for _, c := range whole {
		for k := range c.settles {
			c.settles[k].skip = most[c.Kernels[k].Subject]
		}
	}
}

// steadyLaunches cuts the warm-up off the launches of one kernel of a run without steps.
func (c *cut) steadyLaunches(kernel int, times []float64) (steady []float64, settled bool) {
	skip, settled := c.skip, true
	if c.auto {
		skip, settled = c.settles[kernel].skip, c.settles[kernel].steady
	}
	if skip >= len(times) || !settled {
		return times, settled // launched only during the warm-up: all there is
	}
	return times[skip:], true
}

// reduceGrowth writes the kernel time of the last quarter of the steps that count over that of the first, unless these
// are few.
func (c *cut) reduceGrowth(run int, t *table) {
	x := c.kernelTime()
	x = x[min(max(c.skip, 0), len(x)):]
	if n := len(x) / 4; n >= 2 && sum(x[:n]) > 0 {
		v := sum(x[len(x)-n:]) / sum(x[:n])
		t.set(run, measure.Workload, measure.Growth, math.Round(v*1e6)/1e6)
	}
}
