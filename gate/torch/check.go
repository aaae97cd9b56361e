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

const activities = "profile with activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]"

// check refuses a trace that is not complete.
func (t *trace) check() error {
	name := t.src.name
	calls, unanswered := t.unanswered()
	if t.foreign > 0 && len(t.calls) == 0 {
		return measure.Refuse(name+" is the trace of an Intel GPU (XPU), which nsgate cannot judge", "profile on a CUDA GPU")
	}
	if len(t.launches) == 0 {
		return t.refuseNoKernels(calls)
	}
	if t.lost != "" {
		return measure.Refuse(name+": "+t.lost+", and kernels are missing",
			"profile fewer steps, or set KINETO_CONFIG to a file with ACTIVITIES_MAX_GPU_BUFFER_SIZE_MB=1024")
	}
	if t.timeless > 0 {
		return measure.Refuse(fmt.Sprintf("%s: %d of %d kernels have no time: the GPU's records of them were lost",
			name, t.timeless, len(t.launches)), "profile fewer steps")
	}
	if !slices.ContainsFunc(t.launches, func(l launch) bool { return l.end > l.start }) {
		return measure.Refuse(fmt.Sprintf("%s: all %d kernels took no time: the GPU's clock was not recorded",
			name, len(t.launches)), profileAgain)
	}
	// What is captured into a CUDA graph launches nothing.
	if !t.capturing && unanswered > leastCalls && float64(unanswered) > mostLost*float64(calls) {
		return measure.Refuse(fmt.Sprintf("%s: %d of %d calls that launch a kernel have no kernel: "+
			"the GPU's records of them were lost", name, unanswered, calls),
			"call torch.cuda.synchronize() before the profiler stops, and profile fewer steps")
	}
	return nil
}

// refuseNoKernels says as well as the trace allows why it holds no kernel.
func (t *trace) refuseNoKernels(calls int) error {
	none := t.src.name + " holds no GPU kernel: "
	switch {
	case t.cupti != "":
		return measure.Refuse(none+"CUPTI failed with "+t.cupti,
			"see that no other profiler (nsys, ncu, DCGM) uses the GPU, and that this user may profile")
	case !t.known:
		return measure.Refuse(none+"nothing in it is of torch.profiler", "name a file that prof.export_chrome_trace wrote")
	case calls > 0:
		return measure.Refuse(fmt.Sprintf("%s%d were launched, but none was recorded on the GPU", none, calls),
			activities+", call torch.cuda.synchronize() before it stops, and see that no other profiler uses the GPU")
	case len(t.calls) > 0:
		return measure.Refuse(none+"the program called CUDA but launched nothing while it was profiled",
			"see that the active steps of the schedule cover the work")
	}
	// So it is too where CUPTI could not start: releases of Kineto since 2025 keep no log of that in the trace.
	return measure.Refuse(none+"only the CPU was recorded",
		activities+", where torch.cuda.is_available() and no other profiler (nsys, ncu, DCGM) uses the GPU")
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
