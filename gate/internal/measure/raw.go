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

// The forms that a submetric of Nsight Compute gives the count of its stem (Profiling Guide, Metrics Structure): the
// total, the ratio to another count, the share in per cent, the rate per cycle or second, and a limit of the hardware.
const (
	rawTotal, rawRatio, rawShare  = "t", "r", "%"
	rawCycle, rawSecond, rawLimit = "c", "s", "l"
)

// rawForms find the form of a name by its parts; the first row that has one decides.
var rawForms = [][]string{
	{rawShare, ".pct"}, {rawLimit, ".peak_sustained", ".peak_burst", ".max_rate"}, {rawCycle, ".per_cycle_"},
	{rawSecond, ".per_second"}, {rawRatio, ".ratio"}, {rawTotal, "_pct_of_"}, {rawShare, "_pct", "__pct_"},
	{rawTotal, ""},
}

// rawDirections are the directions of metrics of Nsight Compute: the forms that are better when higher and when lower,
// by stems; the first row with a stem that the name holds decides. A share or a rate of something that only costs
// (conflicts, stalls) is worse the larger it is, one of useful work (instructions, bytes) is better.
var rawDirections = []struct{ higher, lower, stems string }{
	{"", "", "device__ numa__ nvlink__ c2clink__ profiler__ pcie__ nvlrx__ nvltx__ _ideal lookup_hit pcsamp_interval " +
		"pcsamp_buffer stalled_selected stalled_not_selected unexecuted derivative_ _per_opcode"},
	{"tr%", "", "hit_rate bytes_per_sector bytes_per_wavefront bytes_per_request threads_uniform branch_efficiency " +
		"avg_thread_executed thread_inst_executed_per_inst_executed thread_inst_executed_pred_on_per_inst_executed " +
		"occupancy_limit maximum_warps occupancy_cluster"},
	{"", "tr%", "per_request warp_latency warps_active_per_"},
	{"", "tr%c", "conflict replay excessive spill stall throttle divergent miss idle dropped issue_inst0 _local_"},
	{"%c", "", "warps_active warps_eligible issue_active"},
	{"tr%cs", "", "throughput"},
	{"s", "t", "cycles_elapsed"},
	{"%c", "t", "cycles_active"},
	{"", "t", "time_duration registers_per_thread shared_mem_per_block"},
	{"%cs", "t", "thread_inst_executed ops_path_tensor"},
	{"", "t", "inst_executed_op_ inst_executed_memdesc"},
	{"%cs", "t", "inst_executed inst_issued bytes"},
	{"", "t", "sectors requests wavefronts"},
}

func rawFormOf(raw string) string {
	i := slices.IndexFunc(rawForms, func(row []string) bool {
		return slices.ContainsFunc(row[1:], func(part string) bool { return strings.Contains(raw, part) })
	})
	return rawForms[i][0]
}

// rawBetter is the direction of a metric by the name that Nsight Compute has for it, Neither where that does not tell.
func rawBetter(raw, form string) Direction {
	for _, row := range rawDirections {
		for stem := range strings.FieldsSeq(row.stems) {
			switch {
			case !strings.Contains(raw, stem):
				continue
			case strings.Contains(row.higher, form):
				return Higher
			case strings.Contains(row.lower, form):
				return Lower
			}
			return Neither
		}
	}
	return Neither
}

// rawMetric is a metric by the name that Nsight Compute has for it, which tells its unit and direction. Executed
// instructions and attributes of the launch are exact.
func rawMetric(raw string) Metric {
	form := rawFormOf(raw)
	m := Metric{Name: RawPrefix + raw, Unit: "count", Better: rawBetter(raw, form),
		Exact: rawCounted().MatchString(raw)}
	bytes := strings.Contains(raw, "bytes")
	switch {
	case form == rawShare:
		m.Unit = "%"
	case form == rawRatio, form == rawCycle, form == rawLimit && !strings.HasSuffix(raw, ".per_second"):
		m.Unit = "ratio"
	case form == rawSecond && bytes:
		m.Unit = "B/s"
	case form == rawSecond && strings.Contains(raw, "cycles"):
		m.Unit = "Hz"
	case form == rawSecond || form == rawLimit:
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
