// Package attribution names the cause of every nanosecond of a step, from its first operation on a device to that of
// the next step. Kernels that compute hide collectives, these copies, and these memsets (the order of TraceLens);
// operations of one class share equally. Idle time is divided as in Megatron-Bridge's guide to analysis of profiles:
// the host had not issued the next operation, or waited itself, or the issued operation waited on the GPU.
package attribution

import (
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// Class is the kind of a cause.
type Class uint8

// The classes. An operation of an earlier class hides one of a later class.
const (
	Compute Class = iota
	Communication
	Copy
	Memset
	// Starved is idle time in which the host had not issued the next operation.
	Starved
	// Blocking is idle time while the host waited for the GPU, in a call that synchronises.
	Blocking
	// Stalled is idle time while the next operation was issued and waited for another stream.
	Stalled
	// Micro is the time between operations that were queued, under MicroGap each.
	Micro
	// Profiler is idle time that the profiler causes; it is no idle time of the program.
	Profiler
	// Unknown is idle time where the recording does not tell when the next operation was issued.
	Unknown
)

// Idle reports whether nothing of the program ran on the GPU.
func (c Class) Idle() bool { return c >= Starved && c != Profiler }

// String names the class as reports do.
func (c Class) String() string {
	return [...]string{
		"compute", "exposed communication", "exposed copies", "memsets",
		measure.IdleLaunch, measure.IdleSync, measure.IdleDependency, measure.IdleGaps, "profiler", measure.IdleUnknown,
	}[c]
}

// Cause is whose a part of a step is. It is comparable.
type Cause struct {
	Class  Class
	Kernel int32          // of Compute and Communication: index into Trace.Kernels
	Copy   model.CopyKind // of Copy
	// Call is the CUDA call of the host: the one that blocked, or the one that delayed the next operation. -1 is none:
	// code of the host. After is the synchronising call before this code, -1 for none.
	Call, After int32
	// Range is the name of the innermost NVTX range of the host in that time, -1 for none.
	Range int32
}

// Where is the place of the host, none for work of the GPU.
func (o Cause) Where(t *model.Trace) (at measure.Place) {
	if !(o.Class == Starved || o.Class == Blocking) {
		return at
	}
	at.Call = measure.HostCode
	if o.Call >= 0 {
		at.Call = t.CallNames[o.Call]
	}
	if o.Range >= 0 {
		at.Range = t.RangeNames[o.Range]
	}
	if o.After >= 0 {
		at.After = t.CallNames[o.After]
	}
	return at
}

// Prefixes and parts of the names of kernels that move data between GPUs: those of NCCL, the additions of
// Megatron-Bridge, and the operations of XLA, which no kernel's name can be. A prefix may stand behind a namespace.
var (
	communicationBegins = []string{"nccl", "rccl", "intranode", "internode", "rdma",
		"all-gather", "all-reduce", "all-to-all", "collective-", "ragged-all-to-all", "reduce-scatter",
		"all_gather", "all_reduce", "all_to_all", "ragged_all_to_all", "reduce_scatter"}
	communicationHolds = []string{"nvshmem", "deep_ep", "deepep", "hybrid_ep", "hybridep", "_rdma"}
)

// Communicates reports whether a kernel moves data between GPUs, by its name with or without namespaces and parameters.
func Communicates(name string) bool {
	name = strings.ReplaceAll(name, "(anonymous namespace)::", "")
	if i := strings.IndexAny(name, "<("); i >= 0 {
		name = name[:i]
	}
	name = strings.ToLower(name[strings.LastIndexByte(name, ' ')+1:])
	name = "::" + name
	return slices.ContainsFunc(communicationBegins, func(s string) bool { return strings.Contains(name, "::"+s) }) ||
		slices.ContainsFunc(communicationHolds, func(s string) bool { return strings.Contains(name, s) })
}

// operation matches the operation in the name of a kernel of NCCL: ncclDevKernel_AllReduce_Sum_f32_RING_LL.
var operation = input.Pattern(`^n?r?ccl(?:Dev)?Kernel_([A-Za-z0-9]+)`)

// Operation is the operation of a communicating kernel, by its short name: "AllReduce", else that name.
func Operation(short string) string {
	if m := operation().FindStringSubmatch(short); m != nil {
		return m[1]
	}
	return short
}

var (
	synchronises = input.Pattern(`^cu(?:da)?(?:Device|Stream|Event|Ctx|Context)Synchronize|^hip(?:Device|Stream|Event)Synchronize`)
	blockingCopy = input.Pattern(`^(?:cu|cuda|hip)Mem(?:cpy|set)`)
)

// Synchronises reports whether a CUDA call makes the host wait for the GPU. The name decides; only the time of an
// asynchronous copy would show its waiting.
func Synchronises(call string) bool {
	return synchronises().MatchString(call) || blockingCopy().MatchString(call) && !strings.Contains(call, "Async")
}

type work struct {
	start, end, api int64
	owner           int32 // the number of its cause
	thread          int32
	class           Class
	known           bool // when it was issued
}
