package torch

import (
	"slices"

	"github.com/nsgate/nsgate/gate/internal/model"
)

// This file holds the rules by which a whole trace is refused, or doubted, before anything in it is judged.

// A call that launches a kernel and a record of that kernel go together. Some calls at the ends of the profile lack
// theirs; a trace that lacks many lost them.
const (
	mostLost   = 0.1 // of the calls
	leastCalls = 20  // so many must lack their kernel as well
)

// check refuses a trace that is not complete.
func (t *trace) check() error {
	calls, unanswered := t.unanswered()
	launches := len(t.launches)
	switch {
	case t.foreign > 0 && len(t.calls) == 0:
		return t.refuse("intel-gpu")
	case launches == 0:
		return t.refuseNoKernels(calls)
	case t.lost != "":
		return t.refuse("records-lost", t.lost)
	case t.timeless > 0:
		return t.refuse("no-times", t.timeless, launches)
	case !slices.ContainsFunc(t.launches, func(l launch) bool { return l.End > l.Start }):
		return t.refuse("zero-length", launches)
	// What is captured into a CUDA graph launches nothing.
	case !t.capturing && unanswered > leastCalls && float64(unanswered) > mostLost*float64(calls):
		return t.refuse("kernels-lost", unanswered, calls)
	}
	return nil
}

// refuseNoKernels says as well as the trace allows why it holds no kernel.
func (t *trace) refuseNoKernels(calls int) error {
	switch {
	case t.cupti != "":
		return t.refuse("cupti-failed", t.cupti)
	case !t.known:
		return t.refuse("other-trace")
	case calls > 0:
		return t.refuse("none-recorded", calls)
	case len(t.calls) > 0:
		return t.refuse("nothing-launched")
	}
	// So it is too where CUPTI could not start: releases of Kineto since 2025 keep no log of that in the trace.
	return t.refuse("cpu-only")
}

// unanswered counts the calls that launch a kernel, and how many have no kernel.
func (t *trace) unanswered() (calls, without int) {
	for _, c := range t.calls {
		if c.launches {
			calls++
			if !c.answered {
				without++
			}
		}
	}
	return calls, without
}

// swallowed counts the launches during which a later one on the same stream begins and ends, and finds the longest. A
// stream works off one launch after the other, so that the GPU's record of such a launch is broken. Neighbours may
// overlap a little.
func swallowed(launches []model.Launch) (count int, longest int64) {
	const little = 10_000 // ns
	type stream struct{ device, number int32 }
	last := map[stream]*model.Launch{}
	for i := range launches {
		l := &launches[i]
		on := stream{l.Device, l.Stream}
		if before := last[on]; before != nil && l.End < before.End-little {
			count++
			longest = max(longest, before.End-before.Start)
		}
		last[on] = l
	}
	return count, longest
}
