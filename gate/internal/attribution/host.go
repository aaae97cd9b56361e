package attribution

import (
	"slices"

	"github.com/nsgate/nsgate/gate/internal/model"
)

// host says what the CPU's threads did at any time.
type host struct {
	t      *model.Trace
	waits  []bool                  // by call name: it synchronises
	ranges map[int32]*model.Cursor // of each thread
	all    model.Cursor            // the ranges of all threads as if they were one
	places map[int32]*place        // by thread: where its calls were last asked for
	passed int                     // overheads that ended before what is asked for
	add    func(Cause, int64)      // adds a time in ns to a cause
}

// place is the first call that ends after a time.
type place struct {
	time int64
	call model.CallCursor
}

func newHost(t *model.Trace) *host {
	h := &host{t: t, ranges: map[int32]*model.Cursor{}, places: map[int32]*place{}}
	for _, name := range t.CallNames {
		h.waits = append(h.waits, Synchronises(name))
	}
	ranges := slices.Clone(t.Ranges) // nesting writes to them
	lines := model.Nest(len(ranges), func(i int) (*model.Range, int32) { return &ranges[i], ranges[i].Thread })
	for thread, line := range lines {
		h.ranges[thread] = &model.Cursor{Timeline: line}
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
func (h *host) rangeAt(thread int32, at int64) int32 {
	i := int32(-1)
	if line := h.ranges[thread]; line != nil {
		i = line.At(at)
	}
	if i < 0 {
		if i = h.all.At(at); i < 0 {
			return -1
		}
	}
	return h.t.Ranges[i].Name
}

// callAfter stands at the first call of a thread that ends after a time. Times are asked for nearly in their order.
func (h *host) callAfter(thread int32, time int64) model.CallCursor {
	const near = 32 // calls that are gone over one by one
	p := h.places[thread]
	if p == nil {
		p = &place{time: time, call: h.t.Calls.From(thread, time)}
		h.places[thread] = p
	}
	for n := 0; p.call.OK && p.call.Call.End <= time || time < p.time; n++ {
		if n == near || time < p.time {
			p.call = h.t.Calls.From(thread, time)
			break
		}
		p.call.Next()
	}
	p.time = time
	return p.call
}

// spend attributes the time before a thread issued the next operation to its activity in that time.
func (h *host) spend(a, b int64, thread int32) {
	call := h.callAfter(thread, a)
	for a < b {
		o, until := nobody(Starved), b
		if call.OK && call.Call.Start <= a {
			o = h.within(call.Call.Name)
			until = min(b, call.Call.End)
			call.Next()
		} else {
			if call.Before >= 0 && h.waits[call.Before] {
				o.After = call.Before
			}
			if call.OK {
				until = min(b, call.Call.Start)
			}
		}
		// The range is that of the middle: a piece is short, and its ends are those of ranges.
		o.Range = h.rangeAt(thread, a+(until-a)/2)
		h.add(o, until-a)
		a = until
	}
}

// issuing owns the time from the call of an operation to its start on a GPU that has nothing else to do.
func (h *host) issuing(next *work) Cause {
	o, call := nobody(Starved), h.callAfter(next.thread, next.api-1)
	for call.OK && call.Call.Start < next.api {
		call.Next()
	}
	if call.OK && call.Call.Start == next.api {
		o = h.within(call.Call.Name)
	}
	o.Range = h.rangeAt(next.thread, next.api)
	return o
}

// within owns time that the host spends in a call.
func (h *host) within(call int32) Cause {
	o := nobody(Starved)
	if o.Call = call; h.waits[call] {
		o.Class = Blocking
	}
	return o
}
