package measure

import "strings"

// Direction says which way a metric gets better.
type Direction int8

// Lower is better for times, counts and bytes; Neither marks metrics that explain but are not judged.
const (
	Lower   Direction = -1
	Neither Direction = 0
	Higher  Direction = +1
)

// Metric is a named number with a unit and a direction.
type Metric struct {
	Name   string    `json:"name"`
	Unit   string    `json:"unit"`
	Better Direction `json:"better"`
	// Exact metrics carry no measurement noise (counts, bytes, registers): where every run of a side agrees, a
	// difference is certain. The others are judged against the spread between runs.
	Exact bool `json:"exact"`
}

var (
	// Metrics lists every metric that nsgate knows: those of nsys, then those of ncu.
	Metrics []Metric
	// Throughput lists the metrics of Nsight Compute. [Registers], [StaticShared] and [DynamicShared] come from it as well.
	Throughput []Metric
	// known holds what a row says that is no part of a stored metric, by name.
	known = map[string]knowledge{}
)

type knowledge struct {
	metric Metric
	title  string
	judged bool
}

// mark is a property of a row.
type mark uint8

const (
	exact   mark = 1 << iota // counted, not sampled
	judged                   // see [Metric.Judged]
	counter                  // of Nsight Compute
)

// row makes a metric and lists it: a new metric is one row below, and what reads it. The title is the name with spaces
// unless the row gives another.
func row(name, unit string, better Direction, is mark, title ...string) Metric {
	m := Metric{Name: name, Unit: unit, Better: better, Exact: is&exact != 0}
	k := knowledge{m, strings.ReplaceAll(name, "_", " "), is&judged != 0}
	if len(title) > 0 {
		k.title = title[0]
	}
	known[name] = k
	Metrics = append(Metrics, m)
	if is&counter != 0 {
		Throughput = append(Throughput, m)
	}
	return m
}

// The metrics that nsys recordings give.
var (
	// Time is the GPU time of one launch: the 10 % trimmed mean over the steady launches of a run.
	Time = row("time", "ns", Lower, judged)
	// Spread is how much the steady launches of one run differ: the robust standard deviation (scaled MAD) of their
	// times. It says how noisy a kernel is within a run and is no error term: launches of a process are not independent.
	Spread = row("time_spread", "ns", Neither, 0)
	// Launches is the number of launches per step, or per run where the workload has no steps.
	Launches = row("launches", "count", Lower, judged|exact)
	// Total is the summed GPU time of all steady launches per step (or per run), outliers included.
	Total = row("total", "ns", Lower, judged, "total time")
	// GPUTime is the summed kernel time of a range, of a device or of the whole workload, per step (or per run).
	GPUTime = row("gpu_time", "ns", Lower, judged, "GPU time")
	// CopyTime is the summed GPU time of one kind of copy or memset, per step (or per run).
	CopyTime = row("copy_time", "ns", Lower, judged)
	// CopyBytes is the number of bytes that one kind of copy or memset moved, per step (or per run).
	CopyBytes = row("copy_bytes", "B", Lower, judged|exact, "bytes copied")
	// Copies is the number of copies or memsets of one kind, per step (or per run).
	Copies = row("copies", "count", Lower, judged|exact)
	// StepTime is the time from one step's first launch to the next step's on the GPU: what the user waits for,
	// idle time included. Tracing slows the CPU side down, so it explains and is not judged by default.
	StepTime = row("step_time", "ns", Neither, 0)
	// MemoryPeak is the high-water mark of device memory, where memory use was traced.
	MemoryPeak = row("memory_peak", "B", Lower, judged|exact, "peak memory")
	// Registers, StaticShared, DynamicShared and LocalMemory are launch attributes: they explain a change.
	Registers     = row("registers", "per thread", Neither, exact)
	StaticShared  = row("static_shared", "B", Neither, exact)
	DynamicShared = row("dynamic_shared", "B", Neither, exact)
	LocalMemory   = row("local_memory", "B per thread", Neither, exact)
)

// The metrics that Nsight Compute gives of a single launch. Which counters each comes from stands in gate/ncu.
//
// ncu serialises launches, flushes caches and may lock clocks, so that its durations are a metric of their own: NcuTime
// is never compared with [Time]. Exact metrics are counted, not sampled, and one launch is enough to know them.
var (
	// NcuTime is the duration of one launch under ncu.
	NcuTime = row("ncu_time", "ns", Lower, counter|judged)
	// Cycles is the duration in cycles of the SM clock, SMClock that clock while the kernel ran.
	Cycles  = row("cycles", "count", Lower, counter)
	SMClock = row("sm_clock", "Hz", Neither, counter)

	// SMThroughput, MemoryThroughput and DRAMThroughput are "speed of light": the percentage of the peak rate that
	// the busiest unit of the SMs, of the whole memory system, and the DRAM reached.
	SMThroughput     = row("sm_throughput", "%", Higher, counter)
	MemoryThroughput = row("memory_throughput", "%", Higher, counter)
	DRAMThroughput   = row("dram_throughput", "%", Higher, counter)
	// DRAMBytes is what the launch read from and wrote to DRAM, DRAMBandwidth the rate of that. DRAM traffic depends on
	// what the caches held, so that it is measured and not exact.
	DRAMBytes     = row("dram_bytes", "B", Lower, counter)
	DRAMBandwidth = row("dram_bandwidth", "B/s", Higher, counter)
	// L2Bytes is the traffic of the L2 cache, GlobalBytes what the instructions that access global memory ask of it.
	L2Bytes     = row("l2_bytes", "B", Lower, counter)
	GlobalBytes = row("global_bytes", "B", Lower, counter|exact)
	L1HitRate   = row("l1_hit_rate", "%", Higher, counter)
	L2HitRate   = row("l2_hit_rate", "%", Higher, counter)
	// LoadSectors and StoreSectors are 32-byte sectors per request to global memory: 4 where the 32 threads of a warp
	// access neighbouring floats, 32 where each touches a sector of its own.
	LoadSectors  = row("load_sectors", "sectors/request", Lower, counter)
	StoreSectors = row("store_sectors", "sectors/request", Lower, counter)

	// AchievedOccupancy is the warps that were active, TheoreticalOccupancy those that the launch allows, both as a
	// percentage of what an SM can hold.
	AchievedOccupancy    = row("achieved_occupancy", "%", Higher, counter)
	TheoreticalOccupancy = row("theoretical_occupancy", "%", Higher, counter|exact)
	// The limits are how many blocks an SM could hold if only this resource counted: the smallest limits occupancy.
	LimitBlocks    = row("limit_blocks", "blocks/SM", Neither, counter|exact)
	LimitRegisters = row("limit_registers", "blocks/SM", Neither, counter|exact)
	LimitShared    = row("limit_shared", "blocks/SM", Neither, counter|exact)
	LimitWarps     = row("limit_warps", "blocks/SM", Neither, counter|exact)
	LimitBarriers  = row("limit_barriers", "blocks/SM", Neither, counter|exact)
	// Waves is the grid over the blocks that fit on the GPU at once.
	Waves = row("waves", "waves", Neither, counter)

	// Instructions are warp instructions executed. LocalLoads and LocalStores are those that access local memory, which
	// the compiler uses for spilled registers and for arrays indexed at run time; Spills are those that it marked as
	// spilling (known to ncu from 2025).
	Instructions = row("instructions", "count", Lower, counter|exact)
	LocalLoads   = row("local_loads", "count", Lower, counter|exact)
	LocalStores  = row("local_stores", "count", Lower, counter|exact)
	Spills       = row("spills", "count", Lower, counter|exact)
	// FP64, FP32 and FP16 are floating-point operations outside the tensor cores, a fused multiply-add counted as two.
	// Pages that give rates only make them inexact. TensorOps are the operations of the tensor cores of any type.
	FP64      = row("flops_fp64", "FLOP", Lower, counter)
	FP32      = row("flops_fp32", "FLOP", Lower, counter)
	FP16      = row("flops_fp16", "FLOP", Lower, counter)
	TensorOps = row("tensor_ops", "count", Lower, counter|exact)

	// The peaks are the roofs of the roofline at the clocks of the launch.
	PeakDRAM = row("peak_dram", "B/s", Neither, counter)
	PeakFP64 = row("peak_fp64", "FLOP/s", Neither, counter)
	PeakFP32 = row("peak_fp32", "FLOP/s", Neither, counter)
	PeakFP16 = row("peak_fp16", "FLOP/s", Neither, counter)

	// The stalls are the cycles that a warp waits between two instructions, by what it waits for.
	StallLongScoreboard  = row("stall_long_scoreboard", "cycles/inst", Neither, counter)
	StallShortScoreboard = row("stall_short_scoreboard", "cycles/inst", Neither, counter)
	StallMIO             = row("stall_mio_throttle", "cycles/inst", Neither, counter)
	StallLG              = row("stall_lg_throttle", "cycles/inst", Neither, counter)
	StallBarrier         = row("stall_barrier", "cycles/inst", Neither, counter)
	StallMath            = row("stall_math_throttle", "cycles/inst", Neither, counter)
	StallWait            = row("stall_wait", "cycles/inst", Neither, counter)
)

// MetricByName finds a metric of [Metrics].
func MetricByName(name string) (Metric, bool) {
	k, ok := known[name]
	return k.metric, ok
}

// Title is what people call the metric: "GPU time", "bytes copied". One that nsgate does not know, of a file perhaps, is
// its name with spaces.
func (m Metric) Title() string {
	if k, ok := known[m.Name]; ok {
		return k.title
	}
	return strings.ReplaceAll(m.Name, "_", " ")
}

// Judged reports whether the metric is judged where no rule of the policy names it: those with a direction, and of Nsight
// Compute's only the duration. Its other metrics are causes and rates that go up and down without anyone waiting longer.
func (m Metric) Judged() bool {
	if k, ok := known[m.Name]; ok {
		return k.judged
	}
	return m.Better != Neither
}
