package measure

// The metrics that recordings of a timeline give.
var (
	Time = row("time", "ns", Lower, time, alone, kernels, ByTimeline, TermKernel, judged|tick|drifts,
		"GPU time of one launch: the 10 % trimmed mean over the steady launches of a run")
	Spread = row("time_spread", "ns", Neither, time, alone, kernels, ByTimeline, TermKernel, 0,
		"robust standard deviation (scaled MAD) of the steady launches of one run")
	Launches = stepCount("launches", "count", Lower, kernels|workload|sections, judged|informs|once,
		"number of launches, per step")
	Total = row("total", "ns", Lower, time, perStep|overRanks, kernels, ByTimeline, TermKernel,
		judged|followed|ticks|main, "summed GPU time of all steady launches, per step, outliers included", "total time")
	GPUTime = row("gpu_time", "ns", Lower, time, perStep|overRanks, ranges|devices|workload|sections, ByTimeline,
		TermSum, judged|followed|main|drifts, "summed kernel time, per step", "GPU time")
	CopyTime = row("copy_time", "ns", Lower, time, perStep|overRanks, copies, ByTimeline, TermCopy, judged|main,
		"summed GPU time of one kind of copy or memset, per step")
	CopyBytes = stepCount("copy_bytes", "B", Lower, copies, judged|informs,
		"bytes that one kind of copy or memset moved, per step", "bytes copied")
	Copies = stepCount("copies", "count", Lower, copies, judged|informs|once,
		"number of copies or memsets of one kind, per step")
	SyncCalls = stepCount("sync_calls", "count", Lower, workload|calls, judged|informs|once,
		"CUDA calls that make the host wait for the GPU, per step: by name, or copies that are not asynchronous",
		"synchronising calls")
	Allocations = stepCount("allocations", "count", Lower, workload, judged|informs|once,
		"CUDA calls that allocate device or pinned memory, per step")
	PageableBytes = stepCount("pageable_bytes", "B", Lower, workload, judged|informs,
		"bytes copied from or to pageable memory, per step: such copies wait for one another", "pageable bytes")
	SmallKernels = stepCount("small_kernels", "count", Lower, workload, judged|informs|once,
		"launches of kernels under 10 µs, per step: launching one costs the host about as much", "small kernels")
	StepTime = row("step_time", "ns", Lower, time, perStep, workload, ByTimeline, TermStep, judged|onHost|followed,
		"period of a typical step on the GPU, idle time included: the mean over the middle half of the steps")
	MeanStep = row("mean_step_time", "ns", Lower, time, perStep, workload, ByTimeline, TermMean, judged|onHost,
		"mean period of all steps that count, the slow ones included")
	MeanToTypical = row("mean_to_typical", "ratio", Lower, share, alone, workload, ByTimeline, TermStall, judged|onHost,
		"mean over typical step: 1 in a program without stalls, on any host", "mean over typical step")
	RunTime = row("run_time", "ns", Lower, time, alone, workload, ByTimeline, TermStep, judged|onHost,
		"time from the first operation on the GPU to the end of the last, of a run without steps")
	Elapsed = row("elapsed_time", "ns", Lower, time, overRanks, sections, ByTimeline, TermWall,
		judged|onHost|outside|main, "wall time of a section of the run")
	Sensitivity = row("host_sensitivity", "ratio", Neither, share, alone, workload, ByTimeline, TermStep, 0,
		"d ln step / d ln host time, by replay: 0 where the GPU never waits for the CPU, 1 where it always does")
	ReplayError = row("replay_error", "ratio", Neither, share, alone, workload, ByTimeline, TermStep, 0,
		"relative distance of the replay at the recorded speed from the recorded step")
	Growth = row("growth", "ratio", Neither, share, alone, workload, ByTimeline, TermSum, 0,
		"kernel time of the last quarter of the steps that count over that of the first")
	WarmupLaunches = attribute("warmup_launches", "count", ByTimeline,
		"launches left out as warm-up, of a run without steps", "launches left out as warm-up")
	Repeats = row("repeats", "count", Neither, exact, alone, workload|sections, ByTimeline, TermCount, 0,
		"cycles of a run without steps that repeats itself; steps left out as warm-up")
	Order = attribute("order", "number", ByTimeline,
		"number of a kernel by its first launch among those of one geometry in one NVTX range", "order in its range")
	StartupTime = row("startup_time", "ns", Lower, time, alone, workload, ByTimeline, TermWall, onHost|outside,
		"time from the start of the process to the first operation of its first step", "start-up time")
	InitTime = row("init_time", "ns", Lower, time, alone, workload, ByTimeline, TermWall, onHost|outside,
		"the part of the start-up in CUDA calls, which create the context and load modules", "CUDA initialisation")
	TeardownTime = row("teardown_time", "ns", Lower, time, alone, workload, ByTimeline, TermWall, onHost|outside,
		"time from the last event to the end of the process")
	Imbalance = row("imbalance", "ratio", Lower, share, alone, workload, ByTimeline, TermKernel, judged,
		"compute of the slowest rank over the mean of all, of a job of several ranks")
	CollectiveWait = row("collective_wait", "ns", Neither, time, perStep|overRanks, kernels|devices|workload,
		ByTimeline, TermStep, 0,
		"time in collectives beyond that of the shortest participant, per step: the mean over the ranks",
		"wait in collectives")
	CausedWait = row("caused_wait", "ns", Neither, time, perStep|overRanks, devices|workload, ByTimeline, TermStep,
		0, "mean wait of the other ranks in collectives that a rank joined last, per step", "wait that it causes")
	ExposedCommunication = row("exposed_communication", "ns", Neither, time, perStep|overRanks, devices|workload,
		ByTimeline, TermStep, 0, "time of a step with a collective, waiting included, and no computing kernel")
	HiddenCommunication = row("hidden_communication", "ns", Neither, time, perStep|overRanks, devices|workload,
		ByTimeline, TermStep, 0, "time of a step with a collective and a computing kernel")
	UnmatchedCollectives = stepCount("unmatched_collectives", "count", Neither, workload, 0,
		"collectives per step and rank whose counterparts in the other ranks are not known")
	LostLaunches = stepCount("lost_launches", "count", Neither, workload, 0,
		"launches per step whose kernel records the profiler lost", "launches without a record")
	SilentCalls = stepCount("silent_calls", "count", Neither, workload, 0,
		"CUDA calls per step without a launch, copy or memset, of a recording that lists no calls",
		"CUDA calls without work of the GPU")
	MessageBytes = stepCount("message_bytes", "B", Neither, kernels, 0,
		"size of the messages of a collective, per step: over its time it is the algorithm bandwidth",
		"bytes of messages")
	RankStep = row("rank_step_time", "ns", Neither, time, perStep, devices, ByTimeline, TermStep, 0,
		"period of a rank's own steps", "step time of the rank")
	RankCopies = row("rank_copy_time", "ns", Neither, time, perStep, devices, ByTimeline, TermCopy, 0,
		"time of a rank's copies, per step", "copy time of the rank")
	SlowestRank = row("slowest_rank", "number", Neither, exact, alone, kernels, ByTimeline, TermCount, 0,
		"number of the rank with the most time in a kernel, where the ranks differ")
	SlowestTotal = row("slowest_total", "ns", Neither, time, perStep, kernels, ByTimeline, TermKernel, 0,
		"total time of the kernel in that rank, per step", "total time in the slowest rank")
	SlowestLaunches = row("slowest_launches", "count", Neither, exact, perStep, kernels, ByTimeline, TermCount, 0,
		"launches of the kernel in that rank, per step", "launches in the slowest rank")
	Owned = row("owned_time", "ns", Neither, time, perStep|overRanks, kernels|copies|idle, ByTimeline, TermStep, 0,
		"part of the mean step that is attributed to a kernel, a kind of copy or a cause of idle time",
		"time of the step")
	MemoryPeak = row("memory_peak", "B", Lower, exact, alone, workload, ByMemory, TermCount, judged,
		"largest device memory that the process requested from the driver, what an allocator reserves included",
		"device memory requested")
	MemoryHeld = row("memory_held", "B", Neither, exact, overRanks, ranges, ByMemory, TermCount, 0,
		"part of the peak that was requested within a range", "device memory requested")
	Registers     = attribute("registers", "per thread", ByTimeline, "registers of a thread")
	StaticShared  = attribute("static_shared", "B", ByTimeline, "static shared memory of a block")
	DynamicShared = attribute("dynamic_shared", "B", ByTimeline, "dynamic shared memory of a block")
	LocalMemory   = attribute("local_memory", "B per thread", ByTimeline, "local memory of a thread")
)

// The metrics that are read from the device code of a build.
var (
	StackBytes    = attribute("stack_bytes", "B", ByCode, "stack of a thread", "stack")
	SpillBytes    = attribute("spill_bytes", "B", ByCode, "bytes of local stores in the code", "spills")
	ConstantBytes = attribute("constant_bytes", "B", ByCode, "constant bank 0", "constants")
	CodeBytes     = attribute("code_bytes", "B", ByCode, "size of the instructions", "code size")
)

// The metrics of unprofiled runs: profiling slows the CPU down, so that they decide and profiled runs explain.
var (
	Rate = row("rate", "", Higher, rate, alone, outputs, ByOutput, TermOutput, judged|followed|main,
		"number that the workload prints, of which more is better", "output")
	Cost = row("cost", "", Lower, amount, alone, outputs, ByOutput, TermOutput, judged|followed|main,
		"number that the workload prints, of which less is better", "output")
	WallTime = row("wall_time", "ns", Lower, time, alone, workload, ByWall, TermWall, 0,
		"time from the start of the process to its end, of unprofiled runs")
)

// The metrics of benchmark files: one value a process, as the harness states it.
var (
	GPUDuration = benchmark("gpu_duration", "ns", Lower, time, TermKernel, "time between two events on the GPU",
		"time on the GPU")
	Duration  = benchmark("duration", "ns", Lower, time, TermOutput, "time that the harness took", "time")
	ItemRate  = benchmark("item_rate", "1/s", Higher, rate, TermOutput, "requests, tokens or items per second", "rate")
	Bandwidth = benchmark("bandwidth", "B/s", Higher, rate, TermOutput, "bytes per second")
	FlopRate  = benchmark("flop_rate", "FLOP/s", Higher, rate, TermOutput, "floating-point operations per second",
		"FLOP rate")
	GPUBandwidth = benchmark("gpu_bandwidth", "B/s", Higher, rate, TermKernel, "bytes per second of a time on the GPU",
		"bandwidth on the GPU")
	GPUFlopRate = benchmark("gpu_flop_rate", "FLOP/s", Higher, rate, TermKernel,
		"floating-point operations per second of a time on the GPU", "FLOP rate on the GPU")
	Memory    = benchmark("memory", "B", Lower, amount, TermOutput, "memory that the harness states")
	Ratio     = benchmark("ratio", "", Lower, rate, TermKernel, "quotient of two times or sizes of one run")
	RateRatio = benchmark("rate_ratio", "", Higher, rate, TermKernel, "quotient of two rates of one run",
		"ratio of rates")
	Value = row("value", "", Neither, amount, alone, benchmarks, ByResults, TermOutput, main,
		"number without a direction: the rule gives it with better")
	MoreValue = row("more_value", "", Higher, rate, alone, benchmarks, ByResults, TermOutput, judged|followed|main,
		"number of which more is better, as the filter of its file says", "score")
	LessValue = row("less_value", "", Lower, amount, alone, benchmarks, ByResults, TermOutput, judged|followed|main,
		"number of which less is better, as the filter of its file says", "amount")
)

// The metrics that are sampled of the whole GPU: means over a step or a range, in per cent of the peak rate. They show
// how the GPU was used and are judged if a rule names them. Rates of bytes have no direction.
var (
	SMActive       = sample("sm_active", Higher, "time in which an SM has a warp", "SM active")
	SMIssue        = sample("sm_issue", Higher, "cycles in which an SM issues an instruction", "SM issue")
	TensorActive   = sample("tensor_active", Higher, "cycles in which the tensor cores work")
	DRAMRead       = sample("dram_read", Neither, "bytes read from DRAM", "DRAM read")
	DRAMWrite      = sample("dram_write", Neither, "bytes written to DRAM", "DRAM write")
	PCIeRX         = sample("pcie_rx", Neither, "bytes received over PCIe", "PCIe received")
	PCIeTX         = sample("pcie_tx", Neither, "bytes sent over PCIe", "PCIe sent")
	NVLinkRX       = sample("nvlink_rx", Neither, "bytes received over NVLink", "NVLink received")
	NVLinkTX       = sample("nvlink_tx", Neither, "bytes sent over NVLink", "NVLink sent")
	SamplingPeriod = row("sampling_period", "ns", Neither, time, alone, workload, BySampling, TermUtilisation, 0,
		"time between two samples of these: a shorter range has no value")
)

// The metrics that Nsight Compute gives of a single launch. The reader of the counters tells which each comes from.
//
// The profiler replays launches one by one, flushes caches and may lock clocks, so that these durations are a metric of
// their own: ReplayTime is never compared with [Time]. Exact metrics are counted, not sampled, and one launch is enough
// to know them. Occupancy and what limits it are of an SM. The peaks are the roofs of the roofline at the clocks of the
// launch. The stalls are the cycles that a warp waits between two instructions, by cause.
var (
	ReplayTime = row("ncu_time", "ns", Lower, time, alone, kernels, ByCounters, TermKernel, judged|main|drifts,
		"duration of one launch that is replayed for its counters")
	Cycles       = counter("cycles", "count", Lower, amount, "duration in cycles of the SM clock")
	SMClock      = counter("sm_clock", "Hz", Neither, rate, "SM clock while the kernel ran")
	SMThroughput = counter("sm_throughput", "%", Higher, share,
		"part of the peak rate that the busiest unit of the SMs reached")
	MemoryThroughput = counter("memory_throughput", "%", Higher, share,
		"part of the peak rate that the busiest unit of the memory system reached")
	DRAMThroughput = counter("dram_throughput", "%", Higher, share, "part of the peak rate that DRAM reached")
	DRAMBytes      = counter("dram_bytes", "B", Lower, amount,
		"bytes read from and written to DRAM, which depends on the content of the caches")
	DRAMBandwidth = counter("dram_bandwidth", "B/s", Higher, rate, "rate of these bytes")
	L2Bytes       = counter("l2_bytes", "B", Lower, amount, "traffic of the L2 cache")
	GlobalBytes   = counter("global_bytes", "B", Lower, exact, "bytes that instructions request from global memory")
	L1HitRate     = counter("l1_hit_rate", "%", Higher, share, "hits of the L1 cache")
	L2HitRate     = counter("l2_hit_rate", "%", Higher, share, "hits of the L2 cache")
	LoadSectors   = counter("load_sectors", "sectors/request", Lower, rate,
		"32-byte sectors per load from global memory: 4 where a warp reads neighbouring floats, 32 at worst")
	StoreSectors      = counter("store_sectors", "sectors/request", Lower, rate, "the same for stores")
	AchievedOccupancy = counter("achieved_occupancy", "%", Higher, share,
		"active warps of the most that an SM holds")
	TheoreticalOccupancy = counter("theoretical_occupancy", "%", Higher, exact,
		"warps that the launch allows of the most that an SM holds")
	LimitBlocks    = limit("limit_blocks", "its own bound")
	LimitRegisters = limit("limit_registers", "registers")
	LimitShared    = limit("limit_shared", "shared memory")
	LimitWarps     = limit("limit_warps", "warps")
	LimitBarriers  = limit("limit_barriers", "barriers")
	Waves          = counter("waves", "waves", Neither, amount, "grid over the blocks that fit on the GPU at once")
	Instructions   = counter("instructions", "count", Lower, exact, "warp instructions executed")
	LocalLoads     = counter("local_loads", "count", Lower, exact,
		"loads from local memory: spilled registers, arrays indexed at run time")
	LocalStores = counter("local_stores", "count", Lower, exact, "stores to local memory")
	Spills      = counter("spills", "count", Lower, exact,
		"instructions that the compiler marked as spilling, from Nsight Compute 2025", "spilling instructions")
	FP64 = counter("flops_fp64", "FLOP", Lower, amount,
		"FP64 operations outside the tensor cores, a fused multiply-add counted as two")
	FP32 = counter("flops_fp32", "FLOP", Lower, amount,
		"FP32 operations outside the tensor cores, a fused multiply-add counted as two")
	FP16 = counter("flops_fp16", "FLOP", Lower, amount,
		"FP16 operations outside the tensor cores, a fused multiply-add counted as two")
	TensorOps            = counter("tensor_ops", "count", Lower, exact, "operations of the tensor cores, of any type")
	PeakDRAM             = counter("peak_dram", "B/s", Neither, rate, "peak of DRAM")
	PeakFP64             = counter("peak_fp64", "FLOP/s", Neither, rate, "peak of FP64")
	PeakFP32             = counter("peak_fp32", "FLOP/s", Neither, rate, "peak of FP32")
	PeakFP16             = counter("peak_fp16", "FLOP/s", Neither, rate, "peak of FP16")
	StallLongScoreboard  = stall("stall_long_scoreboard", "for global or local memory")
	StallShortScoreboard = stall("stall_short_scoreboard", "for shared memory or special functions")
	StallMIO             = stall("stall_mio_throttle", "for the queue of memory instructions")
	StallLG              = stall("stall_lg_throttle", "for the queue of global and local memory")
	StallBarrier         = stall("stall_barrier", "at a barrier of the block")
	StallMath            = stall("stall_math_throttle", "for an arithmetic unit")
	StallWait            = stall("stall_wait", "for a fixed latency")
)

var (
	// GPUMetrics lists the metrics that are sampled of the whole GPU over a step or range.
	GPUMetrics = measuredBy(BySampling, "%")
	// Attributes lists the attributes of a launch that every profiler of kernels tells.
	Attributes = []Metric{Registers, StaticShared, DynamicShared}
	// Throughput lists the metrics of Nsight Compute, which gives registers and shared memory as well.
	Throughput = measuredBy(ByCounters, "")
)
