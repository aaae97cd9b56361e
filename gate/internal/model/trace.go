package model

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
)

// Trace is the activity of one process on its GPUs: a run before its reduction to samples. Times are nanoseconds on the
// profiler's clock.
type Trace struct {
	// Source is the file that the trace came from, for messages only.
	Source string
	// Process is the pid, for messages only.
	Process int
	// Job names the launch of the workload that the process was a rank of, and Rank is which, where something outside
	// the recording says so: the name of its file, or the launcher. "" where the recordings alone must tell.
	Job  string
	Rank int
	// World is the number of ranks of the job where the recording itself names it, and its Rank; 0 elsewhere.
	World int
	Environment
	// Zero is UTC at time 0 of the trace's clock, zero where unknown.
	Zero time.Time
	// Lifetime is from the start of the process that nsgate ran to its end; empty where unknown.
	Lifetime Interval
	// Overlapped is true for a process that started while others did, and waited for its turn when it opened the GPU:
	// Lifetime begins with its turn, and its start-up is no measure.
	Overlapped bool
	Kernels    []KernelInfo
	Launches   []Launch // sorted by Start
	Copies     []Copy   // sorted by Start
	// Lost are the times of the CUDA calls that launched a kernel without a record.
	Lost []int64
	// Silent are the numbers that CUDA gave to calls and that no launch and no copy has, of a trace that lists no
	// calls; nil where it does not number them.
	Silent []Silent
	// RangeNames are the names that Ranges refer to.
	RangeNames []string
	// RangeCategories are the NVTX categories of those, "" for none; nil where the trace does not say.
	RangeCategories []string
	Ranges          []Range // sorted by Start
	// Messages are the messages of collectives that were called in a range, by its index in Ranges.
	Messages map[int32]Message
	// CallNames are the names that Calls refer to: "cudaLaunchKernel".
	CallNames []string
	// Calls are the CUDA calls of the process, none where they were not read.
	Calls Calls
	// Overhead is the times in which the profiler delayed the process: sorted, disjoint.
	Overhead []Interval
	// Captures are the intervals between cudaProfilerStart and cudaProfilerStop, sorted; End is the end of the trace
	// where no stop was called.
	Captures []Interval
	// MemoryPeak is the high-water mark of device memory in bytes, -1 where memory use was not recorded.
	MemoryPeak int64
	// Requests are the requests for device memory that were not given back when the peak was reached, sorted by time.
	Requests []Request
	// Sampling is the samples of the GPUs of the process, nil for none.
	Sampling *Sampling
	// Callers are the call stacks of launches and other CUDA calls, the most frequent first; empty if none were
	// recorded.
	Callers []Caller
	// Warnings are doubts that do not forbid a judgement.
	Warnings []string

	// Fragment takes the place of launches, copies, ranges and calls, nil for none.
	Fragment *Fragment
}

// KernelInfo is the attributes that all launches of one kernel share.
type KernelInfo struct {
	Subject measure.Subject
	// Raw is the demangled name as the profiler wrote it, before normalisation.
	Raw string
	// Registers per thread, static and dynamic shared memory in bytes, local memory in bytes per thread.
	Registers, StaticShared, DynamicShared, LocalMemory int64
	// Graph numbers CUDA graphs that were recorded as a whole, in one process: from 1, 0 of a kernel.
	Graph int32
}

// MergeKernels merges the kernels of one subject and graph, whose names differ in parts that [measure.NormalizeName]
// removes or which were launched with different attributes: those of the most launches stay. launches counts those of
// each kernel, and to gives each its place in the result.
func MergeKernels(kernels []KernelInfo, launches []int) (merged []KernelInfo, to []int32) {
	var most []int
	type identity struct {
		subject measure.Subject
		graph   int32
	}
	index := make(map[identity]int32, len(kernels))
	to = make([]int32, len(kernels))
	for i, k := range kernels {
		at, ok := index[identity{k.Subject, k.Graph}]
		switch {
		case !ok:
			at = int32(len(merged))
			index[identity{k.Subject, k.Graph}] = at
			merged, most = append(merged, k), append(most, launches[i])
		case launches[i] > most[at]:
			merged[at], most[at] = k, launches[i]
		}
		to[i] = at
	}
	return merged, to
}

// Launch is one execution of a kernel on the GPU.
type Launch struct {
	Start, End int64
	// API is the start of the CUDA call that launched it, Start where the trace does not say.
	API    int64
	Kernel int32 // index into Trace.Kernels
	Range  int32 // innermost range around the call, index into Trace.Ranges, -1 for none
	Device int32
	Stream int32
	// Node is true for launches that came from a node of a CUDA graph.
	Node bool
	// Thread made the call, -1 where the trace does not say.
	Thread int32
}

// Copy is one memory copy or memset on the GPU.
type Copy struct {
	Start, End int64
	API        int64
	Bytes      int64
	Range      int32
	Device     int32
	Stream     int32
	Thread     int32 // as of a [Launch]
	Kind       CopyKind
	// Source and Target are the kinds of memory; Source is MemoryUnknown for a memset.
	Source, Target MemoryKind
}

// Memory names the kinds of memory: "pageable to device", that of a memset alone.
func (x *Copy) Memory() string {
	return measure.Either(x.Kind == Memset, "", x.Source.String()+" to ") + x.Target.String()
}

// MarkPrefix begins the names of NVTX marks, which are ranges without a length: "mark:iteration". A step named so lasts
// from one mark to the next.
const MarkPrefix = "mark:"

// Range is one occurrence of an NVTX range or mark.
type Range struct {
	Start, End int64
	Name       int32 // index into Trace.RangeNames
	Parent     int32 // innermost enclosing range of the same thread, -1 for none
	Thread     int32 // as of a [Launch]
}

// Message is the message of a collective.
type Message struct {
	// Communicator is the same number in all ranks that take part, 0 where it is not known.
	Communicator uint64
	// Bytes is the size of the message as the caller gave it, 0 where it is not known.
	Bytes int64
}

// Silent is how many calls of the process without a launch or copy came before the one of the operation that began at a
// time.
type Silent struct{ Time, Calls int64 }

// CopyKind is the direction of a copy, numbered as CUPTI numbers it; Memset is added.
type CopyKind int8

// Memset is the kind of a memset among the copies.
const Memset CopyKind = 100

var copyKinds = map[CopyKind]string{
	1: "memcpy HtoD", 2: "memcpy DtoH", 3: "memcpy HtoA", 4: "memcpy AtoH", 5: "memcpy AtoA", 6: "memcpy AtoD",
	7: "memcpy DtoA", 8: "memcpy DtoD", 9: "memcpy HtoH", 10: "memcpy PtoP",
	11: "unified memcpy HtoD", 12: "unified memcpy DtoH", 13: "unified memcpy DtoD", Memset: "memset",
}

// String names the kind as Nsight Systems does, without its "CUDA" prefix: "memcpy HtoD".
func (k CopyKind) String() string {
	if s, ok := copyKinds[k]; ok {
		return s
	}
	return "memcpy of unknown kind"
}

// CopyKindNamed is the kind of the name that [CopyKind.String] gives, and of unknown kind (0) for any other.
func CopyKindNamed(name string) CopyKind {
	for k, s := range copyKinds {
		if s == name {
			return k
		}
	}
	return 0
}

// MemoryKind is the kind of memory at one end of a copy, numbered as CUPTI numbers it from 0 (pageable); MemoryUnknown
// where the trace does not say.
type MemoryKind int8

// Pageable is memory of the host that the driver copies through buffers of its own; MemoryUnknown stands for a missing
// kind.
const (
	Pageable      MemoryKind = 0
	MemoryUnknown MemoryKind = 7
)

// String names the kind of memory.
func (k MemoryKind) String() string {
	names := [...]string{"pageable", "pinned", "device", "array", "managed", "device-static", "managed-static"}
	if k >= 0 && int(k) < len(names) {
		return names[k]
	}
	return "unknown"
}

// MemoryKindNamed is the kind of memory as any profiler writes it: "Device Static", "device-static".
func MemoryKindNamed(name string) MemoryKind {
	name = strings.NewReplacer(" ", "-", "_", "-").Replace(strings.ToLower(name))
	for k := MemoryKind(0); k < MemoryUnknown; k++ {
		if k.String() == name {
			return k
		}
	}
	return MemoryUnknown
}

// Begin is the start of the first launch; ok is false without launches.
func (t *Trace) Begin() (start int64, ok bool) {
	switch {
	case t.Fragment != nil:
		return t.Fragment.Span.Start, true
	case len(t.Launches) > 0:
		return t.Launches[0].Start, true
	}
	return 0, false
}

// End is the end of the last launch or copy, 0 for an empty trace.
func (t *Trace) End() int64 {
	var end int64
	if t.Fragment != nil {
		end = t.Fragment.End
	}
	return max(end, measure.Most(t.Launches, func(l Launch) int64 { return l.End }),
		measure.Most(t.Copies, func(x Copy) int64 { return x.End }))
}

var digits = input.Pattern(`[0-9]+`)

// Doubts gives the warnings of traces, those that differ in numbers alone once, with the file where there are several.
func Doubts(traces []Trace) (out []string) {
	first, more := map[string]int{}, map[string]int{}
	for _, t := range traces {
		for _, w := range t.Warnings {
			kind := digits().ReplaceAllString(w, "#")
			if _, known := first[kind]; known {
				more[kind]++
				continue
			}
			first[kind] = len(out)
			if slices.ContainsFunc(traces, func(o Trace) bool { return o.Source != t.Source }) {
				w = filepath.Base(t.Source) + ": " + w
			}
			out = append(out, w)
		}
	}
	for kind, i := range first {
		if n := more[kind]; n > 0 {
			out[i] += fmt.Sprintf(" (and so in %d more)", n)
		}
	}
	return out
}

// ticks are the known steps in ns of the timers of GPUs, the longest first.
var ticks = []int64{1024, 1000, 512, 256, 128, 64, ShortestTick}

// ShortestTick is the finest known step in ns, that of an H200. It is the default for an unknown timer.
const ShortestTick = 32

// Tick finds the resolution of the GPU's timer in ns. It is the longest known step T with at least nine in ten of
// the launches' durations within so many ns of a multiple; by chance (2 within + 1) in T would be. Each duration counts
// once, so that many launches of 1024 ns prove nothing. With fewer than 20 different durations, and where no step fits,
// the answer is 0. Of very many launches it reads some.
func Tick(launches []Launch, within int64) float64 {
	const enough, many = 20, 10_000
	var durations []int64
	for i := 0; i < len(launches); i += max(1, len(launches)/many) {
		if d := launches[i].End - launches[i].Start; d > 1 {
			durations = append(durations, d)
		}
	}
	slices.Sort(durations)
	durations = slices.Compact(durations)
	if len(durations) < enough {
		return 0
	}
	for _, step := range ticks {
		on := func(d int64) bool { return d%step <= within || d%step >= step-within }
		if 10*measure.HowMany(durations, on) >= 9*len(durations) {
			return float64(step)
		}
	}
	return 0
}
