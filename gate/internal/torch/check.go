package torch

import (
	"slices"

	"github.com/nsgate/nsgate/gate/internal/model"
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
		return model.Refuse(model.OtherDevice, "profile on a CUDA GPU",
			"%s is the trace of %s and holds %s: nsgate does not read them", t.source, t.foreigner, measure.Count(t.foreign, "event")+" of it")
	case launches == 0:
		return t.refuseNoKernels(calls)
	case t.lost != "":
		return model.Refuse(model.RecordsLost, "profile fewer steps, or set KINETO_CONFIG to a file with ACTIVITIES_MAX_GPU_BUFFER_SIZE_MB=1024",
			"%s: %s, and kernels are missing", t.source, t.lost)
	case t.timeless > 0:
		return model.Refuse(model.RecordsLost, "profile fewer steps",
			"%s: %d of %d kernels have no time: the GPU's records of them were lost", t.source, t.timeless, launches)
	case !slices.ContainsFunc(t.launches, func(l launch) bool { return l.End > l.Start }):
		return model.Refuse(model.ZeroLength, profileAgain,
			"%s: all %d kernels took no time: the GPU's clock was not recorded", t.source, launches)
	// What is captured into a CUDA graph launches nothing.
	case !t.capturing && unanswered > leastCalls && float64(unanswered) > mostLost*float64(calls):
		return model.Refuse(model.KernelsLost, "call torch.cuda.synchronize() before the profiler stops, and profile fewer steps",
			"%s: %d of %d calls that launch a kernel have no kernel: the GPU's records of them were lost", t.source, unanswered, calls)
	}
	return nil
}

// refuseNoKernels says as well as the trace allows why it holds no kernel.
func (t *trace) refuseNoKernels(calls int) error {
	switch {
	case t.cupti != "":
		return model.Refuse(model.CuptiFailed, "see that no other profiler (nsys, ncu, DCGM) uses the GPU, and that this user may profile",
			"%s holds no GPU kernel: CUPTI failed with %s", t.source, t.cupti)
	case !t.known:
		return model.Refuse(model.OtherFormat, "name a file that prof.export_chrome_trace wrote",
			"%s holds no GPU kernel: nothing in it is of torch.profiler", t.source)
	case calls > 0:
		return model.Refuse(model.KernelsLost, activities+", call torch.cuda.synchronize() before it stops, and see that no other profiler uses the GPU",
			"%s holds no GPU kernel: %d were launched, but none was recorded on the GPU", t.source, calls)
	case len(t.calls) > 0:
		return model.Refuse(model.NoKernels, "see that the active steps of the schedule cover the work",
			"%s holds no GPU kernel: the program called CUDA but launched nothing while it was profiled", t.source)
	}
	// So it is too where CUPTI could not start: releases of Kineto since 2025 keep no log of that in the trace.
	return model.Refuse(model.NotTraced, activities+", where torch.cuda.is_available() and no other profiler (nsys, ncu, DCGM) uses the GPU",
		"%s holds no GPU kernel: only the CPU was recorded", t.source)
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
