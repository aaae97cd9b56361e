package attribution

import (
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// host says what the CPU's threads did at any time.
type host struct {
	t       *model.Trace
	waits   []bool             // by call name: it synchronises
	threads map[int32]*thread  // by number
	last    *thread            // that was asked for
	all     model.Cursor       // the ranges of all threads as if they were one
	passed  int                // overheads that ended before what is asked for
	add     func(Cause, int64) // adds a time in ns to a cause
}

// thread is what one of the CPU's threads did.
type thread struct {
	number int32
	ranges model.Cursor
	time   int64            // that was asked for last,
	call   model.CallCursor // at the first call that ends after it
}

// thread gives the thread of a number.
func (h *host) thread(number int32) *thread {
	if h.last == nil || h.last.number != number {
		h.last = h.threads[number]
		if h.last == nil {
			h.last = &thread{number: number, call: h.t.Calls.From(number, math.MinInt64), time: math.MinInt64}
			h.threads[number] = h.last
		}
	}
	return h.last
}

func newHost(t *model.Trace) *host {
	h := &host{t: t, threads: map[int32]*thread{}, waits: measure.Map(t.CallNames, Synchronises)}
	ranges := slices.Clone(t.Ranges) // nesting writes to them
	lines := model.Nest(len(ranges), func(i int) (*model.Range, int32) { return &ranges[i], ranges[i].Thread })
	for number, line := range lines {
		h.thread(number).ranges.Timeline = line
		h.all.Timeline = line
	}
	if len(lines) > 1 {
		h.all.Timeline = model.Nest(len(ranges), func(i int) (*model.Range, int) { return &ranges[i], 0 })[0]
	}
	return h
}

// overheadIn are the profiler's interruptions within [a, b), cut to it. Times are asked for in their order.
func (h *host) overheadIn(a, b int64) (out []model.Interval) {
	for h.passed < len(h.t.Overhead) && h.t.Overhead[h.passed].End <= a {
		h.passed++
	}
	for _, x := range h.t.Overhead[h.passed:] {
		if x.Start >= b {
			break
		}
		if x.End > x.Start {
			out = append(out, model.Interval{Start: max(a, x.Start), End: min(b, x.End)})
		}
	}
	return out
}

// rangeAt is the name of the innermost range at a time: of the thread, or where that has none, of any. -1 is none.
func (h *host) rangeAt(t *thread, at int64) int32 {
	i := t.ranges.At(at)
	if i < 0 {
		i = h.all.At(at)
		if i < 0 {
			return -1
		}
	}
	return h.t.Ranges[i].Name
}

// callAfter stands at the first call of a thread that ends after a time. Times are asked for nearly in their order.
func (h *host) callAfter(t *thread, time int64) *model.CallCursor {
	const near = 32 // calls that are gone over one by one
	for n := 0; t.call.OK && t.call.Call.End <= time || time < t.time; n++ {
		if n == near || time < t.time {
			t.call = h.t.Calls.From(t.number, time)
			break
		}
		t.call.Next()
	}
	t.time = time
	return &t.call
}

// spend attributes the time before a thread issued the next operation to its activity in that time.
func (h *host) spend(a, b int64, number int32) {
	t := h.thread(number)
	for a < b {
		call, o, until := h.callAfter(t, a), nobody(Starved), b
		if call.OK && call.Call.Start <= a {
			o = h.within(call.Call.Name)
			until = min(b, call.Call.End)
		} else {
			if call.Before >= 0 && h.waits[call.Before] {
				o.After = call.Before
			}
			if call.OK {
				until = min(b, call.Call.Start)
			}
		}
		// The range is that of the middle: a piece is short, and its ends are those of ranges.
		o.Range = h.rangeAt(t, a+(until-a)/2)
		h.add(o, until-a)
		a = until
	}
}

// issuing owns the time from the call of an operation to its start on a GPU that has nothing else to do.
func (h *host) issuing(next *work) Cause {
	t := h.thread(next.thread)
	o, call := nobody(Starved), h.callAfter(t, next.api-1)
	if call.OK && call.Call.Start < next.api {
		inside := *call
		for call = &inside; call.OK && call.Call.Start < next.api; {
			call.Next()
		}
	}
	if call.OK && call.Call.Start == next.api {
		o = h.within(call.Call.Name)
	}
	o.Range = h.rangeAt(t, next.api)
	return o
}

// within owns time that the host spends in a call.
func (h *host) within(call int32) Cause {
	o := nobody(Starved)
	o.Call = call
	if h.waits[call] {
		o.Class = Blocking
	}
	return o
}
