package torch

import (
	"bufio"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

func (t *trace) finish() (*model.Trace, error) {
	slices.SortFunc(t.launches, func(a, b launch) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End), cmp.Compare(a.id, b.id),
			cmp.Compare(a.Kernel, b.Kernel), cmp.Compare(a.Device, b.Device), cmp.Compare(a.Stream, b.Stream))
	})
	written := len(t.launches) // some of them twice
	t.launches = slices.CompactFunc(t.launches,
		func(a, b launch) bool { return a == b && a.End > a.Start && a.id != 0 })
	t.twice = written - len(t.launches)
	slices.SortStableFunc(t.copies, func(a, b transfer) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End))
	})
	t.joinCalls()
	missing := t.attach()
	calls, lost := t.unanswered()
	if err := t.check(calls, len(lost)); err != nil {
		return nil, err
	}
	out := &model.Trace{Source: string(t.source), MemoryPeak: -1, RangeNames: t.spans.List, Ranges: t.ranges,
		Rank: t.rank, World: t.world}
	if pid, err := strconv.Atoi(t.pid); err == nil {
		out.Process = pid
	}
	out.Kernels = t.kernels()
	out.Launches = measure.Map(t.launches, func(l launch) model.Launch { return l.Launch })
	if err := out.NameKernels(out.Source, new(model.KernelNames)); err != nil {
		return nil, err
	}
	out.Copies = []model.Copy{}
	if t.unsized == 0 { // or the bytes of the others would pass for all
		for _, c := range t.copies {
			out.Copies = append(out.Copies, c.Copy)
		}
	}
	if t.undated == 0 { // or the others would pass for all
		var clean model.Interned[string]
		t.made.Settle(func(name int32) int32 {
			to, _ := clean.Of(callName(text([]byte(t.callNames.List[name]))))
			return to
		})
		out.CallNames, out.Calls = clean.List, t.made
	}
	out.Environment = t.environment(out.Launches)
	if !t.capturing {
		out.Lost = lost
	}
	t.doubt(out, missing, calls, len(lost))
	if t.amd && out.GPU == "" {
		out.Warnings = append(out.Warnings, "the trace is of an AMD GPU and does not say of which model")
	}
	return out, nil
}

// joinCalls makes one of the calls of one id: the runtime's, and the driver's inside it, which begins later.
func (t *trace) joinCalls() {
	slices.SortFunc(t.calls, func(a, b call) int {
		return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.start, b.start))
	})
	joined := t.calls[:0]
	for _, c := range t.calls {
		if n := len(joined); n > 0 && joined[n-1].id == c.id {
			joined[n-1].launches = joined[n-1].launches || c.launches
			joined[n-1].graph = joined[n-1].graph || c.graph
			continue
		}
		joined = append(joined, c)
	}
	t.calls = joined
}

// attach gives each launch and copy the time of its call, and the innermost range around that on the same thread. It
// counts the launches that have no call.
func (t *trace) attach() (missing int) {
	slices.SortStableFunc(t.ranges, func(a, b model.Range) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), -cmp.Compare(a.End, b.End))
	})
	lines := model.Nest(len(t.ranges), func(i int) (*model.Range, int32) { return &t.ranges[i], t.ranges[i].Thread })
	find := func(id int64) *call {
		i, ok := slices.BinarySearchFunc(t.calls, id, func(c call, id int64) int { return cmp.Compare(c.id, id) })
		if !ok {
			return nil
		}
		return &t.calls[i]
	}
	for i := range t.launches {
		l := &t.launches[i]
		c := find(l.id)
		if c == nil {
			missing++
			continue
		}
		c.answered = true
		l.API, l.Node, l.Range, l.Thread = c.start, c.graph, lines[c.thread].At(c.start), c.thread
	}
	for i := range t.copies {
		if c := find(t.copies[i].id); c != nil {
			t.copies[i].API, t.copies[i].Range, t.copies[i].Thread = c.start, lines[c.thread].At(c.start), c.thread
		}
	}
	return missing
}

// kernels are the variants. Kineto tells only the sum of static and dynamic shared memory, which stands as dynamic.
func (t *trace) kernels() (kernels []model.KernelInfo) {
	raw := measure.Map(t.names.List, func(name string) string { return text([]byte(name)) })
	for _, v := range t.variants.List {
		k := model.KernelInfo{Subject: measure.Subject{Grid: v.grid, Block: v.block}, Raw: raw[v.name],
			Registers: v.registers, StaticShared: -1, DynamicShared: v.shared, LocalMemory: -1}
		if v.shared == 0 {
			k.StaticShared = 0
		}
		kernels = append(kernels, k)
	}
	return kernels
}

// doubt adds what does not forbid a judgement.
func (t *trace) doubt(out *model.Trace, missing, calls, unanswered int) {
	warn := func(n int, format string, args ...any) {
		if n > 0 {
			out.Warnings = append(out.Warnings, fmt.Sprintf(format, append([]any{n}, args...)...))
		}
	}
	swallowed, longest := swallowed(out.Launches)
	warn(t.unsized, "%d of %d copies and memsets do not tell their size: none is judged", len(t.copies))
	warn(t.undated, "%d CUDA calls do not tell when they were: none is judged")
	warn(missing, "%d of %d launches have no CUDA call in the trace: they belong to no range", len(t.launches))
	warn(t.twice, "%d launches are written twice in the trace: each counts once")
	warn(unanswered, "%d of %d calls that launch a kernel have no kernel in the trace", calls)
	warn(swallowed, "%d launches last longer than others that start later on their stream, up to %d µs: their "+
		"durations are doubtful", longest/1000)
}

func readTrace(name source, in *bufio.Reader) (*model.Trace, error) {
	t := &trace{scanner: newScanner(name, in), extents: map[string]measure.Dim3{}}
	if err := t.walk(t.readFact, t.add); err != nil {
		return nil, err
	}
	if err := t.end(); err != nil {
		return nil, err
	}
	return t.finish()
}

func (t *trace) environment(launches []model.Launch) model.Environment {
	e := model.Environment{
		Tool: cmp.Or(t.tool, string(model.Torch)), Schema: t.schema, CUDA: cmp.Or(t.runtime, t.driver),
		Tick: microsecond,
	}
	if t.fractional { // Kineto rounds start and end each for itself, so that durations are a multiple to within 2 ns
		e.Tick = model.Tick(launches, 2)
	}
	used := model.Devices(launches)
	e.GPUs = len(used)
	e.GPU = t.models(used)
	// Times count from the base; without one from 1970, or from a start that nothing tells.
	const since = 1e18 // 2001, in ns
	first := launches[0].Start
	switch {
	case first > since:
		e.Start = time.Unix(0, first).UTC()
	case t.base > since && t.base < 1<<62:
		e.Start = time.Unix(0, t.base).Add(time.Duration(first)).UTC()
	}
	return e
}

// models names the GPUs of some numbers. ROCm lists its GPUs from 0 on, but the numbers of its events count the
// processors as well: where one of them is not in the list, only a list of one model tells which GPUs they are.
func (t *trace) models(used []int32) string {
	var names []string
	for _, d := range used {
		name, listed := t.gpus[d]
		if !listed && len(t.gpus) > 0 {
			names = slices.Collect(maps.Values(t.gpus))
			slices.Sort(names)
			return measure.Either(names[0] != names[len(names)-1], "", names[0])
		}
		names = append(names, name)
	}
	return model.Models(names)
}

// Each call that launches a kernel has a record of that kernel, except for a few at the ends of the profile. A trace
// that lacks more records than this lost them.
const (
	mostLost   = 0.1 // of the calls
	leastCalls = 20  // so many must lack their kernel as well
)

func (t *trace) check(calls, unanswered int) error {
	launches := len(t.launches)
	switch {
	case t.foreign > 0 && len(t.calls) == 0:
		return model.Refuse(model.OtherDevice, supported,
			"%s is the trace of %s and holds %s: nsgate does not read them", t.source, t.foreigner,
			measure.Count(t.foreign, "event")+" of it")
	case len(t.calls) == 0 && t.ofIntel() != "":
		return model.Refuse(model.OtherDevice, supported,
			"%s is the trace of %s (%s): nsgate does not read them", t.source, foreign["xpu"], t.ofIntel())
	case launches == 0:
		return t.refuseNoKernels(calls)
	case t.lost != "":
		return model.Refuse(model.RecordsLost,
			"profile fewer steps, or set KINETO_CONFIG to a file with ACTIVITIES_MAX_GPU_BUFFER_SIZE_MB=1024",
			"%s: %s, and kernels are missing", t.source, t.lost)
	case t.timeless > 0:
		return model.Refuse(model.RecordsLost, "profile fewer steps",
			"%s: %d of %d kernels have no time: the GPU's records of them were lost", t.source, t.timeless, launches)
	case !slices.ContainsFunc(t.launches, func(l launch) bool { return l.End > l.Start }):
		return model.Refuse(model.ZeroLength, profileAgain,
			"%s: all %d kernels took no time: the GPU's clock was not recorded", t.source, launches)
	// Calls that are captured into a CUDA graph launch nothing.
	case !t.capturing && unanswered > leastCalls && float64(unanswered) > mostLost*float64(calls):
		return model.Refuse(model.KernelsLost,
			"call torch.cuda.synchronize() before the profiler stops, and profile fewer steps",
			"%s: %d of %d calls that launch a kernel have no kernel: the GPU's records of them were lost", t.source,
			unanswered, calls)
	}
	return nil
}

// supported is the next step where a device is not judged.
const supported = "profile on a GPU of NVIDIA (CUDA) or AMD (ROCm), of which traces are read"

// ofIntel is the name of a GPU of Intel, "" where no device has one.
func (t *trace) ofIntel() string {
	names := slices.Sorted(maps.Values(t.gpus))
	return append(measure.Where(names, func(name string) bool { return strings.HasPrefix(name, "Intel") }), "")[0]
}

// refuseNoKernels refuses a trace without kernels, with the most precise reason that the trace gives.
func (t *trace) refuseNoKernels(calls int) error {
	switch {
	case t.cupti != "":
		return model.Refuse(model.CuptiFailed,
			"see that no other profiler (nsys, ncu, DCGM) uses the GPU, and that this user may profile",
			"%s holds no GPU kernel: CUPTI failed with %s", t.source, t.cupti)
	case !t.known:
		return model.Refuse(model.OtherFormat, "name a file that prof.export_chrome_trace wrote",
			"%s holds no GPU kernel: nothing in it is of torch.profiler", t.source)
	case calls > 0:
		return model.Refuse(model.KernelsLost,
			activities+", call torch.cuda.synchronize() before it stops, and see that no other profiler uses the GPU",
			"%s holds no GPU kernel: %d were launched, but none was recorded on the GPU", t.source, calls)
	case len(t.calls) > 0:
		return model.Refuse(model.NoKernels, "see that the active steps of the schedule cover the work",
			"%s holds no GPU kernel: the program called CUDA but launched nothing while it was profiled", t.source)
	}
	// So it is too where CUPTI could not start: releases of Kineto since 2025 keep no log of that in the trace.
	return model.Refuse(model.NotTraced,
		activities+", where torch.cuda.is_available() and no other profiler (nsys, ncu, DCGM) uses the GPU",
		"%s holds no GPU kernel: only the CPU was recorded", t.source)
}

// unanswered counts the calls that launch a kernel, and gives the times of those without a kernel.
func (t *trace) unanswered() (calls int, without []int64) {
	for _, c := range t.calls {
		if c.launches {
			calls++
			if !c.answered {
				without = append(without, c.start)
			}
		}
	}
	return calls, without
}

// swallowed counts the launches during which a later one on the same stream begins and ends, and finds the longest. A
// stream works off one launch after the other, so that the GPU's record of such a launch is broken. Neighbours may
// overlap a little.
func swallowed(launches []model.Launch) (count int, longest int64) {
	const little = 10_000                // ns
	last := map[[2]int32]*model.Launch{} // by device and stream
	for i := range launches {
		l := &launches[i]
		on := [2]int32{l.Device, l.Stream}
		if before := last[on]; before != nil && l.End < before.End-little {
			count++
			longest = max(longest, before.End-before.Start)
		}
		last[on] = l
	}
	return count, longest
}
