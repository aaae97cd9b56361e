package why

import (
	"fmt"
	"math"

	"github.com/nsgate/nsgate/gate/measure"
)

// rule is one way in which a kernel gets slower.
type rule struct {
	name string
	// guide is where NVIDIA explains it: CUDA C++ Best Practices Guide (BPG), Kernel Profiling Guide of Nsight Compute
	// (KPG).
	guide string
	needs []measure.Metric // unless both sides have all of them, the rule is not tried
	// last rules speak only where no other does: what they see follows from any cause.
	last bool
	// speak gives the reason with its numbers, or "" where the rule does not apply.
	speak func(pair) string
}

// rules in the order in which a reader should consider them: a resource that the compiler or the launch changed, then
// the work, then the traffic, then the machine. The limits are well above what repeated launches of one kernel differ by on
// the recordings in testdata (counts 0, DRAM bytes 0.3 %, hit rates 2 points of kernels that last over 10 µs).
var rules = []rule{
	{
		name: "local memory", guide: "BPG, Memory Optimizations, Local Memory",
		needs: []measure.Metric{measure.LocalLoads, measure.LocalStores},
		speak: func(p pair) string {
			loads, stores := p.ratio(measure.LocalLoads) > 1.01, p.ratio(measure.LocalStores) > 1.01
			if !loads && !stores {
				return ""
			}
			what := "registers spill, or an array is indexed at run time"
			if p.known(measure.Spills) {
				if what = "an array that is indexed at run time lies in local memory (the compiler marks no spills)"; p.by(measure.Spills) > 0 {
					what = "registers spill"
				}
			}
			switch {
			case !stores:
				return p.grown(measure.LocalLoads) + ": " + what
			case !loads:
				return p.grown(measure.LocalStores) + ": " + what
			}
			return p.grown(measure.LocalLoads) + " and " + p.grown(measure.LocalStores) + ": " + what
		},
	},
	{
		name: "register pressure", guide: "BPG, Execution Configuration Optimizations, Calculating Occupancy; KPG, Occupancy",
		needs: []measure.Metric{measure.Registers, measure.TheoreticalOccupancy},
		speak: func(p pair) string {
			if p.by(measure.Registers) <= 0 || p.by(measure.TheoreticalOccupancy) >= 0 || !p.head.limitedBy(measure.LimitRegisters) {
				return ""
			}
			return fmt.Sprintf("%s per thread and %s: register pressure", p.told(measure.Registers), p.occupancy())
		},
	},
	{
		name: "shared memory", guide: "BPG, Execution Configuration Optimizations, Effects of Shared Memory; KPG, Occupancy",
		needs: []measure.Metric{measure.StaticShared, measure.DynamicShared, measure.TheoreticalOccupancy},
		speak: func(p pair) string {
			before := p.base.get(measure.StaticShared) + p.base.get(measure.DynamicShared)
			after := p.head.get(measure.StaticShared) + p.head.get(measure.DynamicShared)
			if after <= before || p.by(measure.TheoreticalOccupancy) >= 0 || !p.head.limitedBy(measure.LimitShared) {
				return ""
			}
			return fmt.Sprintf("shared memory %s → %s a block and %s: shared memory limits the blocks of an SM",
				amount(before, "B"), amount(after, "B"), p.occupancy())
		},
	},
	{
		name: "idle warps", guide: "KPG, Occupancy: achieved below theoretical means imbalance within or across blocks",
		needs: []measure.Metric{measure.AchievedOccupancy, measure.TheoreticalOccupancy},
		speak: func(p pair) string {
			if p.ratio(measure.AchievedOccupancy) > 0.9 || p.by(measure.AchievedOccupancy) > -5 ||
				p.by(measure.TheoreticalOccupancy) != 0 {
				return ""
			}
			return fmt.Sprintf("%s at the same theoretical occupancy: the load is unbalanced, or there are too few blocks",
				p.told(measure.AchievedOccupancy))
		},
	},
	{
		name: "waves", guide: "KPG, Launch Statistics, and its rule on the partial wave; BPG, Thread and Block Heuristics",
		needs: []measure.Metric{measure.Waves},
		speak: func(p pair) string {
			b, h := p.base.get(measure.Waves), p.head.get(measure.Waves)
			grid := ""
			if p.base.grid != p.head.grid && p.base.grid > 0 && p.head.grid > 0 {
				grid = fmt.Sprintf("grid %s → %s blocks, ", amount(p.base.grid, "count"), amount(p.head.grid, "count"))
			}
			switch {
			case tail(h)-tail(b) < 0.05:
				return ""
			case h < 1:
				return fmt.Sprintf("%swaves %.2f → %.2f: the blocks fill %.0f %% of the GPU", grid, b, h, 100*h)
			}
			return fmt.Sprintf("%swaves %.2f → %.2f: in the last wave %.0f %% of the GPU has work", grid, b, h, 100*(h-math.Floor(h)))
		},
	},
	{
		name: "work", guide: "KPG, Instruction Statistics",
		needs: []measure.Metric{measure.Instructions},
		speak: func(p pair) string {
			r := p.ratio(measure.Instructions)
			if r < 1.01 {
				return ""
			}
			ops := ratio(p.base.operations(), p.head.operations())
			switch {
			case math.IsNaN(ops) || p.base.operations() == 0:
				return p.grown(measure.Instructions) + ": more work"
			case math.Abs(ops/r-1) < 0.02:
				return p.grown(measure.Instructions) + " with FLOPs in proportion: more work"
			case math.Abs(ops-1) < 0.01:
				return p.grown(measure.Instructions) + " at the same FLOPs: more instructions for the same arithmetic"
			}
			return fmt.Sprintf("%s, FLOPs %s: more work", p.grown(measure.Instructions), times(ops))
		},
	},
	{
		name: "traffic", guide: "KPG, Memory Workload Analysis, Device Memory; BPG, Effective Bandwidth",
		needs: []measure.Metric{measure.DRAMBytes},
		speak: func(p pair) string {
			r, floor := p.ratio(measure.DRAMBytes), p.by(measure.DRAMBytes) >= 1e6
			ops, what := ratio(p.base.operations(), p.head.operations()), "FLOPs"
			if math.IsNaN(ops) || p.base.operations() == 0 {
				ops, what = p.ratio(measure.Instructions), "instructions" // NaN where these are not known either
			}
			switch {
			case r < 1.05 || !floor:
				return ""
			case math.IsNaN(ops):
				return p.grown(measure.DRAMBytes) + ": more traffic"
			case r < 1.05*ops:
				return ""
			case math.Abs(ops-1) < 0.01:
				return p.grown(measure.DRAMBytes) + " for the same " + what + ": more traffic"
			}
			return fmt.Sprintf("%s, %s %s: more traffic", p.grown(measure.DRAMBytes), what, times(ops))
		},
	},
	{
		name: "coalescing", guide: "BPG, Memory Optimizations, Coalesced Access to Global Memory",
		needs: []measure.Metric{measure.LoadSectors},
		speak: func(p pair) string { return sectors(p, measure.LoadSectors, "load") },
	},
	{
		name: "coalescing of stores", guide: "BPG, Memory Optimizations, Coalesced Access to Global Memory",
		needs: []measure.Metric{measure.StoreSectors},
		speak: func(p pair) string { return sectors(p, measure.StoreSectors, "store") },
	},
	{
		name: "L2 cache", guide: "KPG, Memory Workload Analysis, L2 Cache",
		needs: []measure.Metric{measure.L2HitRate, measure.DRAMBytes},
		speak: func(p pair) string {
			if p.by(measure.L2HitRate) > -5 || p.ratio(measure.DRAMBytes) < 1.02 || p.by(measure.DRAMBytes) < 1e6 {
				return ""
			}
			return p.told(measure.L2HitRate) + ": less is reused in L2"
		},
	},
	{
		name: "L1 cache", guide: "KPG, Memory Workload Analysis, L1/TEX Cache",
		needs: []measure.Metric{measure.L1HitRate, measure.L2Bytes},
		speak: func(p pair) string {
			if p.by(measure.L1HitRate) > -5 || p.ratio(measure.L2Bytes) < 1.02 || p.by(measure.L2Bytes) < 1e6 {
				return ""
			}
			return p.told(measure.L1HitRate) + ": less is reused in L1"
		},
	},
	{
		name: "clock", guide: "KPG, Reproducibility, Clock Control",
		needs: []measure.Metric{measure.Instructions, measure.Cycles, measure.SMClock, measure.NcuTime},
		speak: func(p pair) string {
			if p.ratio(measure.SMClock) > 0.99 || !p.slower() || !p.same(measure.Instructions, 0.005) ||
				p.ratio(measure.Cycles) > 1.01 {
				return ""
			}
			bytes := ""
			if p.known(measure.DRAMBytes) {
				if p.ratio(measure.DRAMBytes) > 1.02 {
					return ""
				}
				bytes = ", same DRAM bytes"
			}
			return fmt.Sprintf("same instructions%s, %s: not the code", bytes, p.grown(measure.SMClock))
		},
	},
	{
		name: "stalls", guide: "KPG, Warp State Statistics; Warp Stall Reasons", last: true,
		speak: func(p pair) string {
			if !p.slower() {
				return ""
			}
			worst, most := "", 1.0
			for _, s := range stalls {
				if by := p.by(s.metric); by > most && p.ratio(s.metric) > 1.2 {
					worst, most = fmt.Sprintf("a warp waits %s → %s cycles an instruction for %s",
						amount(p.base.get(s.metric), ""), amount(p.head.get(s.metric), ""), s.what), by
				}
			}
			return worst
		},
	},
}

// stalls are what warps wait for (KPG, Warp Stall Reasons).
var stalls = []struct {
	metric measure.Metric
	what   string
}{
	{measure.StallLongScoreboard, "loads from global or local memory (long scoreboard)"},
	{measure.StallShortScoreboard, "shared memory or special functions (short scoreboard)"},
	{measure.StallMIO, "the queue of shared memory and special functions (MIO throttle)"},
	{measure.StallLG, "the queue of global and local memory (LG throttle)"},
	{measure.StallBarrier, "the other warps of its block (barrier)"},
	{measure.StallMath, "an arithmetic pipe (math pipe throttle)"},
	{measure.StallWait, "a fixed latency (wait)"},
}

// sectors is the rule of coalescing for loads or stores.
func sectors(p pair, m measure.Metric, what string) string {
	if p.ratio(m) < 1.1 || p.by(m) < 0.5 {
		return ""
	}
	return fmt.Sprintf("sectors per %s request %s → %s: the threads of a warp access addresses farther apart",
		what, amount(p.base.get(m), ""), amount(p.head.get(m), ""))
}

// tail is the part of the GPU's time that the partial last wave leaves idle if all blocks take equally long.
func tail(waves float64) float64 {
	if waves <= 0 {
		return 0
	}
	return 1 - waves/math.Ceil(waves)
}

// limits are the resources that limit the blocks of an SM, warps last: who is limited by these alone has full occupancy.
var limits = []struct {
	metric measure.Metric
	what   string
}{
	{measure.LimitRegisters, "registers"}, {measure.LimitShared, "shared memory"}, {measure.LimitBarriers, "barriers"},
	{measure.LimitBlocks, "the number of blocks"}, {measure.LimitWarps, "warps"},
}

// limitedBy reports whether no resource allows fewer blocks than this one. Where the limits are unknown it may be.
func (s sample) limitedBy(limit measure.Metric) bool {
	for _, l := range limits {
		m := l.metric
		if s.get(m) < s.get(limit) {
			return false
		}
	}
	return true
}

// occupancy is the change of the theoretical occupancy, and the achieved one where it is known.
func (p pair) occupancy() string {
	text := p.told(measure.TheoreticalOccupancy)
	if p.known(measure.AchievedOccupancy) {
		text += fmt.Sprintf(" (achieved %s → %s)", amount(p.base.get(measure.AchievedOccupancy), "%"),
			amount(p.head.get(measure.AchievedOccupancy), "%"))
	}
	return text
}
