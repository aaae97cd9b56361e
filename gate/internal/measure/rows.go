package measure

// The metrics that recordings of a timeline give.
var (
	// Time is the GPU time of one launch: the 10 % trimmed mean over the steady launches of a run.
	Time = row("time", "ns", Lower, time, alone, judged|tick)
	// Spread is how much the steady launches of one run differ: the robust standard deviation (scaled MAD) of their
	// times. It shows the noise of a kernel within a run and is not an error term: launches of a process are not
	// independent.
	Spread = row("time_spread", "ns", Neither, time, alone, 0)
	// Launches is the number of launches per step, or per run where the workload has no steps.
	Launches = row("launches", "count", Lower, exact, perStep|overRanks, judged|informs|once)
	// Total is the summed GPU time of all steady launches per step (or per run), outliers included.
	Total = row("total", "ns", Lower, time, perStep|overRanks, judged|followed|ticks, "total time")
	// GPUTime is the summed kernel time of a range, of a device or of the whole workload, per step (or per run).
	GPUTime = row("gpu_time", "ns", Lower, time, perStep|overRanks, judged|followed, "GPU time")
	// CopyTime is the summed GPU time of one kind of copy or memset, per step (or per run).
	CopyTime = row("copy_time", "ns", Lower, time, perStep|overRanks, judged)
	// CopyBytes is the number of bytes that one kind of copy or memset moved, per step (or per run).
	CopyBytes = row("copy_bytes", "B", Lower, exact, perStep|overRanks, judged|informs, "bytes copied")
	// Copies is the number of copies or memsets of one kind, per step (or per run).
	Copies = row("copies", "count", Lower, exact, perStep|overRanks, judged|informs|once)
	// SyncCalls is the number of CUDA calls that make the host wait for the GPU, per step (or per run): those that
	// synchronise by name, and copies that are not asynchronous.
	SyncCalls = row("sync_calls", "count", Lower, exact, perStep|overRanks, judged|informs|once, "synchronising calls")
	// Allocations is the number of CUDA calls that allocate device or pinned memory, per step (or per run).
	Allocations = row("allocations", "count", Lower, exact, perStep|overRanks, judged|informs|once)
	// PageableBytes is the bytes copied from or to pageable memory, per step (or per run): such copies wait for one
	// another.
	PageableBytes = row("pageable_bytes", "B", Lower, exact, perStep|overRanks, judged|informs, "pageable bytes")
	// SmallKernels is the number of launches of kernels under 10 µs each, per step (or per run): launching one costs
	// the host about as much as running it costs the GPU.
	SmallKernels = row("small_kernels", "count", Lower, exact, perStep|overRanks, judged|informs|once, "small kernels")
	// StepTime is the period of a step on the GPU, from its first operation to that of the next step: the time that the
	// user waits for, idle time included. It is the mean over the typical steps of a run, those whose period is in the
	// middle half.
	StepTime = row("step_time", "ns", Lower, time, perStep, judged|onHost|followed)
	// MeanStep is the mean period of all steps that count, the slow ones included.
	MeanStep = row("mean_step_time", "ns", Lower, time, perStep, judged|onHost)
	// MeanToTypical is MeanStep over StepTime: 1 in a program without stalls, on any host.
	MeanToTypical = row("mean_to_typical", "ratio", Lower, share, alone, judged|onHost, "mean over typical step")
	// RunTime is the time from the first operation on the GPU to the end of the last, of a run without a step range.
	RunTime = row("run_time", "ns", Lower, time, alone, judged|onHost)
	// Elapsed is the wall time of a section of the run.
	Elapsed = row("elapsed_time", "ns", Lower, time, overRanks, judged|onHost|outside)
	// Sensitivity is d ln period / d ln host time of a step, by replaying it: 0 where the GPU never waits for the CPU,
	// 1 where it always does. ReplayError is how far the replay at the recorded speed is from the recorded period,
	// relative to it.
	Sensitivity = row("host_sensitivity", "ratio", Neither, share, alone, 0)
	ReplayError = row("replay_error", "ratio", Neither, share, alone, 0)
	// Growth is the kernel time of the last quarter of the steps that count over that of the first.
	Growth = row("growth", "ratio", Neither, share, alone, 0)
	// WarmupLaunches is the number of a kernel's launches that are left out as warm-up, of a run without steps.
	WarmupLaunches = row("warmup_launches", "count", Neither, exact, alone, 0, "launches left out as warm-up")
	// Repeats is how often a run without steps repeats itself: then StepTime is the period of that, and of sides that
	// repeat themselves as often.
	Repeats = row("repeats", "count", Neither, exact, alone, 0)
	// Order numbers the kernels of one geometry in one NVTX range by their first launch in a step (or run), from 1; it
	// is measured where there are several.
	Order = row("order", "number", Neither, exact, alone, 0, "order in its range")
	// StartupTime is the time from the start of the process to the first operation of its first step: loading, imports,
	// CUDA initialisation and set-up.
	StartupTime = row("startup_time", "ns", Lower, time, alone, onHost|outside, "start-up time")
	// InitTime is the part of it in CUDA calls before the first operation on the GPU, which create the context and load
	// modules.
	InitTime = row("init_time", "ns", Lower, time, alone, onHost|outside, "CUDA initialisation")
	// TeardownTime is the time from the last event to the end of the process.
	TeardownTime = row("teardown_time", "ns", Lower, time, alone, onHost|outside)
	// Imbalance is, of a job of several ranks, the compute of the slowest rank over the mean of all: the others wait
	// for it.
	Imbalance = row("imbalance", "ratio", Lower, share, alone, judged)
	// CollectiveWait is the time in collectives beyond what the shortest participant takes, per step (or per run): the
	// mean over ranks. A late rank makes the others wait; the collectives themselves are counted without this time.
	CollectiveWait = row("collective_wait", "ns", Neither, time, perStep|overRanks, 0, "wait in collectives")
	// CausedWait is the wait of the other ranks in collectives that a rank joined last, per step (or per run): their
	// mean.
	CausedWait = row("caused_wait", "ns", Neither, time, perStep|overRanks, 0, "wait that it causes")
	// ExposedCommunication is the time of a step with a running collective, waiting included, and no computing kernel;
	// HiddenCommunication is that with both. Both are of the steps of MeanStep, and the mean of several ranks.
	ExposedCommunication = row("exposed_communication", "ns", Neither, time, perStep|overRanks, 0)
	HiddenCommunication  = row("hidden_communication", "ns", Neither, time, perStep|overRanks, 0)
	// UnmatchedCollectives is the number of collectives, per step (or per run) and rank, whose counterparts in the
	// other ranks are not known: these keep their waiting.
	UnmatchedCollectives = row("unmatched_collectives", "count", Neither, exact, perStep|overRanks, 0)
	// LostLaunches is the number of launches, per step (or per run), whose kernel records the profiler lost.
	LostLaunches = row("lost_launches", "count", Neither, exact, perStep|overRanks, 0, "launches without a record")
	// SilentCalls is the number of CUDA calls, per step (or per run), that no launch, copy or memset has the number of,
	// of a recording that lists no calls. Most of them asked the GPU for nothing.
	SilentCalls = row("silent_calls", "count", Neither, exact, perStep|overRanks, 0, "CUDA calls without work of the GPU")
	// MessageBytes is the size of the messages of a collective as its caller gave it, per step (or per run), where the
	// recording tells: over the time of the collective it is the algorithm bandwidth.
	MessageBytes = row("message_bytes", "B", Neither, exact, perStep|overRanks, 0, "bytes of messages")
	// RankStep is the period of a rank's own steps, as of StepTime: ranks that meet in collectives have nearly the
	// same.
	RankStep = row("rank_step_time", "ns", Neither, time, perStep, 0, "step time of the rank")
	// RankCopies is how long a rank's copies take, per step (or per run).
	RankCopies = row("rank_copy_time", "ns", Neither, time, perStep, 0, "copy time of the rank")
	// SlowestRank is the number of the rank with the most time in a kernel, where the ranks differ; SlowestTotal and
	// SlowestLaunches are its total time and launches there, per step (or per run).
	SlowestRank     = row("slowest_rank", "number", Neither, exact, alone, 0)
	SlowestTotal    = row("slowest_total", "ns", Neither, time, perStep, 0, "total time in the slowest rank")
	SlowestLaunches = row("slowest_launches", "count", Neither, exact, perStep, 0, "launches in the slowest rank")
	// Owned is the part of the same steps' period that is attributed to a kernel, a kind of copy or a cause of idle
	// time. All of them add up to MeanStep. It explains, and is not judged.
	Owned = row("owned_time", "ns", Neither, time, perStep|overRanks, 0, "time of the step")
	// MemoryPeak is the high-water mark of the device memory that the process asked the driver for, where recorded. It
	// is the memory that an allocator of its own (PyTorch's) has reserved, not that in use.
	MemoryPeak = row("memory_peak", "B", Lower, exact, alone, judged, "device memory requested")
	// MemoryHeld is the part of it that was requested within a range and kept until the peak.
	MemoryHeld = row("memory_held", "B", Neither, exact, overRanks, 0, "device memory requested")
	// Registers, StaticShared, DynamicShared and LocalMemory are launch attributes: they explain a change.
	Registers     = row("registers", "per thread", Neither, exact, alone, 0)
	StaticShared  = row("static_shared", "B", Neither, exact, alone, 0)
	DynamicShared = row("dynamic_shared", "B", Neither, exact, alone, 0)
	LocalMemory   = row("local_memory", "B per thread", Neither, exact, alone, 0)

	// StackBytes, SpillBytes, ConstantBytes and CodeBytes are read from the device code of a build, not measured: bytes
	// of a thread's stack, bytes of local stores in the code, bytes of constant bank 0, and the size of the
	// instructions.
	StackBytes    = row("stack_bytes", "B", Neither, exact, alone, 0, "stack")
	SpillBytes    = row("spill_bytes", "B", Neither, exact, alone, 0, "spills")
	ConstantBytes = row("constant_bytes", "B", Neither, exact, alone, 0, "constants")
	CodeBytes     = row("code_bytes", "B", Neither, exact, alone, 0, "code size")
)

// The metrics of unprofiled runs: profiling slows the CPU down, so that unprofiled runs decide and profiled runs
// explain.
var (
	// Rate and Cost are numbers that the program prints, in its own unit: see measure.Output.
	Rate = row("rate", "", Higher, rate, alone, unprofiled|judged|followed, "output")
	Cost = row("cost", "", Lower, amount, alone, unprofiled|judged|followed, "output")
	// WallTime is how long the process took from its start to its end, what it does before and after its steps
	// included.
	WallTime = row("wall_time", "ns", Lower, time, alone, unprofiled)
)

// The metrics of benchmark files: one value a process, as the harness states it.
var (
	// GPUDuration is a time between two events on the GPU, Duration one that the harness took in another way.
	GPUDuration = row("gpu_duration", "ns", Lower, time, alone, unprofiled|judged|followed|onGPU, "time on the GPU")
	Duration    = row("duration", "ns", Lower, time, alone, unprofiled|judged|followed, "time")
	// ItemRate is things done per second: requests, tokens, items.
	ItemRate  = row("item_rate", "1/s", Higher, rate, alone, unprofiled|judged|followed, "rate")
	Bandwidth = row("bandwidth", "B/s", Higher, rate, alone, unprofiled|judged|followed)
	FlopRate  = row("flop_rate", "FLOP/s", Higher, rate, alone, unprofiled|judged|followed, "FLOP rate")
	// GPUBandwidth and GPUFlopRate are rates by a [GPUDuration].
	GPUBandwidth = row("gpu_bandwidth", "B/s", Higher, rate, alone, unprofiled|judged|followed|onGPU, "bandwidth")
	GPUFlopRate  = row("gpu_flop_rate", "FLOP/s", Higher, rate, alone, unprofiled|judged|followed|onGPU, "FLOP rate")
	Memory       = row("memory", "B", Lower, amount, alone, unprofiled|judged|followed)
	// Value is a number without a direction.
	Value = row("value", "", Neither, amount, alone, unprofiled)
)

// The metrics that are sampled of the whole GPU: means over a step or a range, in per cent of the peak rate. They show
// how the GPU was used and are judged if a rule names them. Rates of bytes have no direction: less may be better or
// worse.
var (
	SMActive     = sample("sm_active", Higher, "SM active")
	SMIssue      = sample("sm_issue", Higher, "SM issue")
	TensorActive = sample("tensor_active", Higher)
	DRAMRead     = sample("dram_read", Neither, "DRAM read")
	DRAMWrite    = sample("dram_write", Neither, "DRAM write")
	PCIeRX       = sample("pcie_rx", Neither, "PCIe received")
	PCIeTX       = sample("pcie_tx", Neither, "PCIe sent")
	NVLinkRX     = sample("nvlink_rx", Neither, "NVLink received")
	NVLinkTX     = sample("nvlink_tx", Neither, "NVLink sent")
)

// SamplingPeriod is the time between two samples of them: a range that is shorter has no value.
var SamplingPeriod = row("sampling_period", "ns", Neither, time, alone, 0)

// The metrics that Nsight Compute gives of a single launch. The reader of the counters tells which each comes from.
//
// The profiler replays launches one by one, flushes caches and may lock clocks, so that these durations are a metric of
// their own: ReplayTime is never compared with [Time]. Exact metrics are counted, not sampled, and one launch is enough
// to know them.
var (
	// ReplayTime is the duration of one launch that is replayed for its counters.
	ReplayTime = row("ncu_time", "ns", Lower, time, alone, judged|ofLaunch)
	// Cycles is the duration in cycles of the SM clock, SMClock that clock while the kernel ran.
	Cycles  = counter("cycles", "count", Lower, amount)
	SMClock = counter("sm_clock", "Hz", Neither, rate)
	// SMThroughput, MemoryThroughput and DRAMThroughput are "speed of light": the percentage of the peak rate that
	// the busiest unit of the SMs, of the whole memory system, and the DRAM reached.
	SMThroughput     = counter("sm_throughput", "%", Higher, share)
	MemoryThroughput = counter("memory_throughput", "%", Higher, share)
	DRAMThroughput   = counter("dram_throughput", "%", Higher, share)
	// DRAMBytes is what the launch read from and wrote to DRAM, DRAMBandwidth the rate of that. DRAM traffic depends on
	// the content of the caches and is not exact.
	DRAMBytes     = counter("dram_bytes", "B", Lower, amount)
	DRAMBandwidth = counter("dram_bandwidth", "B/s", Higher, rate)
	// L2Bytes is the traffic of the L2 cache, GlobalBytes the bytes that instructions request from global memory.
	L2Bytes     = counter("l2_bytes", "B", Lower, amount)
	GlobalBytes = counter("global_bytes", "B", Lower, exact)
	L1HitRate   = counter("l1_hit_rate", "%", Higher, share)
	L2HitRate   = counter("l2_hit_rate", "%", Higher, share)
	// LoadSectors and StoreSectors are 32-byte sectors per request to global memory: 4 where the 32 threads of a warp
	// access neighbouring floats, 32 where each touches a sector of its own.
	LoadSectors  = counter("load_sectors", "sectors/request", Lower, rate)
	StoreSectors = counter("store_sectors", "sectors/request", Lower, rate)
	// AchievedOccupancy is the number of active warps, TheoreticalOccupancy that of warps that the launch allows, both
	// as a percentage of an SM's maximum.
	AchievedOccupancy    = counter("achieved_occupancy", "%", Higher, share)
	TheoreticalOccupancy = counter("theoretical_occupancy", "%", Higher, exact)
	// The limits are how many blocks an SM could hold if only this resource counted: the smallest limits occupancy.
	LimitBlocks    = counter("limit_blocks", "blocks/SM", Neither, exact)
	LimitRegisters = counter("limit_registers", "blocks/SM", Neither, exact)
	LimitShared    = counter("limit_shared", "blocks/SM", Neither, exact)
	LimitWarps     = counter("limit_warps", "blocks/SM", Neither, exact)
	LimitBarriers  = counter("limit_barriers", "blocks/SM", Neither, exact)
	// Waves is the grid over the blocks that fit on the GPU at once.
	Waves = counter("waves", "waves", Neither, amount)
	// Instructions are warp instructions executed. LocalLoads and LocalStores are those that access local memory, which
	// the compiler uses for spilled registers and for arrays indexed at run time; Spills are those that it marked as
	// spilling (known from Nsight Compute 2025).
	Instructions = counter("instructions", "count", Lower, exact)
	LocalLoads   = counter("local_loads", "count", Lower, exact)
	LocalStores  = counter("local_stores", "count", Lower, exact)
	Spills       = counter("spills", "count", Lower, exact)
	// FP64, FP32 and FP16 are floating-point operations outside the tensor cores, a fused multiply-add counted as two.
	// Pages that give rates only make them inexact. TensorOps are the operations of the tensor cores of any type.
	FP64      = counter("flops_fp64", "FLOP", Lower, amount)
	FP32      = counter("flops_fp32", "FLOP", Lower, amount)
	FP16      = counter("flops_fp16", "FLOP", Lower, amount)
	TensorOps = counter("tensor_ops", "count", Lower, exact)
	// The peaks are the roofs of the roofline at the clocks of the launch.
	PeakDRAM = counter("peak_dram", "B/s", Neither, rate)
	PeakFP64 = counter("peak_fp64", "FLOP/s", Neither, rate)
	PeakFP32 = counter("peak_fp32", "FLOP/s", Neither, rate)
	PeakFP16 = counter("peak_fp16", "FLOP/s", Neither, rate)
	// The stalls are the cycles that a warp waits between two instructions, by cause.
	StallLongScoreboard  = counter("stall_long_scoreboard", "cycles/inst", Neither, rate)
	StallShortScoreboard = counter("stall_short_scoreboard", "cycles/inst", Neither, rate)
	StallMIO             = counter("stall_mio_throttle", "cycles/inst", Neither, rate)
	StallLG              = counter("stall_lg_throttle", "cycles/inst", Neither, rate)
	StallBarrier         = counter("stall_barrier", "cycles/inst", Neither, rate)
	StallMath            = counter("stall_math_throttle", "cycles/inst", Neither, rate)
	StallWait            = counter("stall_wait", "cycles/inst", Neither, rate)
)

var (
	// GPUMetrics lists the metrics that are sampled of the whole GPU.
	GPUMetrics = marked(sampled)
	// Throughput lists the metrics of Nsight Compute, which gives registers and shared memory as well.
	Throughput = marked(ofLaunch)
)
