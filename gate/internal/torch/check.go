package torch

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/nsgate/nsgate/gate/measure"
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
		return t.src.refuse("intel-gpu")
	case launches == 0:
		return t.refuseNoKernels(calls)
	case t.lost != "":
		return t.src.refuse("records-lost", t.lost)
	case t.timeless > 0:
		return t.src.refuse("no-times", t.timeless, launches)
	case !slices.ContainsFunc(t.launches, func(l launch) bool { return l.end > l.start }):
		return t.src.refuse("zero-length", launches)
	// What is captured into a CUDA graph launches nothing.
	case !t.capturing && unanswered > leastCalls && float64(unanswered) > mostLost*float64(calls):
		return t.src.refuse("kernels-lost", unanswered, calls)
	}
	return nil
}

// refuseNoKernels says as well as the trace allows why it holds no kernel.
func (t *trace) refuseNoKernels(calls int) error {
	switch {
	case t.cupti != "":
		return t.src.refuse("cupti-failed", t.cupti)
	case !t.known:
		return t.src.refuse("other-trace")
	case calls > 0:
		return t.src.refuse("none-recorded", calls)
	case len(t.calls) > 0:
		return t.src.refuse("nothing-launched")
	}
	// So it is too where CUPTI could not start: releases of Kineto since 2025 keep no log of that in the trace.
	return t.src.refuse("cpu-only")
}

// unanswered counts the calls that launch a kernel, those of one id as one, and how many have no kernel.
func (t *trace) unanswered() (calls, without int) {
	ids := make([]int64, len(t.launches))
	for i, l := range t.launches {
		ids[i] = l.id
	}
	slices.Sort(ids)
	for i, c := range t.calls {
		if c.does&launchesKernel == 0 || i > 0 && t.calls[i-1].id == c.id && t.calls[i-1].does&launchesKernel != 0 {
			continue
		}
		calls++
		if _, ok := slices.BinarySearch(ids, c.id); !ok {
			without++
		}
	}
	return calls, without
}

// dropTwice takes out launches that are written twice, and counts them.
func (t *trace) dropTwice() {
	before := len(t.launches)
	t.launches = slices.CompactFunc(t.launches, func(a, b launch) bool { return a == b && a.end > a.start && a.id != 0 })
	t.twice = before - len(t.launches)
}

// doubt adds what does not forbid a judgement.
func (t *trace) doubt(out *measure.Trace) {
	warn := func(format string, args ...any) { out.Warnings = append(out.Warnings, fmt.Sprintf(format, args...)) }
	if t.twice > 0 {
		warn("%d launches are written twice in the trace: each counts once", t.twice)
	}
	if calls, without := t.unanswered(); without > 0 {
		warn("%d of %d calls that launch a kernel have no kernel in the trace", without, calls)
	}
	if n, longest := swallowed(out.Launches); n > 0 {
		warn("%d launches last longer than others that start later on their stream, up to %d µs: their durations are doubtful",
			n, longest/1000)
	}
}

// swallowed counts the launches during which a later one on the same stream begins and ends, and finds the longest. A
// stream works off one launch after the other, so that the GPU's record of such a launch is broken. Neighbours may
// overlap a little.
func swallowed(launches []measure.Launch) (count int, longest int64) {
	const little = 10_000 // ns
	order := make([]int32, len(launches))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(i, j int32) int {
		a, b := &launches[i], &launches[j]
		return cmp.Or(cmp.Compare(a.Device, b.Device), cmp.Compare(a.Stream, b.Stream))
	})
	for k := 1; k < len(order); k++ {
		a, b := &launches[order[k-1]], &launches[order[k]]
		if a.Device == b.Device && a.Stream == b.Stream && b.End < a.End-little {
			count++
			longest = max(longest, a.End-a.Start)
		}
	}
	return count, longest
}
