package measure

// The metrics that Nsight Compute gives of a single launch. Which counters each comes from stands in gate/ncu.
//
// ncu serialises launches, flushes caches and may lock clocks, so that its durations are a metric of their own: NcuTime
// is never compared with [Time]. Exact metrics are counted, not sampled, and one launch is enough to know them.
var (
	// NcuTime is the duration of one launch under ncu.
	NcuTime = Metric{Name: "ncu_time", Unit: "ns", Better: Lower}
	// Cycles is the duration in cycles of the SM clock, SMClock that clock while the kernel ran.
	Cycles  = Metric{Name: "cycles", Unit: "count", Better: Lower}
	SMClock = Metric{Name: "sm_clock", Unit: "Hz", Better: Neither}

	// SMThroughput, MemoryThroughput and DRAMThroughput are "speed of light": the percentage of the peak rate that
	// the busiest unit of the SMs, of the whole memory system, and the DRAM reached.
	SMThroughput     = Metric{Name: "sm_throughput", Unit: "%", Better: Higher}
	MemoryThroughput = Metric{Name: "memory_throughput", Unit: "%", Better: Higher}
	DRAMThroughput   = Metric{Name: "dram_throughput", Unit: "%", Better: Higher}
	// DRAMBytes is what the launch read from and wrote to DRAM, DRAMBandwidth the rate of that. DRAM traffic depends on
	// what the caches held, so that it is measured and not exact.
	DRAMBytes     = Metric{Name: "dram_bytes", Unit: "B", Better: Lower}
	DRAMBandwidth = Metric{Name: "dram_bandwidth", Unit: "B/s", Better: Higher}
	// L2Bytes is the traffic of the L2 cache, GlobalBytes what the instructions that access global memory ask of it.
	L2Bytes     = Metric{Name: "l2_bytes", Unit: "B", Better: Lower}
	GlobalBytes = Metric{Name: "global_bytes", Unit: "B", Better: Lower, Exact: true}
	L1HitRate   = Metric{Name: "l1_hit_rate", Unit: "%", Better: Higher}
	L2HitRate   = Metric{Name: "l2_hit_rate", Unit: "%", Better: Higher}
	// LoadSectors and StoreSectors are 32-byte sectors per request to global memory: 4 where the 32 threads of a warp
	// access neighbouring floats, 32 where each touches a sector of its own.
	LoadSectors  = Metric{Name: "load_sectors", Unit: "sectors/request", Better: Lower}
	StoreSectors = Metric{Name: "store_sectors", Unit: "sectors/request", Better: Lower}

	// AchievedOccupancy is the warps that were active, TheoreticalOccupancy those that the launch allows, both as a
	// percentage of what an SM can hold.
	AchievedOccupancy    = Metric{Name: "achieved_occupancy", Unit: "%", Better: Higher}
	TheoreticalOccupancy = Metric{Name: "theoretical_occupancy", Unit: "%", Better: Higher, Exact: true}
	// The limits are how many blocks an SM could hold if only this resource counted: the smallest limits occupancy.
	LimitBlocks    = Metric{Name: "limit_blocks", Unit: "blocks/SM", Better: Neither, Exact: true}
	LimitRegisters = Metric{Name: "limit_registers", Unit: "blocks/SM", Better: Neither, Exact: true}
	LimitShared    = Metric{Name: "limit_shared", Unit: "blocks/SM", Better: Neither, Exact: true}
	LimitWarps     = Metric{Name: "limit_warps", Unit: "blocks/SM", Better: Neither, Exact: true}
	LimitBarriers  = Metric{Name: "limit_barriers", Unit: "blocks/SM", Better: Neither, Exact: true}
	// Waves is the grid over the blocks that fit on the GPU at once.
	Waves = Metric{Name: "waves", Unit: "waves", Better: Neither}

	// Instructions are warp instructions executed. LocalLoads and LocalStores are those that access local memory, which
	// the compiler uses for spilled registers and for arrays indexed at run time; Spills are those that it marked as
	// spilling (known to ncu from 2025).
	Instructions = Metric{Name: "instructions", Unit: "count", Better: Lower, Exact: true}
	LocalLoads   = Metric{Name: "local_loads", Unit: "count", Better: Lower, Exact: true}
	LocalStores  = Metric{Name: "local_stores", Unit: "count", Better: Lower, Exact: true}
	Spills       = Metric{Name: "spills", Unit: "count", Better: Lower, Exact: true}
	// FP64, FP32 and FP16 are floating-point operations outside the tensor cores, a fused multiply-add counted as two.
	// Pages that give rates only make them inexact. TensorOps are the operations of the tensor cores of any type.
	FP64      = Metric{Name: "flops_fp64", Unit: "FLOP", Better: Lower}
	FP32      = Metric{Name: "flops_fp32", Unit: "FLOP", Better: Lower}
	FP16      = Metric{Name: "flops_fp16", Unit: "FLOP", Better: Lower}
	TensorOps = Metric{Name: "tensor_ops", Unit: "count", Better: Lower, Exact: true}

	// The peaks are the roofs of the roofline at the clocks of the launch.
	PeakDRAM = Metric{Name: "peak_dram", Unit: "B/s", Better: Neither}
	PeakFP64 = Metric{Name: "peak_fp64", Unit: "FLOP/s", Better: Neither}
	PeakFP32 = Metric{Name: "peak_fp32", Unit: "FLOP/s", Better: Neither}
	PeakFP16 = Metric{Name: "peak_fp16", Unit: "FLOP/s", Better: Neither}

	// The stalls are the cycles that a warp waits between two instructions, by what it waits for.
	StallLongScoreboard  = Metric{Name: "stall_long_scoreboard", Unit: "cycles/inst", Better: Neither}
	StallShortScoreboard = Metric{Name: "stall_short_scoreboard", Unit: "cycles/inst", Better: Neither}
	StallMIO             = Metric{Name: "stall_mio_throttle", Unit: "cycles/inst", Better: Neither}
	StallLG              = Metric{Name: "stall_lg_throttle", Unit: "cycles/inst", Better: Neither}
	StallBarrier         = Metric{Name: "stall_barrier", Unit: "cycles/inst", Better: Neither}
	StallMath            = Metric{Name: "stall_math_throttle", Unit: "cycles/inst", Better: Neither}
	StallWait            = Metric{Name: "stall_wait", Unit: "cycles/inst", Better: Neither}
)

// Throughput lists the metrics of Nsight Compute. [Registers], [StaticShared] and [DynamicShared] come from it as well.
var Throughput = []Metric{
	NcuTime, Cycles, SMClock,
	SMThroughput, MemoryThroughput, DRAMThroughput,
	DRAMBytes, DRAMBandwidth, L2Bytes, GlobalBytes, L1HitRate, L2HitRate, LoadSectors, StoreSectors,
	AchievedOccupancy, TheoreticalOccupancy, LimitBlocks, LimitRegisters, LimitShared, LimitWarps, LimitBarriers, Waves,
	Instructions, LocalLoads, LocalStores, Spills, FP64, FP32, FP16, TensorOps,
	PeakDRAM, PeakFP64, PeakFP32, PeakFP16,
	StallLongScoreboard, StallShortScoreboard, StallMIO, StallLG, StallBarrier, StallMath, StallWait,
}

// Judged reports whether the metric is judged where no rule of the policy names it: those with a direction, and of Nsight
// Compute's only the duration. Its other metrics are causes and rates that go up and down without anyone waiting longer.
func (m Metric) Judged() bool {
	return m.Better != Neither && (m.Name == NcuTime.Name || !isThroughput[m.Name])
}

var isThroughput = func() map[string]bool {
	names := map[string]bool{}
	for _, m := range Throughput {
		names[m.Name] = true
	}
	return names
}()
