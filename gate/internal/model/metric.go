package model

import "github.com/nsgate/nsgate/gate/measure"

// metric is the metric of this name in measure's table.
func metric(name string) measure.Metric {
	m, ok := measure.MetricByName(name)
	if !ok {
		panic("no metric " + name)
	}
	return m
}

// The time of a process outside its steps, of a profiled run. They are judged if a rule names them.
var (
	// StartupTime is the time from the start of the process to the first operation of its first step: loading, imports, CUDA initialisation
	// and set-up.
	StartupTime = metric("startup_time")
	// InitTime is the part of it in CUDA calls before the first operation on the GPU, which create the context and load modules.
	InitTime = metric("init_time")
	// TeardownTime is the time from the last event to the end of the process.
	TeardownTime = metric("teardown_time")
)

// OutsideSteps reports whether a time is of what a process does besides its steps, which moves by tens of per cent between runs.
func OutsideSteps(m measure.Metric) bool {
	return m == measure.Elapsed || m == StartupTime || m == InitTime || m == TeardownTime
}

// Order numbers the kernels of one geometry in one NVTX range by their first launch in a step (or run), from 1; it is measured
// where there are several.
var Order = metric("order")

// The metrics that nsys samples of the whole GPU: means over a step or a range, in per cent of the peak rate. They show how
// the GPU was used and are judged if a rule names them. Rates of bytes have no direction: less may be better or worse.
var (
	SMActive     = metric("sm_active")
	SMIssue      = metric("sm_issue")
	TensorActive = metric("tensor_active")
	DRAMRead     = metric("dram_read")
	DRAMWrite    = metric("dram_write")
	PCIeRX       = metric("pcie_rx")
	PCIeTX       = metric("pcie_tx")
	NVLinkRX     = metric("nvlink_rx")
	NVLinkTX     = metric("nvlink_tx")
	// SamplingPeriod is the time between two samples of them: a range that is shorter has no value.
	SamplingPeriod = metric("sampling_period")
)

// The metrics that Nsight Compute gives of a single launch. Which counters each comes from is in package ncu.
//
// ncu serialises launches, flushes caches and may lock clocks, so that its durations are a metric of their own: NcuTime
// is never compared with [measure.Time]. Exact metrics are counted, not sampled, and one launch is enough to know them.
var (
	// NcuTime is the duration of one launch under ncu.
	NcuTime = metric("ncu_time")
	// Cycles is the duration in cycles of the SM clock, SMClock that clock while the kernel ran.
	Cycles  = metric("cycles")
	SMClock = metric("sm_clock")

	// SMThroughput, MemoryThroughput and DRAMThroughput are "speed of light": the percentage of the peak rate that
	// the busiest unit of the SMs, of the whole memory system, and the DRAM reached.
	SMThroughput     = metric("sm_throughput")
	MemoryThroughput = metric("memory_throughput")
	DRAMThroughput   = metric("dram_throughput")
	// DRAMBytes is what the launch read from and wrote to DRAM, DRAMBandwidth the rate of that. DRAM traffic depends on
	// the content of the caches and is not exact.
	DRAMBytes     = metric("dram_bytes")
	DRAMBandwidth = metric("dram_bandwidth")
	// L2Bytes is the traffic of the L2 cache, GlobalBytes the bytes that instructions request from global memory.
	L2Bytes     = metric("l2_bytes")
	GlobalBytes = metric("global_bytes")
	L1HitRate   = metric("l1_hit_rate")
	L2HitRate   = metric("l2_hit_rate")
	// LoadSectors and StoreSectors are 32-byte sectors per request to global memory: 4 where the 32 threads of a warp
	// access neighbouring floats, 32 where each touches a sector of its own.
	LoadSectors  = metric("load_sectors")
	StoreSectors = metric("store_sectors")

	// AchievedOccupancy is the warps that were active, TheoreticalOccupancy those that the launch allows, both as a
	// percentage of what an SM can hold.
	AchievedOccupancy    = metric("achieved_occupancy")
	TheoreticalOccupancy = metric("theoretical_occupancy")
	// The limits are how many blocks an SM could hold if only this resource counted: the smallest limits occupancy.
	LimitBlocks    = metric("limit_blocks")
	LimitRegisters = metric("limit_registers")
	LimitShared    = metric("limit_shared")
	LimitWarps     = metric("limit_warps")
	LimitBarriers  = metric("limit_barriers")
	// Waves is the grid over the blocks that fit on the GPU at once.
	Waves = metric("waves")

	// Instructions are warp instructions executed. LocalLoads and LocalStores are those that access local memory, which
	// the compiler uses for spilled registers and for arrays indexed at run time; Spills are those that it marked as
	// spilling (known to ncu from 2025).
	Instructions = metric("instructions")
	LocalLoads   = metric("local_loads")
	LocalStores  = metric("local_stores")
	Spills       = metric("spills")
	// FP64, FP32 and FP16 are floating-point operations outside the tensor cores, a fused multiply-add counted as two.
	// Pages that give rates only make them inexact. TensorOps are the operations of the tensor cores of any type.
	FP64      = metric("flops_fp64")
	FP32      = metric("flops_fp32")
	FP16      = metric("flops_fp16")
	TensorOps = metric("tensor_ops")

	// The peaks are the roofs of the roofline at the clocks of the launch.
	PeakDRAM = metric("peak_dram")
	PeakFP64 = metric("peak_fp64")
	PeakFP32 = metric("peak_fp32")
	PeakFP16 = metric("peak_fp16")

	// The stalls are the cycles that a warp waits between two instructions, by what it waits for.
	StallLongScoreboard  = metric("stall_long_scoreboard")
	StallShortScoreboard = metric("stall_short_scoreboard")
	StallMIO             = metric("stall_mio_throttle")
	StallLG              = metric("stall_lg_throttle")
	StallBarrier         = metric("stall_barrier")
	StallMath            = metric("stall_math_throttle")
	StallWait            = metric("stall_wait")
)

// The metrics of ranks, of device memory and of launches.
var (
	// Imbalance is, of a job of several ranks, the compute of the slowest rank over the mean of all: the others wait for it.
	Imbalance = metric("imbalance")
	// CollectiveWait is the time in collectives beyond what the shortest participant takes, per step (or per run): the mean over
	// ranks. A late rank makes the others wait; the collectives themselves are counted without this time.
	CollectiveWait = metric("collective_wait")
	// CausedWait is how long the others waited in collectives to which a rank came last, per step (or per run): the mean over those
	// others.
	CausedWait = metric("caused_wait")
	// ExposedCommunication is the time of a step in which a collective ran, waiting included, and no kernel that computes;
	// HiddenCommunication that in which both did. Both are of the steps of MeanStep, of several ranks the mean.
	ExposedCommunication = metric("exposed_communication")
	HiddenCommunication  = metric("hidden_communication")
	// UnmatchedCollectives is the number of collectives, per step (or per run) and rank, whose counterparts in the other ranks are
	// not known: these keep their waiting.
	UnmatchedCollectives = metric("unmatched_collectives")
	// LostLaunches is the number of launches, per step (or per run), of whose kernels the profiler lost the record.
	LostLaunches = metric("lost_launches")
	// SilentCalls is the number of CUDA calls, per step (or per run), that no launch, copy or memset has the number of,
	// of a recording that lists no calls. Most of them asked the GPU for nothing.
	SilentCalls = metric("silent_calls")
	// MessageBytes is the size of the messages of a collective as its caller gave it, per step (or per run), where the recording
	// tells: over the time of the collective it is the algorithm bandwidth.
	MessageBytes = metric("message_bytes")
	// RankStep is the period of a rank's own steps, as of StepTime: ranks that meet in collectives have nearly the same.
	RankStep = metric("rank_step_time")
	// RankCopies is how long a rank's copies take, per step (or per run).
	RankCopies = metric("rank_copy_time")
	// SlowestRank is the number of the rank in which a kernel takes most time, where that is not the same in all;
	// SlowestTotal and SlowestLaunches are its total time and launches there, per step (or per run).
	SlowestRank     = metric("slowest_rank")
	SlowestTotal    = metric("slowest_total")
	SlowestLaunches = metric("slowest_launches")
	// Owned is the part of the same steps' period that a kernel, a kind of copy or a cause of idle time has for itself: over
	// all of them it adds up to MeanStep. It explains, and is not judged.
	Owned = metric("owned_time")
	// MemoryPeak is the high-water mark of the device memory that the process asked the driver for, where that was traced:
	// what an allocator of its own (PyTorch's) has reserved, not what it has handed out.
	MemoryPeak = metric("memory_peak")
	// MemoryHeld is the part of it that was requested within a range and kept until the peak.
	MemoryHeld = metric("memory_held")
	// Registers, StaticShared, DynamicShared and LocalMemory are launch attributes: they explain a change.
	Registers     = metric("registers")
	StaticShared  = metric("static_shared")
	DynamicShared = metric("dynamic_shared")
	LocalMemory   = metric("local_memory")
	// StackBytes, SpillBytes, ConstantBytes and CodeBytes are read from the device code of a build, not measured: bytes of a thread's
	// stack, bytes of local stores in the code, bytes of constant bank 0, and the size of the instructions.
	StackBytes    = metric("stack_bytes")
	SpillBytes    = metric("spill_bytes")
	ConstantBytes = metric("constant_bytes")
	CodeBytes     = metric("code_bytes")
)
