package why

import (
	"fmt"
	"math"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/read/counters"
	"github.com/nsgate/nsgate/gate/internal/result"
)

type rule struct {
	name  string
	guide result.Guide // that explains it
	needs metrics      // unless both sides have all of them, the rule is not tried
	// last rules speak only where no other does: their evidence follows from any cause.
	last bool
	// speak gives the reason with its numbers, or "" where the rule does not apply.
	speak func(pair) string
}

type metrics []measure.Metric

// rules in the order of a reader's check, causes before their effects. The order is a resource that the compiler or the
// launch changed, the layout of the work, its amount, the traffic, the machine. The limits are well above the
// differences between repeated launches in testdata: counts 0, DRAM bytes 0.3 %, hit rates 2 points above 10 µs.
var rules = []rule{
	{"local memory", localMemory, nil, false, spilled},
	{"register pressure", pressure, metrics{measure.Registers, measure.TheoreticalOccupancy}, false,
		func(p pair) string {
			if p.by(measure.Registers) <= 0 || !p.emptier() || !p.head.limitedBy(measure.LimitRegisters) {
				return ""
			}
			return fmt.Sprintf("%s per thread and %s: register pressure", p.told(measure.Registers), p.occupancy())
		}},
	{"shared memory", sharedEffects, metrics{measure.StaticShared, measure.DynamicShared, measure.TheoreticalOccupancy},
		false, func(p pair) string {
			before, after := p.base.shared(), p.head.shared()
			if after <= before || !p.emptier() || !p.head.limitedBy(measure.LimitShared) {
				return ""
			}
			return fmt.Sprintf("shared memory %s a block and %s: shared memory limits the blocks of an SM",
				arrow(before, after, "B"), p.occupancy())
		}},
	{"occupancy", calculating, metrics{measure.TheoreticalOccupancy}, false, func(p pair) string {
		registers, shared := p.by(measure.Registers) > 0, p.head.shared() > p.base.shared()
		if !p.emptier() || registers && p.head.limitedBy(measure.LimitRegisters) ||
			shared && p.head.limitedBy(measure.LimitShared) { // rules of their own
			return ""
		}
		return p.occupancy() + ": " + p.head.limit()
	}},
	{"tensor cores", sectionsAndRules("Compute Workload Analysis"), metrics{measure.TensorOps}, false,
		func(p pair) string {
			grown := p.head.flops() - p.base.flops()
			lost := -p.by(measure.TensorOps)
			switch {
			case lost <= 0:
			case p.head.get(measure.TensorOps) == 0:
				return p.told(measure.TensorOps) + ": the tensor cores are no longer used"
			case grown > 0.5*lost:
				return p.told(measure.TensorOps) + ": a part of the work has left the tensor cores"
			}
			if p.known(counters.TensorPeak) && p.ratio(counters.TensorPeak) < 0.8 && p.ratio(measure.SMClock) > 0.9 {
				return fmt.Sprintf("peak of the tensor operations %s: they are of a slower type",
					p.arrow(counters.TensorPeak, "OPS"))
			}
			return ""
		}},
	{"precision", arithmetic, metrics{measure.FP64, measure.FP32, measure.FP16}, false, precision},
	{"divergence", branching, metrics{counters.ActiveThreads}, false, func(p pair) string {
		if by := p.by(counters.ActiveThreads); by <= -1 && p.ratio(counters.ActiveThreads) < 0.95 {
			return fmt.Sprintf("active threads %s of the 32 of a warp: its threads take different branches, or "+
				"leave early", p.arrow(counters.ActiveThreads, ""))
		}
		if p.known(counters.UnmaskedThreads) && p.by(counters.UnmaskedThreads) <= -2 &&
			p.ratio(counters.UnmaskedThreads) < 0.9 {
			return fmt.Sprintf("threads of a warp that are not masked out %s of 32: branches within a warp became "+
				"predicates", p.arrow(counters.UnmaskedThreads, ""))
		}
		return ""
	}},
	{"bank conflicts", memoryBanks, metrics{counters.SharedWavefronts}, false, func(p pair) string {
		if p.ratio(counters.SharedWavefronts) < 1.1 || p.by(counters.SharedWavefronts) < 0.1 {
			return ""
		}
		return fmt.Sprintf("passes through shared memory ×%s → ×%s of what the accesses need: bank conflicts",
			amount(p.base.get(counters.SharedWavefronts), ""), amount(p.head.get(counters.SharedWavefronts), ""))
	}},
	{"coalescing", coalesced, metrics{measure.LoadSectors}, false,
		func(p pair) string { return scattered(p, measure.LoadSectors, "load") }},
	{"coalescing of stores", coalesced, metrics{measure.StoreSectors}, false,
		func(p pair) string { return scattered(p, measure.StoreSectors, "store") }},
	{"waves", hardwareModel, metrics{measure.Waves}, false, func(p pair) string {
		b, h := p.base.get(measure.Waves), p.head.get(measure.Waves)
		grid := result.Given(p.grid(), p.grid(), ", ")
		switch {
		case tail(h)-tail(b) < 0.05:
			return ""
		case h < 1:
			return fmt.Sprintf("%swaves %.2f → %.2f: the blocks fill %.0f %% of the GPU", grid, b, h, 100*h)
		}
		return fmt.Sprintf("%swaves %.2f → %.2f: in the last wave %.0f %% of the GPU has work", grid, b, h,
			100*(h-math.Floor(h)))
	}},
	{"work", sectionsAndRules("Instruction Statistics"), metrics{measure.Instructions}, false, func(p pair) string {
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
		case ops < 1:
			return fmt.Sprintf("%s, FLOPs %s: more instructions for less arithmetic", p.grown(measure.Instructions),
				times(ops))
		}
		return fmt.Sprintf("%s, FLOPs %s: more work", p.grown(measure.Instructions), times(ops))
	}},
	{"L2 cache", l2Table, reuse, false, reused(true)}, // more DRAM traffic follows from it
	{"traffic", deviceTable, metrics{measure.DRAMBytes}, false, func(p pair) string {
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
	}},
	{"L2 cache", l2Table, reuse, false, reused(false)},
	{"L1 cache", l1Table, metrics{measure.L1HitRate, measure.L2Bytes}, false, func(p pair) string {
		if p.by(measure.L1HitRate) > -5 || p.ratio(measure.L2Bytes) < 1.02 || p.by(measure.L2Bytes) < 1e6 {
			return ""
		}
		return p.told(measure.L1HitRate) + ": less is reused in L1"
	}},
	{"idle warps", sectionsAndRules("Occupancy"), metrics{measure.AchievedOccupancy, measure.TheoreticalOccupancy},
		false,
		func(p pair) string {
			if p.ratio(measure.AchievedOccupancy) > 0.9 || p.by(measure.AchievedOccupancy) > -5 ||
				p.by(measure.TheoreticalOccupancy) != 0 {
				return ""
			}
			return fmt.Sprintf("%s at the same theoretical occupancy: the load is unbalanced, or there are too few "+
				"blocks",
				p.told(measure.AchievedOccupancy))
		}},
	{"clock", clockControl, metrics{measure.Instructions, measure.Cycles, measure.SMClock, measure.ReplayTime}, false,
		func(p pair) string {
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
			return fmt.Sprintf("same instructions%s, %s: same work, slower, not the code", bytes,
				p.grown(measure.SMClock))
		}},
	{"memory clock", clockControl, metrics{measure.Instructions, measure.DRAMBytes, measure.PeakDRAM}, false,
		func(p pair) string {
			if p.ratio(measure.PeakDRAM) > 0.98 || !p.slower() || !p.same(measure.Instructions, 0.005) ||
				p.ratio(measure.DRAMBytes) > 1.02 {
				return ""
			}
			return fmt.Sprintf("same instructions, same DRAM bytes, %s: same work, slower, for the memory clock is "+
				"lower",
				p.grown(measure.PeakDRAM))
		}},
	{"stalls", stallReasons, nil, true, func(p pair) string {
		if !p.slower() {
			return ""
		}
		worst, most := "", 1.0
		for _, s := range stalls {
			if by := p.by(s.metric); by > most && p.ratio(s.metric) > 1.2 {
				worst, most = fmt.Sprintf("a warp waits %s cycles an instruction for %s", p.arrow(s.metric, ""),
					s.what), by
			}
		}
		return worst
	}},
}

// spilled is the rule of local memory. Spills alone are known from the details page.
func spilled(p pair) string {
	loads, stores := p.ratio(measure.LocalLoads) > 1.01, p.ratio(measure.LocalStores) > 1.01
	spills := p.known(measure.Spills) && p.by(measure.Spills) > 0
	what := measure.Either(p.known(measure.Spills),
		"an array that is indexed at run time lies in local memory (the compiler marks no spills)",
		"registers spill, or an array is indexed at run time")
	what = measure.Either(spills, "registers spill", what)
	what += measure.Either(p.by(measure.Registers) < 0, " ("+p.told(measure.Registers)+" per thread)", "")
	switch {
	case loads && stores:
		return p.grown(measure.LocalLoads) + " and " + p.grown(measure.LocalStores) + ": " + what
	case loads:
		return p.grown(measure.LocalLoads) + ": " + what
	case stores:
		return p.grown(measure.LocalStores) + ": " + what
	case spills && p.ratio(measure.Spills) > 1.01 && math.IsNaN(p.ratio(measure.LocalLoads)):
		return p.grown(measure.Spills) + ": " + what
	}
	return ""
}

// precision is the rule of arithmetic that moved to a slower precision: the amount must matter beside all of it.
func precision(p pair) string {
	all := math.Max(p.base.flops(), p.head.flops())
	for _, x := range []struct {
		slow measure.Metric
		fast []measure.Metric
	}{
		{measure.FP64, []measure.Metric{measure.FP32, measure.FP16}},
		{measure.FP32, []measure.Metric{measure.FP16}},
	} {
		grown := p.by(x.slow)
		if grown < 0.01*all || p.ratio(x.slow) < 1.01 {
			continue
		}
		for _, fast := range x.fast {
			if lost := -p.by(fast); lost > 0.25*grown {
				return fmt.Sprintf("%s, %s: arithmetic of a slower precision", p.told(x.slow), p.told(fast))
			}
		}
		if x.slow == measure.FP64 && p.base.get(measure.FP64) == 0 {
			return p.told(x.slow) + ": double precision, which a constant without an f brings"
		}
	}
	return ""
}

var reuse = metrics{measure.L2HitRate, measure.DRAMBytes}

// reused is the rule of the L2 cache, where the same accesses reach it or not.
func reused(same bool) func(pair) string {
	return func(p pair) string {
		if (p.known(measure.L2Bytes) && p.same(measure.L2Bytes, 0.02)) != same ||
			p.by(measure.L2HitRate) > -5 || p.ratio(measure.DRAMBytes) < 1.02 || p.by(measure.DRAMBytes) < 1e6 {
			return ""
		}
		return p.told(measure.L2HitRate) + ": less is reused in L2"
	}
}

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

// scattered is the rule of coalescing for loads or stores. Wider accesses need more sectors, too, so that the sectors
// must have grown beyond those of perfectly coalesced accesses, where these are known.
func scattered(p pair, m measure.Metric, what string) string {
	if p.ratio(m) < 1.1 || p.by(m) < 0.5 {
		return ""
	}
	if p.known(counters.GlobalSectors) {
		if p.ratio(counters.GlobalSectors) < 1.05 {
			return ""
		}
	} else if precision(p) != "" {
		return ""
	}
	return fmt.Sprintf("sectors per %s request %s: the threads of a warp access addresses farther apart",
		what, p.arrow(m, ""))
}

// tail is the part of the GPU's time that the partial last wave leaves idle if all blocks take equally long.
func tail(waves float64) float64 {
	return measure.Either(waves <= 0, 0, 1-waves/math.Ceil(waves))
}

// limits are the limits of the blocks of an SM. Of several equal limits the first one is named: the number of blocks
// first, since a kernel that uses less of the others gains nothing; warps last, since they alone allow full occupancy.
var limits = []struct {
	metric measure.Metric
	what   string
}{
	{measure.LimitBlocks, "the number of blocks"}, {measure.LimitRegisters, "registers"},
	{measure.LimitShared, "shared memory"},
	{measure.LimitBarriers, "barriers"}, {measure.LimitWarps, "warps"},
}

// limit says which resource limits the blocks of an SM.
func (s sample) limit() string {
	for _, l := range limits {
		if !math.IsNaN(s.get(l.metric)) && s.limitedBy(l.metric) {
			return "limited by " + l.what
		}
	}
	return "fewer warps fit on an SM"
}

// grid is the change of the number of blocks, "" where there is none.
func (p pair) grid() string {
	b, h := p.base.grid, p.head.grid
	return measure.Either(b != h && b > 0 && h > 0, "grid "+arrow(b, h, "count")+" blocks", "")
}

func (s sample) shared() float64 { return s.get(measure.StaticShared) + s.get(measure.DynamicShared) }

// limitedBy reports whether no resource allows fewer blocks than this one. Where the limits are unknown it may be.
func (s sample) limitedBy(limit measure.Metric) bool {
	for _, l := range limits {
		if s.get(l.metric) < s.get(limit) {
			return false
		}
	}
	return true
}

// emptier reports whether fewer warps can be and, where that is known, are on an SM.
func (p pair) emptier() bool {
	return p.by(measure.TheoreticalOccupancy) < 0 && !(p.ratio(measure.AchievedOccupancy) > 0.97)
}

// occupancy is the change of the theoretical occupancy, and the achieved one where it is known.
func (p pair) occupancy() string {
	return p.told(measure.TheoreticalOccupancy) +
		measure.Either(p.known(measure.AchievedOccupancy), " (achieved "+p.arrow(measure.AchievedOccupancy, "%")+")",
			"")
}
