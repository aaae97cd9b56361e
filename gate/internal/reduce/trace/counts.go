package trace

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/reduce/attribution"
)

// allocates matches the CUDA calls that allocate memory, on the device or pinned on the host.
var allocates = input.Pattern(`^(?:cuda(?:Malloc|HostAlloc)|cuMem(?:Alloc|HostAlloc|Create)|hip(?:Malloc|HostMalloc))`)

// reduceCalls writes the numbers of synchronising and of allocating calls in the steady steps, or the run: in all, and
// by function with the range of most of them. A trace without its calls has none of it.
func (c *cut) reduceCalls(run int, roles *roles, t *table) {
	if c.Calls.Len() == 0 {
		return
	}
	waits := measure.Map(c.CallNames, attribution.Synchronises)
	fills := measure.Map(c.CallNames, allocates().MatchString)
	type sum struct {
		calls float64
		in    map[int32]float64 // by path of ranges
	}
	var sync, allocations float64
	names := map[int32]*sum{}
	var lines map[int32]*model.Timeline
	if slices.Contains(waits, true) {
		ranges := slices.Clone(c.Ranges) // nesting writes to them
		lines = model.Nest(len(ranges), func(i int) (*model.Range, int32) { return &ranges[i], ranges[i].Thread })
	}
	for call := range c.Calls.All() {
		if !waits[call.Name] && !fills[call.Name] {
			continue
		}
		n := c.share(call.Start)
		if n == 0 {
			continue
		}
		if fills[call.Name] {
			allocations += n
			continue
		}
		sync += n
		s := names[call.Name]
		if s == nil {
			s = &sum{in: map[int32]float64{}}
			names[call.Name] = s
		}
		s.calls += n
		at := model.Launch{API: call.Start, Range: lines[call.Thread].At(call.Start)}
		s.in[roles.path(roles.rangeOf(at, c.stepOf(call.Start)))]++
	}
	t.set(run, measure.Workload, measure.SyncCalls, counted(sync)/c.per())
	t.set(run, measure.Workload, measure.Allocations, counted(allocations)/c.per())
	for name, s := range names {
		subject := measure.Subject{Scope: measure.ScopeCall, Name: c.CallNames[name]}
		t.set(run, subject, measure.SyncCalls, counted(s.calls)/c.per()).Role = roles.paths.List[heaviest(s.in)]
	}
}

// reduceLost writes how many launches of the steady steps, or of the run, left no record of their kernel, and how many
// calls left none of anything.
func (c *cut) reduceLost(run int, t *table) {
	lost := measure.Sum(c.Lost, func(at int64) float64 { return c.share(at) })
	if lost > 0 {
		t.set(run, measure.Workload, measure.LostLaunches, counted(lost)/c.per())
	}
	if c.Silent == nil {
		return
	}
	silent := measure.Sum(c.Silent, func(x model.Silent) float64 { return c.share(x.Time) * float64(x.Calls) })
	t.set(run, measure.Workload, measure.SilentCalls, counted(silent)/c.per())
}

// reduceMemory writes the peak of device memory, its ranges, and the memory that each range had requested. Unlike
// everything else it counts the warm-up: allocators keep memory from there.
func (c *cut) reduceMemory(run int, roles *roles, t *table) {
	if c.MemoryPeak < 0 {
		return
	}
	peak := t.set(run, measure.Workload, measure.MemoryPeak, float64(c.MemoryPeak))
	requested := make([]float64, len(c.RangeNames))
	inside := int32(-1)
	for _, x := range c.Requests {
		inside = c.rangeAt(x.Time)
		if inside >= 0 {
			requested[c.Ranges[inside].Name] += float64(x.Bytes)
		}
	}
	peak.Note = roles.paths.List[roles.path(inside)] // of the last request, which made the peak
	for name, bytes := range requested {
		if bytes > 0 {
			t.set(run, measure.Subject{Scope: measure.ScopeRange, Name: c.RangeNames[name]}, measure.MemoryHeld, bytes)
		}
	}
}

// rangeAt is the innermost range that was open at a time on any thread, -1 for none: the one that began last.
func (c *cut) rangeAt(at int64) int32 {
	i := sort.Search(len(c.Ranges), func(i int) bool { return c.Ranges[i].Start > at }) - 1
	for ; i >= 0 && c.Ranges[i].End < at; i-- {
	}
	return int32(i)
}

// split takes the traces that were sampled from those that were timed. Where all were sampled, all are timed too, and
// none is left over.
func split(traces []model.Trace) (timed, sampled []model.Trace) {
	timed = measure.Where(traces, func(t model.Trace) bool { return t.Sampling == nil })
	if len(timed) == 0 {
		return traces, nil
	}
	return timed, measure.Where(traces, func(t model.Trace) bool { return t.Sampling != nil })
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
		whole = whole.Cover(start, end)
		for r := roles.rangeOf(model.Launch{API: api, Range: in}, at); r >= 0; r = c.Ranges[r].Parent {
			spans[r] = spans[r].Cover(start, end)
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
