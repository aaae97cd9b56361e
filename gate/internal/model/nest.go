package model

import "sort"

// Timeline says which range of a thread is the innermost at any time.
type Timeline struct {
	changes []change // each holds until the next one
	open    []int32  // ranges that have begun and may still hold, each ending no later than those before it
}

type change struct {
	from int64
	rng  int32 // -1: none
}

// Nest finds the parent of each of n ranges, which are in the order of their starts, of equals the outer one first, and
// the timeline of each thread.
//
// Push/pop ranges nest. Start/end ranges need not: where two overlap, the later one to begin is the inner one for as
// long as it lasts. A range that ends before a later-begun one can be neither parent nor innermost from then on, so
// the open ranges are a stack whose ends never grow, and each is pushed and popped once.
func Nest[Thread comparable](n int, at func(i int) (*Range, Thread)) map[Thread]*Timeline {
	lines := make(map[Thread]*Timeline)
	ranges := make(map[Thread]int)
	for i := range n {
		_, thread := at(i)
		ranges[thread]++
	}
	for thread, n := range ranges {
		lines[thread] = &Timeline{changes: make([]change, 0, 2*n)} // each begins and ends
	}
	ending := func(i int32) int64 { r, _ := at(int(i)); return r.End }
	// end ends the ranges that end before a time. A range still holds at its very end.
	end := func(t *Timeline, before int64) {
		for n := len(t.open); n > 0 && ending(t.open[n-1]) < before; n-- {
			t.changes = append(t.changes, change{ending(t.open[n-1]) + 1, t.enclosing(n - 1)})
			t.open = t.open[:n-1]
		}
	}
	const unended = 1<<63 - 1
	for i := range n {
		r, thread := at(i)
		t := lines[thread]
		end(t, r.Start)
		for n := len(t.open); n > 0 && ending(t.open[n-1]) < r.End; n-- {
			t.open = t.open[:n-1]
		}
		r.Parent = t.enclosing(len(t.open))
		t.open = append(t.open, int32(i))
		t.changes = append(t.changes, change{r.Start, int32(i)})
	}
	for _, t := range lines {
		end(t, unended)
	}
	return lines
}

// enclosing is the innermost of the first n open ranges, -1 for none.
func (t *Timeline) enclosing(n int) int32 {
	if n == 0 {
		return -1
	}
	return t.open[n-1]
}

// At is the innermost range at a time, -1 for none; no timeline has none.
func (t *Timeline) At(time int64) int32 {
	c := Cursor{Timeline: t}
	return c.At(time)
}

// Cursor asks a timeline, which may be nil, for times that come nearly in order.
type Cursor struct {
	*Timeline
	last int // the change that was found last
}

// At is [Timeline.At].
func (c *Cursor) At(time int64) int32 {
	if c.Timeline == nil {
		return -1
	}
	for i := c.last; i < c.last+3 && i < len(c.changes) && c.changes[i].from <= time; i++ {
		if i+1 == len(c.changes) || time < c.changes[i+1].from {
			c.last = i
			return c.changes[i].rng
		}
	}
	i := sort.Search(len(c.changes), func(i int) bool { return c.changes[i].from > time }) - 1
	if i < 0 {
		return -1
	}
	c.last = i
	return c.changes[i].rng
}
