package decide

import (
	"math"
	"slices"
	"time"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/recorded"
	"github.com/nsgate/nsgate/gate/internal/stats"
	"github.com/nsgate/nsgate/gate/measure"
)

// trend is a steady rise or fall of kernel times over the runs of two batches, as of a GPU that warms up.
type trend struct {
	at    [2][]float64 // when the runs of each side began, in s
	shift float64      // change from the middle of one batch to that of the other, on the log scale
}

// findTrend finds the trend of two batches, nil where there is none: the kernels' times rise, or fall, from run to run in both, at
// about the same rate, nearly every kernel does, and it explains most of what the batches differ by. A trend that levels off, or begins
// anew with each batch, predicts too much and is none.
func (t comparison) findTrend() *trend {
	if !t.batches || len(t.base.Sessions) != 1 || len(t.head.Sessions) != 1 {
		return nil
	}
	x := &trend{}
	var rates [2]float64
	chance := 1.0
	for i, side := range []*recorded.Index{t.base, t.head} {
		if x.at[i] = starts(&side.Sessions[0], t.base.Sessions[0].Runs[0].Start); len(x.at[i]) < 2 || !slices.IsSorted(x.at[i]) {
			return nil
		}
		var typical []float64 // of all kernels in each run
		for _, changes := range moves(side, t.head, 0, t)[:len(x.at[i])] {
			typical = append(typical, stats.Median(changes))
		}
		change, p := stats.Trend(typical)
		if chance *= p; p > trendEach {
			return nil
		}
		rates[i] = change / (x.at[i][len(x.at[i])-1] - x.at[i][0])
	}
	if ratio := rates[1] / rates[0]; !(chance < trendP) || !(ratio > 1/trendUneven && ratio < trendUneven) || x.paused() {
		return nil
	}
	var shifts, seen []float64
	for _, s := range t.head.Subjects() {
		if s.Scope == measure.ScopeKernel && t.base.Has(s) && t.head.Share(s) >= t.policy.Impact {
			base, head := t.base.Values(s, t.time.Name)[0], t.head.Values(s, t.time.Name)[0]
			line := x.fit([2][]float64{base, head})
			shifts = append(shifts, line.slope*line.gap)
			seen = append(seen, math.Log(stats.Median(stats.Known(head))/stats.Median(stats.Known(base))))
		}
	}
	if len(shifts) < batchLeast || asOne(shifts, trendLeast) == 0 || !onLevel(stats.Median(shifts), []float64{stats.Median(seen)}) {
		return nil
	}
	x.shift = stats.Median(shifts)
	return x
}

// paused reports whether the time between the batches is much longer than between their runs, so that a GPU may cool down in it.
func (x *trend) paused() bool {
	longest := 0.0
	for _, at := range x.at {
		for i := range at[1:] {
			longest = math.Max(longest, at[i+1]-at[i])
		}
	}
	first, last := x.at[0], x.at[1]
	if last[0] < first[0] {
		first, last = last, first
	}
	return last[0]-first[len(first)-1] > trendPause*longest
}

// starts are when the profiled runs of a session began, in s since an instant; none where that is not known.
func starts(s *model.Session, since time.Time) (out []float64) {
	for _, run := range s.Runs[:s.Profiled()] {
		if run.Start.IsZero() {
			return nil
		}
		out = append(out, run.Start.Sub(since).Seconds())
	}
	return out
}

// line is a trend in one metric: the slope that both batches have in common.
type line struct {
	slope  float64 // per s, on the log scale
	middle float64 // between the batches, in s
	gap    float64 // from the middle of one batch to that of the other, in s
	weight float64 // of the variance between runs in that of the change that the trend predicts
}

// fit finds the common slope of two batches by least squares (analysis of covariance; Fisher 1932).
func (x *trend) fit(values [2][]float64) line {
	var means [2]float64
	var sxx, sxy float64
	for i, side := range values {
		var at, logs []float64
		for run, v := range side {
			if v > 0 {
				at, logs = append(at, x.at[i][run]), append(logs, math.Log(v))
			}
		}
		n := float64(len(at))
		means[i] = stats.Average([][]float64{at})
		sxx += stats.SampleVariance(at).S2 * (n - 1)
		for k := range at {
			sxy += (at[k] - means[i]) * logs[k]
		}
	}
	gap := means[1] - means[0]
	return line{sxy / sxx, (means[0] + means[1]) / 2, gap, gap * gap / sxx}
}

// detrended is a pair of kernel times, or of their sum, as if all runs had been made in the middle between the batches.
func (t comparison) detrended(p pair) pair {
	times := p.metric.Name == t.time.Name || p.metric.Name == t.total.Name || p.metric == measure.GPUTime
	if t.trend == nil || !times || p.subject.Scope == measure.ScopeSection || hasZero(p.base) || hasZero(p.head) {
		return p
	}
	line := t.trend.fit([2][]float64{p.base[0], p.head[0]})
	if math.IsNaN(line.slope) || math.IsInf(line.weight, 0) {
		return p
	}
	for i, side := range []*[][]float64{&p.base, &p.head} {
		straight := slices.Clone((*side)[0])
		for run := range straight {
			straight[run] *= math.Exp(-line.slope * (t.trend.at[i][run] - line.middle))
		}
		*side = [][]float64{straight}
	}
	p.trendWeight = line.weight
	return p
}

// trended adds the uncertainty of the slope to a contrast of detrended samples.
func trended(c stats.Contrast, weight float64) stats.Contrast {
	if weight == 0 || !(c.Run.DF > 1) {
		return c
	}
	c.RunWeight += weight
	for i := range c.SideWeights {
		c.SideWeights[i] += weight / 2
	}
	c.Run = stats.Variance{S2: c.Run.S2 * c.Run.DF / (c.Run.DF - 1), DF: c.Run.DF - 1}
	return c
}
