package measure

import (
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/input"
)

// RawPrefix begins the names of metrics that Nsight Compute defines: "ncu:smsp__inst_executed.sum".
const RawPrefix = "ncu:"

var (
	rawName    = input.Pattern(`^[A-Za-z]\w*(\.\w+)*$`)
	rawCounted = input.Pattern(`inst_executed\w*\.sum$|^launch__`)
)

// rawForm is what a submetric of Nsight Compute makes of the count of its stem (Profiling Guide, Metrics Structure).
type rawForm uint8

const (
	rawTotal  rawForm = iota // the count: .sum, .avg, .min, .max, or no suffix
	rawRatio                 // over another count: .ratio
	rawShare                 // of a peak rate or of another count, in per cent
	rawCycle                 // per cycle
	rawSecond                // per second
	rawPeak                  // a limit of the hardware: .peak_sustained, .max_rate
)

// rawForms find the form of a name by its parts; the first row that has one decides.
var rawForms = []struct {
	form  rawForm
	parts []string
}{
	{rawShare, []string{".pct"}}, {rawPeak, []string{".peak_sustained", ".peak_burst", ".max_rate"}},
	{rawCycle, []string{".per_cycle_"}}, {rawSecond, []string{".per_second"}}, {rawRatio, []string{".ratio"}},
	{rawTotal, []string{"_pct_of_"}}, {rawShare, []string{"_pct", "__pct_"}},
}

// rawDirections are the directions of metrics of Nsight Compute by their stems; the first row with a stem that the name
// holds decides, and forms that it does not list have no direction. A share or a rate of something that only costs
// (conflicts, stalls) is worse the larger it is, one of useful work (instructions, bytes) is better.
var rawDirections = []struct {
	better map[rawForm]Direction
	stems  string
}{
	{nil, "device__ numa__ nvlink__ c2clink__ profiler__ pcie__ nvlrx__ nvltx__ _ideal lookup_hit pcsamp_interval " +
		"pcsamp_buffer stalled_selected stalled_not_selected unexecuted derivative_ _per_opcode"},
	{gains(rawTotal, rawRatio, rawShare), "hit_rate bytes_per_sector bytes_per_wavefront bytes_per_request " +
		"threads_uniform branch_efficiency avg_thread_executed thread_inst_executed_per_inst_executed " +
		"thread_inst_executed_pred_on_per_inst_executed occupancy_limit maximum_warps occupancy_cluster"},
	{costs(rawTotal, rawRatio, rawShare), "per_request warp_latency warps_active_per_"},
	{costs(rawTotal, rawRatio, rawShare, rawCycle),
		"conflict replay excessive spill stall throttle divergent miss idle dropped issue_inst0 _local_"},
	{gains(rawShare, rawCycle), "warps_active warps_eligible issue_active"},
	{gains(rawTotal, rawRatio, rawShare, rawCycle, rawSecond), "throughput"},
	{work(rawSecond), "cycles_elapsed"},
	{work(rawShare, rawCycle), "cycles_active"},
	{costs(rawTotal), "time_duration registers_per_thread shared_mem_per_block"},
	{work(rawShare, rawCycle, rawSecond), "thread_inst_executed ops_path_tensor"},
	{costs(rawTotal), "inst_executed_op_ inst_executed_memdesc"},
	{work(rawShare, rawCycle, rawSecond), "inst_executed inst_issued bytes"},
	{costs(rawTotal), "sectors requests wavefronts"},
}

func gains(forms ...rawForm) map[rawForm]Direction { return directed(Higher, forms) }
func costs(forms ...rawForm) map[rawForm]Direction { return directed(Lower, forms) }

// work has a total that is better the smaller, and rates that are better the larger.
func work(rates ...rawForm) map[rawForm]Direction {
	out := gains(rates...)
	out[rawTotal] = Lower
	return out
}

func directed(better Direction, forms []rawForm) map[rawForm]Direction {
	out := map[rawForm]Direction{}
	for _, f := range forms {
		out[f] = better
	}
	return out
}

func rawFormOf(raw string) rawForm {
	holds := func(part string) bool { return strings.Contains(raw, part) }
	for _, row := range rawForms {
		if slices.ContainsFunc(row.parts, holds) {
			return row.form
		}
	}
	return rawTotal
}

// rawBetter is the direction of a metric by the name that Nsight Compute has for it, Neither where that does not tell.
func rawBetter(raw string, form rawForm) Direction {
	for _, row := range rawDirections {
		for stem := range strings.FieldsSeq(row.stems) {
			if strings.Contains(raw, stem) {
				return row.better[form]
			}
		}
	}
	return Neither
}

// rawMetric is a metric by the name that Nsight Compute has for it, which tells its unit and direction. Executed
// instructions and attributes of the launch are exact.
func rawMetric(raw string) Metric {
	form := rawFormOf(raw)
	m := Metric{Name: RawPrefix + raw, Unit: "count", Better: rawBetter(raw, form), Exact: rawCounted().MatchString(raw)}
	bytes := strings.Contains(raw, "bytes")
	switch {
	case form == rawShare:
		m.Unit = "%"
	case form == rawRatio, form == rawCycle, form == rawPeak && !strings.HasSuffix(raw, ".per_second"):
		m.Unit = "ratio"
	case form == rawSecond && bytes:
		m.Unit = "B/s"
	case form == rawSecond && strings.Contains(raw, "cycles"):
		m.Unit = "Hz"
	case form == rawSecond || form == rawPeak:
		m.Unit = "1/s"
	case strings.Contains(raw, "shared_mem_per_block"):
		m.Unit = "B per block"
	case bytes, strings.Contains(raw, "cache_size"), strings.HasSuffix(raw, "stack_size"):
		m.Unit = "B"
	case strings.Contains(raw, "time_duration"):
		m.Unit = "ns"
	}
	return m
}
