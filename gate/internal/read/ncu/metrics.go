package ncu

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/read/counters"
)

// formula computes a metric from ncu's: (Σ factor × term) × times ÷ over.
type formula struct {
	terms       []term
	times, over string
	names       []string // of ncu's metrics that are needed
}

type term struct {
	factor float64
	name   string
}

// formulas reads formulas as they are written in the tables below: "a | b + c | 32 b + 32 c | 2 b × d ÷ e", where times
// and over are those of the whole sum.
func formulas(text string) (all []formula) {
	for one := range strings.SplitSeq(text, " | ") {
		var f formula
		one, f.over, _ = strings.Cut(one, " ÷ ")
		one, f.times, _ = strings.Cut(one, " × ")
		for part := range strings.SplitSeq(one, " + ") {
			t := term{1, part}
			if factor, name, ok := strings.Cut(part, " "); ok {
				t.name = name
				t.factor, _ = strconv.ParseFloat(factor, 64)
			}
			f.terms, f.names = append(f.terms, t), append(f.names, t.name)
		}
		for _, name := range []string{f.times, f.over} {
			if name != "" {
				f.names = append(f.names, name)
			}
		}
		all = append(all, f)
	}
	return all
}

// flops are the ways to know the operations of one precision. The sections of ncu give only rates a cycle: a fused
// multiply-add is two, and a half-precision instruction works on two numbers at once (as in ncu's own
// derived__…_pred_on_x2 and _x4).
func flops(lanes int, letter string) []formula {
	way := func(unit, rate string) string {
		return fmt.Sprintf("%[1]d %[3]sadd_pred_on.sum%[4]s + %[1]d %[3]smul_pred_on.sum%[4]s + %[2]d "+
			"%[3]sfma_pred_on.sum%[4]s",
			lanes, 2*lanes, unit+"__sass_thread_inst_executed_op_"+letter, rate)
	}
	return formulas(strings.Join([]string{
		way("smsp", ""), way("sm", ""),
		way("smsp", ".per_cycle_elapsed") + " × smsp__cycles_elapsed.avg",
		way("sm", ".per_cycle_elapsed") + " × sm__cycles_elapsed.avg",
	}, " | "))
}

// peak is the rate of one precision if every cycle issued fused multiply-adds on every lane. ncu's derived
// metric has the number.
func peak(letter string, operations int) []formula {
	return formulas(fmt.Sprintf("derived__%[1]s_x%[2]d × %[3]s | %[2]d %[1]s.sum.peak_sustained × %[3]s",
		fused(letter), operations, "sm__cycles_elapsed.avg.per_second"))
}

// fused are the fused multiply-adds of one precision.
func fused(letter string) string { return "sm__sass_thread_inst_executed_op_" + letter + "fma_pred_on" }

func stalled(reason string) string {
	return "smsp__average_warps_issue_stalled_" + reason + "_per_issue_active.ratio"
}

func stall(reason string) []formula { return formulas(stalled(reason)) }

// sectors are 32 bytes.
func sectors(op string) []formula {
	return formulas(strings.ReplaceAll("l1tex__t_sectors_pipe_lsu_mem_global_op_OP.sum ÷ "+
		"l1tex__t_requests_pipe_lsu_mem_global_op_OP.sum | "+
		"l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_OP.ratio", "OP", op))
}

type source struct {
	metric measure.Metric
	from   []formula
}

// sources are the formulas of a metric over those of ncu. The first formula whose metrics are all there holds: names
// differ between versions, chips and sets of sections. The first column is the metric to read; NVIDIA's Kernel
// Profiling Guide, "Metrics Reference", has the meaning of the others.
var sources = []source{
	{measure.ReplayTime, formulas("gpu__time_duration.sum | gpu__time_duration.avg | gpu__time_duration")},
	{measure.Cycles, formulas("gpc__cycles_elapsed.max | sm__cycles_elapsed.max")},
	{measure.SMClock, formulas("gpc__cycles_elapsed.avg.per_second | smsp__cycles_elapsed.avg.per_second | " +
		"sm__cycles_elapsed.avg.per_second")},

	{measure.SMThroughput, formulas("sm__throughput.avg.pct_of_peak_sustained_elapsed")},
	{measure.MemoryThroughput, formulas("gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed")},
	{measure.DRAMThroughput, formulas("gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed | " +
		"dram__throughput.avg.pct_of_peak_sustained_elapsed")},
	{measure.DRAMBytes, formulas("dram__bytes.sum | dram__bytes_read.sum + dram__bytes_write.sum | " +
		"dram__bytes_op_read.sum + dram__bytes_op_write.sum | " +
		"32 dram__sectors_read.sum + 32 dram__sectors_write.sum | " +
		"1e-9 dram__bytes.sum.per_second × gpu__time_duration.sum")},
	{measure.DRAMBandwidth, formulas("dram__bytes.sum.per_second | dram__bytes_read.sum.per_second + " +
		"dram__bytes_write.sum.per_second | 1e9 dram__bytes.sum ÷ gpu__time_duration.sum | " +
		"1e9 dram__bytes_read.sum + 1e9 dram__bytes_write.sum ÷ gpu__time_duration.sum")},
	{measure.L2Bytes, formulas("lts__t_bytes.sum | 32 lts__t_sectors.sum")},
	{measure.GlobalBytes, formulas("32 memory_l2_theoretical_sectors_global")},
	{measure.L1HitRate, formulas("l1tex__t_sector_hit_rate.pct")},
	{measure.L2HitRate, formulas("lts__t_sector_hit_rate.pct | lts__average_t_sector_hit_rate.pct")},
	{measure.LoadSectors, sectors("ld")},
	{measure.StoreSectors, sectors("st")},

	{measure.AchievedOccupancy, formulas("sm__warps_active.avg.pct_of_peak_sustained_active")},
	{measure.TheoreticalOccupancy, formulas("sm__maximum_warps_per_active_cycle_pct")},
	{measure.LimitBlocks, formulas("launch__occupancy_limit_blocks")},
	{measure.LimitRegisters, formulas("launch__occupancy_limit_registers")},
	{measure.LimitShared, formulas("launch__occupancy_limit_shared_mem")},
	{measure.LimitWarps, formulas("launch__occupancy_limit_warps")},
	{measure.LimitBarriers, formulas("launch__occupancy_limit_barriers")},
	{measure.Waves, formulas("launch__waves_per_multiprocessor")},
	{measure.Registers, formulas("launch__registers_per_thread")},
	{measure.StaticShared, formulas("launch__shared_mem_per_block_static")},
	{measure.DynamicShared, formulas("launch__shared_mem_per_block_dynamic")},

	{measure.Instructions, formulas("smsp__inst_executed.sum | sm__inst_executed.sum")},
	{measure.LocalLoads, formulas("sass__inst_executed_local_loads | smsp__sass_inst_executed_op_local_ld.sum | " +
		"smsp__inst_executed_op_local_ld.sum | l1tex__t_requests_pipe_lsu_mem_local_op_ld.sum")},
	{measure.LocalStores, formulas("sass__inst_executed_local_stores | smsp__sass_inst_executed_op_local_st.sum | " +
		"smsp__inst_executed_op_local_st.sum | l1tex__t_requests_pipe_lsu_mem_local_op_st.sum")},
	{measure.Spills, formulas("sass__inst_executed_register_spilling | derived__local_spilling_requests")},
	{measure.FP64, flops(1, "d")},
	{measure.FP32, flops(1, "f")},
	{measure.FP16, flops(2, "h")},

	{measure.PeakDRAM, formulas("dram__bytes.sum.peak_sustained × dram__cycles_elapsed.avg.per_second")},
	{measure.PeakFP64, peak("d", 2)},
	{measure.PeakFP32, peak("f", 2)},
	{measure.PeakFP16, peak("h", 4)},

	{measure.StallLongScoreboard, stall("long_scoreboard")},
	{measure.StallShortScoreboard, stall("short_scoreboard")},
	{measure.StallMIO, stall("mio_throttle")},
	{measure.StallLG, stall("lg_throttle")},
	{measure.StallBarrier, stall("barrier")},
	{measure.StallMath, stall("math_pipe_throttle")},
	{measure.StallWait, stall("wait")},
}

// evidence says where each of [counters.Evidence] comes from, as sources does for metrics; TensorPeak has its own way.
var evidence = []source{
	{counters.SharedWavefronts, formulas("memory_l1_wavefronts_shared ÷ memory_l1_wavefronts_shared_ideal")},
	{counters.GlobalSectors,
		formulas("memory_l2_theoretical_sectors_global ÷ memory_l2_theoretical_sectors_global_ideal")},
	{counters.ActiveThreads, formulas("smsp__thread_inst_executed_per_inst_executed.ratio")},
	{counters.UnmaskedThreads, formulas("smsp__thread_inst_executed_pred_on_per_inst_executed.ratio")},
	{counters.TensorBusy, formulas("sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active | " +
		"sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active | " +
		"sm__inst_executed_pipe_tensor_op_hmma.avg.pct_of_peak_sustained_active")},
}

// kept are the cells that stay in a record, but for the tensor families.
var kept = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{deviceName: true}
	for _, s := range slices.Concat(sources, evidence) {
		for _, f := range s.from {
			for _, n := range f.names {
				names[n] = true
			}
		}
	}
	return names
})

const deviceName = "device__attribute_display_name"

// keeps reports whether a cell stays in a record.
func (b *builder) keeps(name string) bool {
	return kept()[name] || slices.Contains(b.raw, name) || strings.HasPrefix(name, tensor) &&
		(strings.HasSuffix(name, sum) || strings.HasSuffix(name, sum+peakRate))
}

const (
	sum      = ".sum"
	peakRate = ".peak_sustained_elapsed.per_second"
)

// tensor is the family of the operations of the tensor cores, one metric for each type of input. Which ones a chip has
// differs, so that they are added up as they come.
const tensor = "sm__ops_path_tensor_src_"

// joined is a metric with its formulas over the cells of a launch.
type joined struct {
	source
	raw bool    // it is a metric of ncu, as it stands
	at  [][]int // of the names of each formula, their places
}

// layout is the cells that the launches of a table have, and what follows from them.
type layout struct {
	names   []string
	metrics []joined
	tensor  [][2]int // the operations of the tensor cores by type, and their peak rate, -1 for none
	device  int      // the name of the GPU, -1 for none
}

// on joins the formulas with the cells of a launch, by their names. Launches of one table have the same ones, mostly.
func (b *builder) on(names []string) *layout {
	if b.layout != nil && slices.Equal(b.layout.names, names) {
		return b.layout
	}
	p := &layout{names: slices.Clone(names), device: slices.Index(names, deviceName)}
	at := make(map[string]int, len(names))
	for i, name := range names {
		at[name] = i
	}
	ops := tensorOps(names)
	for _, name := range ops {
		peak, known := at[name+peakRate]
		if !known {
			peak = -1
		}
		p.tensor = append(p.tensor, [2]int{at[name], peak})
	}
	join := func(of []source, x joined) {
		for _, s := range of {
			x.source, x.at = source{metric: s.metric}, nil
			for _, f := range s.from {
				places, all := make([]int, len(f.names)), true
				for i, name := range f.names {
					place, there := at[name]
					places[i], all = place, all && there
				}
				if all {
					x.from, x.at = append(x.from, f), append(x.at, places)
				}
			}
			if len(x.at) > 0 {
				p.metrics = append(p.metrics, x)
			}
		}
	}
	join(sources, joined{})
	if len(ops) > 0 {
		join([]source{{measure.TensorOps, formulas(strings.Join(ops, " + "))}}, joined{})
	}
	for _, name := range b.raw {
		join([]source{{measure.Metric{Name: measure.RawPrefix + name}, formulas(name)}}, joined{raw: true})
	}
	join(evidence, joined{})
	b.layout = p
	return p
}

// derive adds the metrics and the evidence of a launch by its cells, and reports whether the launch has a duration.
func (p *layout) derive(to map[string][]float64, cells []value) (timed bool) {
	for i := range p.metrics {
		x := &p.metrics[i]
		v := x.value(cells)
		if x.metric.Exact {
			v = math.Round(v*exactness(x.metric)) / exactness(x.metric)
		}
		if !math.IsNaN(v) {
			to[x.metric.Name] = append(to[x.metric.Name], v)
			timed = timed || x.metric == measure.ReplayTime
		}
	}
	if peak := p.tensorPeak(cells); peak > 0 && !math.IsInf(peak, 0) {
		to[counters.TensorPeak.Name] = append(to[counters.TensorPeak.Name], peak)
	}
	return timed
}

// value is that of the first formula that can be computed, NaN where none can.
func (x *joined) value(cells []value) float64 {
	if x.raw {
		return cells[x.at[0][0]].number
	}
	for i, f := range x.from {
		// A duration that is broken is not made up for by another column.
		if v := f.compute(cells, x.at[i], x.metric.Exact); !math.IsNaN(v) || x.metric == measure.ReplayTime {
			return v
		}
	}
	return math.NaN()
}

// tensorPeak is the peak rate of the tensor cores for the operations of a launch, each type at its own peak. It is NaN
// where the peak of a type is unknown.
func (p *layout) tensorPeak(cells []value) float64 {
	var all, seconds float64
	for _, x := range p.tensor {
		if n := cells[x[0]].number; n != 0 {
			all += n
			if x[1] < 0 {
				return math.NaN()
			}
			seconds += n / cells[x[1]].number
		}
	}
	return all / seconds
}

// tensorOps lists the metrics that add up to the operations of the tensor cores. Where one is the total of others
// (src_fp16 of src_fp16_dst_fp32) only the total counts.
func tensorOps(names []string) []string {
	var stems []string
	for _, name := range names {
		if stem, ok := strings.CutSuffix(name, sum); ok && strings.HasPrefix(stem, tensor) {
			stems = append(stems, stem)
		}
	}
	slices.Sort(stems)
	var out []string
	for _, s := range stems {
		part := slices.ContainsFunc(stems, func(total string) bool { return strings.HasPrefix(s, total+"_") })
		if !part {
			out = append(out, s+sum)
		}
	}
	return out
}

// exactness is how much of a unit an exact metric is known to: counts are whole, ncu writes percentages to two
// decimals.
func exactness(m measure.Metric) float64 {
	if m.Unit == "%" {
		return 100
	}
	return 1
}

// compute gives the value by the cells at the places of its names, NaN where one is no amount, or is rounded and must
// be exact.
func (f formula) compute(cells []value, at []int, exact bool) (value float64) {
	for _, i := range at {
		if c := &cells[i]; math.IsNaN(c.number) || c.number < 0 || exact && c.step >= 1 {
			return math.NaN()
		}
	}
	for i, t := range f.terms {
		value += t.factor * cells[at[i]].number
	}
	if f.times != "" {
		value *= cells[at[len(f.terms)]].number
	}
	if f.over != "" {
		value /= cells[at[len(at)-1]].number
	}
	if math.IsInf(value, 0) { // a ratio to nothing does not exist
		value = math.NaN()
	}
	return value
}

// quote shows a cell, which is untrusted.
func quote(text string) string {
	if text == "" {
		return "nothing"
	}
	return measure.Quote(text)
}
