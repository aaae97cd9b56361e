package trace

import (
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
