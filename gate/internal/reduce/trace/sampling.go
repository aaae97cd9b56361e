package trace

import (
	"cmp"
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// split takes the traces that were sampled from those that were timed. Where all were sampled, all are timed too, and
// none is left over.
func split(traces []model.Trace) (timed, sampled []model.Trace) {
	timed = slices.DeleteFunc(slices.Clone(traces), func(t model.Trace) bool { return t.Sampling != nil })
	if len(timed) == 0 {
		return traces, nil
	}
	return timed, slices.DeleteFunc(slices.Clone(traces), func(t model.Trace) bool { return t.Sampling == nil })
}

// cutAlike cuts traces like the runs that they were taken with, and leaves out those without their step.
func cutAlike(traces []model.Trace, like []*cut, step, w string) ([]*cut, error) {
	cuts, err := newCuts(traces, w, cmp.Or(step, NoStep))
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(cuts, func(a, b *cut) int { return a.Trace.Start.Compare(b.Trace.Start) })
	return slices.DeleteFunc(cuts, func(c *cut) bool {
		c.skip = min(like[0].skip, max(len(c.steps)-1, 0))
		return step != "" && len(c.steps) == 0
	}), nil
}

// setSampled writes what was sampled: of the runs themselves, or of traces taken with them on the same GPU.
func (t *table) setSampled(runs, sampled []*cut) {
	for run, c := range runs {
		if c.Sampling != nil {
			c.reduceSampling(run, t)
		}
	}
	next := 0
	for _, c := range sampled {
		if next < len(runs) && sameEnvironment(&runs[0].Trace.Environment, &c.Trace.Environment) {
			c.reduceSampling(next, t)
			next++
		}
	}
}

// reduceSampling writes the means of the GPU's metrics over the steady steps, from the first operation of the first to
// the last of the last, and over what each range had the GPU do. What is shorter than a sample has none.
func (c *cut) reduceSampling(run int, t *table) {
	var whole model.Interval
	byRange := make([][]model.Interval, len(c.RangeNames))
	spans := make(map[int32]model.Interval) // by occurrence
	roles := c.newRoles()
	add := func(start, end, api int64, in int32) {
		at := c.stepOf(api)
		if c.share(api) == 0 {
			return
		}
		whole = cover(whole, start, end)
		for r := roles.rangeOf(model.Launch{API: api, Range: in}, at); r >= 0; r = c.Ranges[r].Parent {
			spans[r] = cover(spans[r], start, end)
		}
	}
	for _, l := range c.launches {
		add(l.Start, l.End, l.API, l.Range)
	}
	for _, x := range c.copies {
		add(x.Start, x.End, x.API, x.Range)
	}
	for r, span := range spans {
		name := c.Ranges[r].Name
		byRange[name] = append(byRange[name], span)
	}
	for m, metric := range c.Sampling.Metrics {
		set := func(s measure.Subject, windows ...model.Interval) {
			if mean, samples := c.Sampling.Mean(m, windows); samples > 0 {
				t.set(run, s, metric, math.Round(100*mean)/100)
			}
		}
		set(measure.Workload, whole)
		for name, windows := range byRange {
			set(measure.Subject{Scope: measure.ScopeRange, Name: c.RangeNames[name]}, model.Union(windows)...)
		}
	}
	t.set(run, measure.Workload, measure.SamplingPeriod, float64(c.Sampling.Period))
}

func cover(x model.Interval, start, end int64) model.Interval {
	if x == (model.Interval{}) {
		return model.Interval{Start: start, End: end}
	}
	return model.Interval{Start: min(x.Start, start), End: max(x.End, end)}
}
