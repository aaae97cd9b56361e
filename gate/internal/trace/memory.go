package trace

import (
	"sort"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/measure"
)

// reduceMemory writes the peak of device memory, within which ranges that happened, and what each range had requested of
// it. Unlike everything else it counts the warm-up: allocators keep what they got there.
func (c *cut) reduceMemory(run int, roles *roles, t *table) {
	if c.MemoryPeak < 0 {
		return
	}
	peak := t.set(run, measure.Workload, model.MemoryPeak, float64(c.MemoryPeak))
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
			t.set(run, measure.Subject{Scope: measure.ScopeRange, Name: c.RangeNames[name]}, model.MemoryHeld, bytes)
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
