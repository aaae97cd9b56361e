package ncu

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/measure"
)

// formula computes a metric from ncu's: (Σ factor × term) × times ÷ over.
type formula struct {
	terms       []term
	times, over string
}

type term struct {
	factor float64
	name   string
}

// of is the sum of ncu metrics.
func of(names ...string) formula {
	var f formula
	for _, n := range names {
		f.terms = append(f.terms, term{1, n})
	}
	return f
}

func (f formula) scaled(by float64) formula {
	f.terms = slices.Clone(f.terms)
	for i := range f.terms {
		f.terms[i].factor *= by
	}
	return f
}
func (f formula) by(name string) formula      { f.times = name; return f }
func (f formula) divided(name string) formula { f.over = name; return f }

// flop counts the operations of one precision: a fused multiply-add is two, and a half-precision instruction works on
// two numbers at once (as in ncu's own derived__…_pred_on_x2 and _x4).
func flop(lanes float64, unit, letter, suffix string) formula {
	name := func(op string) string {
		return unit + "__sass_thread_inst_executed_op_" + letter + op + "_pred_on" + suffix
	}
	return formula{terms: []term{{lanes, name("add")}, {lanes, name("mul")}, {2 * lanes, name("fma")}}}
}

// flops are the ways to know the operations of one precision. The sections of ncu give rates a cycle only.
func flops(lanes float64, letter string) []formula {
	return []formula{
		flop(lanes, "smsp", letter, ".sum"),
		flop(lanes, "sm", letter, ".sum"),
		flop(lanes, "smsp", letter, ".sum.per_cycle_elapsed").by("smsp__cycles_elapsed.avg"),
		flop(lanes, "sm", letter, ".sum.per_cycle_elapsed").by("sm__cycles_elapsed.avg"),
	}
}

// peak is the rate of one precision if every cycle issued fused multiply-adds on every lane, of which ncu's derived
// metric has the number.
func peak(letter string, operations float64) []formula {
	inst := "sm__sass_thread_inst_executed_op_" + letter + "fma_pred_on"
	return []formula{
		of(fmt.Sprintf("derived__%s_x%v", inst, operations)).by("sm__cycles_elapsed.avg.per_second"),
		of(inst + ".sum.peak_sustained").scaled(operations).by("sm__cycles_elapsed.avg.per_second"),
	}
}

func stalled(reason string) string {
	return "smsp__average_warps_issue_stalled_" + reason + "_per_issue_active.ratio"
}

func stall(reason string) []formula { return []formula{of(stalled(reason))} }

// sectors are 32 bytes.
const sector = 32

func sectors(op string) []formula {
	return []formula{
		of("l1tex__t_sectors_pipe_lsu_mem_global_op_" + op + ".sum").divided("l1tex__t_requests_pipe_lsu_mem_global_op_" + op + ".sum"),
		of("l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_" + op + ".ratio"),
	}
}

type source struct {
	metric measure.Metric
	from   []formula
}

// sources says which of ncu's metrics a metric comes from. Of several formulas the first one holds whose metrics
// are all there: names differ between versions, chips and sets of sections. The first column is what to read; the
// meaning of the others is in NVIDIA's Kernel Profiling Guide, "Metrics Reference".
var sources = []source{
	{measure.NcuTime, []formula{of("gpu__time_duration.sum"), of("gpu__time_duration.avg")}},
	{measure.Cycles, []formula{of("gpc__cycles_elapsed.max"), of("sm__cycles_elapsed.max")}},
	{measure.SMClock, []formula{of("gpc__cycles_elapsed.avg.per_second"), of("smsp__cycles_elapsed.avg.per_second"),
		of("sm__cycles_elapsed.avg.per_second")}},

	{measure.SMThroughput, []formula{of("sm__throughput.avg.pct_of_peak_sustained_elapsed")}},
	{measure.MemoryThroughput, []formula{of("gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed")}},
	{measure.DRAMThroughput, []formula{of("gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"),
		of("dram__throughput.avg.pct_of_peak_sustained_elapsed")}},
	{measure.DRAMBytes, []formula{of("dram__bytes.sum"), of("dram__bytes_read.sum", "dram__bytes_write.sum"),
		of("dram__bytes_op_read.sum", "dram__bytes_op_write.sum"),
		of("dram__sectors_read.sum", "dram__sectors_write.sum").scaled(sector),
		of("dram__bytes.sum.per_second").scaled(1e-9).by("gpu__time_duration.sum")}},
	{measure.DRAMBandwidth, []formula{of("dram__bytes.sum.per_second"),
		of("dram__bytes_read.sum.per_second", "dram__bytes_write.sum.per_second"),
		of("dram__bytes.sum").scaled(1e9).divided("gpu__time_duration.sum"),
		of("dram__bytes_read.sum", "dram__bytes_write.sum").scaled(1e9).divided("gpu__time_duration.sum")}},
	{measure.L2Bytes, []formula{of("lts__t_bytes.sum"), of("lts__t_sectors.sum").scaled(sector)}},
	{measure.GlobalBytes, []formula{of("memory_l2_theoretical_sectors_global").scaled(sector)}},
	{measure.L1HitRate, []formula{of("l1tex__t_sector_hit_rate.pct")}},
	{measure.L2HitRate, []formula{of("lts__t_sector_hit_rate.pct"), of("lts__average_t_sector_hit_rate.pct")}},
	{measure.LoadSectors, sectors("ld")},
	{measure.StoreSectors, sectors("st")},

	{measure.AchievedOccupancy, []formula{of("sm__warps_active.avg.pct_of_peak_sustained_active")}},
	{measure.TheoreticalOccupancy, []formula{of("sm__maximum_warps_per_active_cycle_pct")}},
	{measure.LimitBlocks, []formula{of("launch__occupancy_limit_blocks")}},
	{measure.LimitRegisters, []formula{of("launch__occupancy_limit_registers")}},
	{measure.LimitShared, []formula{of("launch__occupancy_limit_shared_mem")}},
	{measure.LimitWarps, []formula{of("launch__occupancy_limit_warps")}},
	{measure.LimitBarriers, []formula{of("launch__occupancy_limit_barriers")}},
	{measure.Waves, []formula{of("launch__waves_per_multiprocessor")}},
	{measure.Registers, []formula{of("launch__registers_per_thread")}},
	{measure.StaticShared, []formula{of("launch__shared_mem_per_block_static")}},
	{measure.DynamicShared, []formula{of("launch__shared_mem_per_block_dynamic")}},

	{measure.Instructions, []formula{of("smsp__inst_executed.sum"), of("sm__inst_executed.sum")}},
	{measure.LocalLoads, []formula{of("sass__inst_executed_local_loads"), of("smsp__sass_inst_executed_op_local_ld.sum"),
		of("smsp__inst_executed_op_local_ld.sum"), of("l1tex__t_requests_pipe_lsu_mem_local_op_ld.sum")}},
	{measure.LocalStores, []formula{of("sass__inst_executed_local_stores"), of("smsp__sass_inst_executed_op_local_st.sum"),
		of("smsp__inst_executed_op_local_st.sum"), of("l1tex__t_requests_pipe_lsu_mem_local_op_st.sum")}},
	{measure.Spills, []formula{of("sass__inst_executed_register_spilling"), of("derived__local_spilling_requests")}},
	{measure.FP64, flops(1, "d")},
	{measure.FP32, flops(1, "f")},
	{measure.FP16, flops(2, "h")},

	{measure.PeakDRAM, []formula{of("dram__bytes.sum.peak_sustained").by("dram__cycles_elapsed.avg.per_second")}},
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

// What explains a change without being a metric of a session.
var (
	// SharedWavefronts is how many times the passes through shared memory exceed those that the accesses need, whatever
	// their width: 1 where there are no bank conflicts.
	SharedWavefronts = measure.Metric{Name: "shared_wavefronts", Unit: "times", Better: measure.Lower}
	// GlobalSectors is how many times the sectors of global memory exceed those of perfectly coalesced accesses.
	GlobalSectors = measure.Metric{Name: "global_sectors", Unit: "times", Better: measure.Lower}
	// ActiveThreads are the threads that take part in an instruction of a warp, UnmaskedThreads those of them that are
	// not masked out by a predicate. Both are 32 at best.
	ActiveThreads   = measure.Metric{Name: "active_threads", Unit: "threads", Better: measure.Higher}
	UnmaskedThreads = measure.Metric{Name: "unmasked_threads", Unit: "threads", Better: measure.Higher}
	// TensorPeak is the rate of tensor operations, of the types that the launch used, at the clocks of the launch.
	TensorPeak = measure.Metric{Name: "peak_tensor", Unit: "op/s"}
	// TensorBusy is the share of cycles in which the tensor cores worked.
	TensorBusy = measure.Metric{Name: "tensor_busy", Unit: "%", Better: measure.Higher}
)

// Evidence lists what [Record.Evidence] may hold.
var Evidence = []measure.Metric{SharedWavefronts, GlobalSectors, ActiveThreads, UnmaskedThreads, TensorPeak, TensorBusy}

// evidence says where each of [Evidence] comes from, as sources does for metrics; TensorPeak has its own way.
var evidence = []source{
	{SharedWavefronts, []formula{of("memory_l1_wavefronts_shared").divided("memory_l1_wavefronts_shared_ideal")}},
	{GlobalSectors, []formula{of("memory_l2_theoretical_sectors_global").divided("memory_l2_theoretical_sectors_global_ideal")}},
	{ActiveThreads, []formula{of("smsp__thread_inst_executed_per_inst_executed.ratio")}},
	{UnmaskedThreads, []formula{of("smsp__thread_inst_executed_pred_on_per_inst_executed.ratio")}},
	{TensorBusy, []formula{of("sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active"),
		of("sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active"),
		of("sm__inst_executed_pipe_tensor_op_hmma.avg.pct_of_peak_sustained_active")}},
}

// kept are the cells that stay in a record, but for the tensor families.
var kept = func() map[string]bool {
	names := map[string]bool{model: true}
	for _, s := range slices.Concat(sources, evidence) {
		for _, f := range s.from {
			for _, n := range f.names() {
				names[n] = true
			}
		}
	}
	return names
}()

const model = "device__attribute_display_name"

// isKept reports whether a cell stays in a record.
func isKept(name string) bool {
	return kept[name] || strings.HasPrefix(name, tensor) && (strings.HasSuffix(name, sum) || strings.HasSuffix(name, sum+peakRate))
}

const (
	sum      = ".sum"
	peakRate = ".peak_sustained_elapsed.per_second"
)

// tensor is the family of the operations of the tensor cores, one metric for each type of input. Which ones a chip has
// differs, so that they are added up as they come.
const tensor = "sm__ops_path_tensor_src_"

// labels are the names on the details page, by section and label: "Memory Throughput" is a percentage in one section and
// a bandwidth in another.
var labels = map[string]string{
	"GPU Speed Of Light Throughput: Duration":                "gpu__time_duration.sum",
	"GPU Speed Of Light Throughput: Elapsed Cycles":          "gpc__cycles_elapsed.max",
	"GPU Speed Of Light Throughput: SM Frequency":            "gpc__cycles_elapsed.avg.per_second",
	"GPU Speed Of Light Throughput: DRAM Frequency":          "dram__cycles_elapsed.avg.per_second",
	"GPU Speed Of Light Throughput: Compute (SM) Throughput": "sm__throughput.avg.pct_of_peak_sustained_elapsed",
	"GPU Speed Of Light Throughput: Memory Throughput":       "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
	"GPU Speed Of Light Throughput: DRAM Throughput":         "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
	// Until 2021.
	"GPU Speed Of Light Throughput: Compute (SM) [%]": "sm__throughput.avg.pct_of_peak_sustained_elapsed",
	"GPU Speed Of Light Throughput: SM [%]":           "sm__throughput.avg.pct_of_peak_sustained_elapsed",
	"GPU Speed Of Light Throughput: Memory [%]":       "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
	"GPU Speed Of Light Throughput: SOL DRAM":         "dram__throughput.avg.pct_of_peak_sustained_elapsed",

	"Memory Workload Analysis: Memory Throughput":                     "dram__bytes.sum.per_second",
	"Memory Workload Analysis: L1/TEX Hit Rate":                       "l1tex__t_sector_hit_rate.pct",
	"Memory Workload Analysis: L2 Hit Rate":                           "lts__t_sector_hit_rate.pct",
	"Memory Workload Analysis: Local Memory Spilling Requests":        "derived__local_spilling_requests",
	"Warp State Statistics: Avg. Active Threads Per Warp":             "smsp__thread_inst_executed_per_inst_executed.ratio",
	"Warp State Statistics: Avg. Not Predicated Off Threads Per Warp": "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio",
	"Instruction Statistics: Executed Instructions":                   "smsp__inst_executed.sum",
	"Launch Statistics: Registers Per Thread":                         "launch__registers_per_thread",
	"Launch Statistics: Static Shared Memory Per Block":               "launch__shared_mem_per_block_static",
	"Launch Statistics: Dynamic Shared Memory Per Block":              "launch__shared_mem_per_block_dynamic",
	"Launch Statistics: Waves Per SM":                                 "launch__waves_per_multiprocessor",
	"Occupancy: Theoretical Occupancy":                                "sm__maximum_warps_per_active_cycle_pct",
	"Occupancy: Achieved Occupancy":                                   "sm__warps_active.avg.pct_of_peak_sustained_active",
	"Occupancy: Block Limit SM":                                       "launch__occupancy_limit_blocks",
	"Occupancy: Block Limit Registers":                                "launch__occupancy_limit_registers",
	"Occupancy: Block Limit Shared Mem":                               "launch__occupancy_limit_shared_mem",
	"Occupancy: Block Limit Warps":                                    "launch__occupancy_limit_warps",
	"Occupancy: Block Limit Barriers":                                 "launch__occupancy_limit_barriers",
}

// labelled is what --print-metric-name label-name prints: "Duration (gpu__time_duration.sum)".
var labelled = regexp.MustCompile(`^.* \((\w+__[\w.:]+)\)$`)

// counter is the name under which a cell of the details page is kept. With --metrics, and with --print-metric-name, the
// page has the real names.
func counter(section, item, label string) string {
	if m := labelled.FindStringSubmatch(label); m != nil {
		return m[1]
	}
	if strings.Contains(label, "__") {
		return label
	}
	var parts []string
	for _, part := range []string{older(section), item, label} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	key := strings.Join(parts, ": ")
	if name, ok := labels[key]; ok {
		return name
	}
	if name, ok := roofs[label]; ok && section == "GPU Speed Of Light Roofline Chart" {
		return name
	}
	if section == stateSection {
		for _, s := range states {
			if s.label == label {
				return stalled(s.reason)
			}
		}
	}
	return key
}

// roofs are the names in the section of the roofline chart, which says them once for each precision.
var roofs = map[string]string{
	"SM Frequency":                              "sm__cycles_elapsed.avg.per_second",
	"DRAM Frequency":                            "dram__cycles_elapsed.avg.per_second",
	"DRAM Bandwidth":                            "dram__bytes.sum.per_second",
	"Theoretical DRAM Bytes Accessible":         "dram__bytes.sum.peak_sustained",
	"Theoretical Predicated-On DFMA Operations": "derived__sm__sass_thread_inst_executed_op_dfma_pred_on_x2",
	"Theoretical Predicated-On FFMA Operations": "derived__sm__sass_thread_inst_executed_op_ffma_pred_on_x2",
}

const stateSection = "Warp State Statistics"

// states are the reasons for which warps wait, as that section calls them with --print-details all.
var states = []struct{ reason, label string }{
	{"long_scoreboard", "Stall Long Scoreboard"},
	{"short_scoreboard", "Stall Short Scoreboard"},
	{"mio_throttle", "Stall MIO Throttle"},
	{"lg_throttle", "Stall LG Throttle"},
	{"barrier", "Stall Barrier"},
	{"math_pipe_throttle", "Stall Math Pipe Throttle"},
	{"wait", "Stall Wait"},
}

// older gives a section its name of today.
func older(section string) string {
	if section == "GPU Speed Of Light" { // before 2021.2
		return "GPU Speed Of Light Throughput"
	}
	return section
}

// Counters lists the ncu metrics to collect for a metric, those of its first formula.
func Counters(m measure.Metric) []string {
	if m == measure.TensorOps {
		return []string{"regex:" + tensor + ".*"}
	}
	for _, s := range sources {
		if s.metric != m {
			continue
		}
		return s.from[0].names()
	}
	return nil
}

// derive computes the metrics of a record.
func derive(r *Record) {
	r.Metrics, r.missing = map[string]float64{}, map[string]string{}
	for _, s := range sources {
		r.derive(s.metric, s.from)
	}
	ops := tensorOps(r.Raw)
	if len(ops) > 0 {
		r.derive(measure.TensorOps, []formula{of(ops...)})
	}
	r.Evidence = map[string]float64{}
	for _, s := range evidence {
		for _, f := range s.from {
			v, why, ok := f.compute(r.Raw, false)
			if ok && why == "" && !math.IsInf(v, 0) && !math.IsNaN(v) {
				r.Evidence[s.metric.Name] = v
				break
			}
		}
	}
	if peak := tensorPeak(r.Raw, ops); peak > 0 && !math.IsInf(peak, 0) {
		r.Evidence[TensorPeak.Name] = peak
	}
}

// tensorPeak is the rate at which the tensor cores would do the operations of a launch, each type at its own peak; NaN
// where that of a type is not known.
func tensorPeak(raw map[string]Value, ops []string) float64 {
	var all, seconds float64
	for _, name := range ops {
		if n := raw[name].Number; n != 0 {
			all += n
			peak, ok := raw[name+peakRate]
			if !ok {
				return math.NaN()
			}
			seconds += n / peak.Number
		}
	}
	return all / seconds
}

// tensorOps lists the metrics that add up to the operations of the tensor cores. Where one is the total of others
// (src_fp16 of src_fp16_dst_fp32) only the total counts.
func tensorOps(raw map[string]Value) []string {
	var stems []string
	for name := range raw {
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

// derive derives one metric by the first formula that can be computed, or keeps why none can.
func (r *Record) derive(m measure.Metric, from []formula) {
	for _, f := range from {
		v, why, ok := f.compute(r.Raw, m.Exact)
		if !ok { // not collected
			continue
		}
		if why == "" && (math.IsInf(v, 0) || math.IsNaN(v)) {
			why = "its parts are out of range"
		}
		if why != "" {
			if r.missing[m.Name] == "" {
				r.missing[m.Name] = why
			}
			if m == measure.NcuTime {
				return // a duration that is broken is not made up for by another column
			}
			continue
		}
		if m.Exact {
			v = math.Round(v*exactness(m)) / exactness(m)
		}
		r.Metrics[m.Name] = v
		delete(r.missing, m.Name)
		return
	}
}

// exactness is how much of a unit an exact metric is known to: counts are whole, ncu writes percentages to two decimals.
func exactness(m measure.Metric) float64 {
	if m.Unit == "%" {
		return 100
	}
	return 1
}

func (f formula) names() []string {
	var names []string
	for _, t := range f.terms {
		names = append(names, t.name)
	}
	for _, n := range []string{f.times, f.over} {
		if n != "" {
			names = append(names, n)
		}
	}
	return names
}

// compute gives the value; why there is none; ok is false where a metric was not collected.
func (f formula) compute(raw map[string]Value, exact bool) (value float64, why string, ok bool) {
	for _, name := range f.names() {
		v, collected := raw[name]
		switch {
		case !collected:
			return 0, "", false
		case math.IsNaN(v.Number):
			why = fmt.Sprintf("line %d, column %s holds %s, no number", v.Line, quote(name), quote(v.Text))
		case v.Number < 0:
			why = fmt.Sprintf("line %d, column %s is negative: %s", v.Line, quote(name), quote(v.Text))
		case exact && v.Step >= 1:
			why = fmt.Sprintf("line %d, column %s is rounded to %s; print it with --print-units base",
				v.Line, quote(name), quote(v.Text))
		}
		if why != "" {
			return 0, why, true
		}
	}
	for _, t := range f.terms {
		value += t.factor * raw[t.name].Number
	}
	if f.times != "" {
		value *= raw[f.times].Number
	}
	if f.over != "" {
		if raw[f.over].Number == 0 {
			return 0, "", false // a ratio to nothing does not exist
		}
		value /= raw[f.over].Number
	}
	return value, "", true
}

// quote shows a cell, which is untrusted.
func quote(text string) string {
	if text == "" {
		return "nothing"
	}
	return measure.Quote(text)
}
