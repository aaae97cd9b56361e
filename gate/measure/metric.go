package measure

import (
	"regexp"
	"strings"
)

// Direction says which way a metric gets better.
type Direction int8

// Lower is better for times, counts and bytes; Neither marks metrics that explain but are not judged.
const (
	Lower   Direction = -1
	Neither Direction = 0
	Higher  Direction = +1
)

// Metric is a named number with a unit and a direction.
type Metric struct {
	Name   string    `json:"name"`
	Unit   string    `json:"unit"`
	Better Direction `json:"better"`
	// Exact metrics carry no measurement noise (counts, bytes, registers): where every run of a side agrees, a
	// difference is certain. The others are judged against the spread between runs.
	Exact bool `json:"exact"`
}

var (
	// Metrics lists every metric that nsgate knows: those of nsys, then those of ncu.
	Metrics []Metric
	// known holds what a row says that is no part of a stored metric, by name.
	known = map[string]knowledge{}
)

type knowledge struct {
	metric Metric
	title  string
	is     mark
}

// mark is a property of a row.
type mark uint8

const (
	exact    mark = 1 << iota // counted, not sampled
	tally                     // see [Metric.Informational]
	judged                    // see [Metric.Judged]
	untraced                  // see [Metric.Unprofiled]
	onHost                    // see [Metric.OnHost]
)

// row makes a metric and lists it: a new metric is one row below, and what reads it. The title is the name with spaces
// unless the row gives another.
func row(name, unit string, better Direction, is mark, title ...string) Metric {
	m := Metric{Name: name, Unit: unit, Better: better, Exact: is&exact != 0}
	k := knowledge{m, strings.ReplaceAll(name, "_", " "), is}
	if len(title) > 0 {
		k.title = title[0]
	}
	known[name] = k
	Metrics = append(Metrics, m)
	return m
}

// The metrics that nsys recordings give.
var (
	// Time is the GPU time of one launch: the 10 % trimmed mean over the steady launches of a run.
	Time = row("time", "ns", Lower, judged)
	// Spread is how much the steady launches of one run differ: the robust standard deviation (scaled MAD) of their
	// times. It shows the noise of a kernel within a run and is not an error term: launches of a process are not independent.
	Spread = row("time_spread", "ns", Neither, 0)
	// Launches is the number of launches per step, or per run where the workload has no steps.
	Launches = row("launches", "count", Lower, judged|exact|tally)
	// Total is the summed GPU time of all steady launches per step (or per run), outliers included.
	Total = row("total", "ns", Lower, judged, "total time")
	// GPUTime is the summed kernel time of a range, of a device or of the whole workload, per step (or per run).
	GPUTime = row("gpu_time", "ns", Lower, judged, "GPU time")
	// CopyTime is the summed GPU time of one kind of copy or memset, per step (or per run).
	CopyTime = row("copy_time", "ns", Lower, judged)
	// CopyBytes is the number of bytes that one kind of copy or memset moved, per step (or per run).
	CopyBytes = row("copy_bytes", "B", Lower, judged|exact|tally, "bytes copied")
	// Copies is the number of copies or memsets of one kind, per step (or per run).
	Copies = row("copies", "count", Lower, judged|exact|tally)
	// SyncCalls is the number of CUDA calls that make the host wait for the GPU, per step (or per run): those that synchronise
	// by name, and copies that are not asynchronous.
	SyncCalls = row("sync_calls", "count", Lower, judged|exact|tally, "synchronising calls")
	// Allocations is the number of CUDA calls that allocate device or pinned memory, per step (or per run).
	Allocations = row("allocations", "count", Lower, judged|exact|tally)
	// PageableBytes is the bytes copied from or to pageable memory, per step (or per run): such copies wait for one another.
	PageableBytes = row("pageable_bytes", "B", Lower, judged|exact|tally, "pageable bytes")
	// SmallKernels is the number of launches of kernels under 10 µs each, per step (or per run): launching one costs the host
	// about as much as running it costs the GPU.
	SmallKernels = row("small_kernels", "count", Lower, judged|exact|tally, "small kernels")
	// StepTime is the period of a step on the GPU, from its first operation to that of the next step: the time that the user waits for,
	// idle time included. It is the mean over the typical steps of a run, those whose period is in the middle half.
	StepTime = row("step_time", "ns", Lower, judged|onHost)
	// MeanStep is the mean period of all steps that count, the slow ones included.
	MeanStep = row("mean_step_time", "ns", Lower, judged|onHost)
	// MeanToTypical is MeanStep over StepTime: 1 in a program without stalls, on any host.
	MeanToTypical = row("mean_to_typical", "ratio", Lower, judged|onHost, "mean over typical step")
	// RunTime is the time from the first operation on the GPU to the end of the last, of a run without a step range.
	RunTime = row("run_time", "ns", Lower, judged|onHost)
	// Elapsed is the wall time of a section of the run.
	Elapsed = row("elapsed_time", "ns", Lower, judged|onHost)
	// Sensitivity is d ln period / d ln host time of a step, by replaying it: 0 where the GPU never waits for the CPU, 1 where it
	// always does. ReplayError is how far the replay at the recorded speed is from the recorded period, relative to it.
	Sensitivity = row("host_sensitivity", "ratio", Neither, 0)
	ReplayError = row("replay_error", "ratio", Neither, 0)
	// Growth is the kernel time of the last quarter of the steps that count over that of the first.
	Growth = row("growth", "ratio", Neither, 0)
	// WarmupLaunches is the number of a kernel's launches that are left out as warm-up, of a run without steps.
	WarmupLaunches = row("warmup_launches", "count", Neither, exact, "launches left out as warm-up")
	// Repeats is how often a run without steps repeats itself: then StepTime is the period of that, and of sides that repeat
	// themselves as often.
	Repeats = row("repeats", "count", Neither, exact)
	_       = row("order", "number", Neither, exact, "order in its range")
	_       = row("startup_time", "ns", Lower, onHost, "start-up time")
	_       = row("init_time", "ns", Lower, onHost, "CUDA initialisation")
	_       = row("teardown_time", "ns", Lower, onHost)
	_       = row("imbalance", "ratio", Lower, judged)
	_       = row("collective_wait", "ns", Neither, 0, "wait in collectives")
	_       = row("caused_wait", "ns", Neither, 0, "wait that it causes")
	_       = row("exposed_communication", "ns", Neither, 0)
	_       = row("hidden_communication", "ns", Neither, 0)
	_       = row("unmatched_collectives", "count", Neither, exact)
	_       = row("lost_launches", "count", Neither, exact, "launches without a record")
	_       = row("silent_calls", "count", Neither, exact, "CUDA calls without work of the GPU")
	_       = row("message_bytes", "B", Neither, exact, "bytes of messages")
	_       = row("rank_step_time", "ns", Neither, 0, "step time of the rank")
	_       = row("rank_copy_time", "ns", Neither, 0, "copy time of the rank")
	_       = row("slowest_rank", "number", Neither, exact)
	_       = row("slowest_total", "ns", Neither, 0, "total time in the slowest rank")
	_       = row("slowest_launches", "count", Neither, exact, "launches in the slowest rank")
	_       = row("owned_time", "ns", Neither, 0, "time of the step")
	_       = row("memory_peak", "B", Lower, judged|exact, "device memory requested")
	_       = row("memory_held", "B", Neither, exact, "device memory requested")
	_       = row("registers", "per thread", Neither, exact)
	_       = row("static_shared", "B", Neither, exact)
	_       = row("dynamic_shared", "B", Neither, exact)
	_       = row("local_memory", "B per thread", Neither, exact)

	_ = row("stack_bytes", "B", Neither, exact, "stack")
	_ = row("spill_bytes", "B", Neither, exact, "spills")
	_ = row("constant_bytes", "B", Neither, exact, "constants")
	_ = row("code_bytes", "B", Neither, exact, "code size")
)

// The metrics of unprofiled runs: profiling slows the CPU down, so that unprofiled runs decide and profiled runs explain.
var (
	// Rate and Cost are numbers that the program prints of itself, in what unit only it knows: see [Output].
	Rate = row("rate", "", Higher, untraced|judged, "output")
	Cost = row("cost", "", Lower, untraced|judged, "output")
	// WallTime is how long the process took from its start to its end, what it does before and after its steps included.
	WallTime = row("wall_time", "ns", Lower, untraced)
)

// GPUMetrics lists the metrics that nsys samples of the whole GPU, as a mean over a step or a range in per cent of the peak rate. A metric
// that counts moved bytes has no direction.
var GPUMetrics = []Metric{
	row("sm_active", "%", Higher, 0, "SM active"),
	row("sm_issue", "%", Higher, 0, "SM issue"),
	row("tensor_active", "%", Higher, 0),
	row("dram_read", "%", Neither, 0, "DRAM read"),
	row("dram_write", "%", Neither, 0, "DRAM write"),
	row("pcie_rx", "%", Neither, 0, "PCIe received"),
	row("pcie_tx", "%", Neither, 0, "PCIe sent"),
	row("nvlink_rx", "%", Neither, 0, "NVLink received"),
	row("nvlink_tx", "%", Neither, 0, "NVLink sent"),
}

var _ = row("sampling_period", "ns", Neither, 0)

// Throughput lists the metrics of one launch under Nsight Compute, which gives registers and shared memory as well.
var Throughput = []Metric{
	row("ncu_time", "ns", Lower, judged),
	row("cycles", "count", Lower, 0),
	row("sm_clock", "Hz", Neither, 0),
	row("sm_throughput", "%", Higher, 0),
	row("memory_throughput", "%", Higher, 0),
	row("dram_throughput", "%", Higher, 0),
	row("dram_bytes", "B", Lower, 0),
	row("dram_bandwidth", "B/s", Higher, 0),
	row("l2_bytes", "B", Lower, 0),
	row("global_bytes", "B", Lower, exact),
	row("l1_hit_rate", "%", Higher, 0),
	row("l2_hit_rate", "%", Higher, 0),
	row("load_sectors", "sectors/request", Lower, 0),
	row("store_sectors", "sectors/request", Lower, 0),
	row("achieved_occupancy", "%", Higher, 0),
	row("theoretical_occupancy", "%", Higher, exact),
	row("limit_blocks", "blocks/SM", Neither, exact),
	row("limit_registers", "blocks/SM", Neither, exact),
	row("limit_shared", "blocks/SM", Neither, exact),
	row("limit_warps", "blocks/SM", Neither, exact),
	row("limit_barriers", "blocks/SM", Neither, exact),
	row("waves", "waves", Neither, 0),
	row("instructions", "count", Lower, exact),
	row("local_loads", "count", Lower, exact),
	row("local_stores", "count", Lower, exact),
	row("spills", "count", Lower, exact),
	row("flops_fp64", "FLOP", Lower, 0),
	row("flops_fp32", "FLOP", Lower, 0),
	row("flops_fp16", "FLOP", Lower, 0),
	row("tensor_ops", "count", Lower, exact),
	row("peak_dram", "B/s", Neither, 0),
	row("peak_fp64", "FLOP/s", Neither, 0),
	row("peak_fp32", "FLOP/s", Neither, 0),
	row("peak_fp16", "FLOP/s", Neither, 0),
	row("stall_long_scoreboard", "cycles/inst", Neither, 0),
	row("stall_short_scoreboard", "cycles/inst", Neither, 0),
	row("stall_mio_throttle", "cycles/inst", Neither, 0),
	row("stall_lg_throttle", "cycles/inst", Neither, 0),
	row("stall_barrier", "cycles/inst", Neither, 0),
	row("stall_math_throttle", "cycles/inst", Neither, 0),
	row("stall_wait", "cycles/inst", Neither, 0),
}

// MetricByName finds a metric of [Metrics], or makes that of a name behind [NcuPrefix].
func MetricByName(name string) (Metric, bool) {
	if raw, ok := strings.CutPrefix(name, NcuPrefix); ok && ncuName.MatchString(raw) {
		return ncuMetric(raw), true
	}
	k, ok := known[name]
	return k.metric, ok
}

// NcuPrefix begins the names of metrics that Nsight Compute defines: "ncu:smsp__inst_executed.sum".
const NcuPrefix = "ncu:"

var (
	ncuName    = regexp.MustCompile(`^[A-Za-z]\w*(\.\w+)*$`)
	ncuCounted = regexp.MustCompile(`inst_executed\w*\.sum$|^launch__`)
	ncuHigher  = regexp.MustCompile(`throughput|hit_rate|pct_of_peak|\.per_second`)
)

// ncuMetric is a metric by the name that Nsight Compute has for it, which tells its unit and direction. Executed instructions
// and attributes of the launch are exact.
func ncuMetric(raw string) Metric {
	m := Metric{Name: NcuPrefix + raw, Unit: "count", Better: Lower, Exact: ncuCounted.MatchString(raw)}
	if ncuHigher.MatchString(raw) {
		m.Better = Higher
	}
	switch bytes, rate := strings.Contains(raw, "bytes"), strings.HasSuffix(raw, ".per_second"); {
	case strings.Contains(raw, "pct"):
		m.Unit = "%"
	case strings.HasSuffix(raw, ".ratio"), !rate && strings.Contains(raw, ".per_"):
		m.Unit = "ratio"
	case bytes && rate:
		m.Unit = "B/s"
	case bytes:
		m.Unit = "B"
	case strings.Contains(raw, "cycles") && rate:
		m.Unit = "Hz"
	case strings.Contains(raw, "time_duration"):
		m.Unit = "ns"
	}
	return m
}

// Raw is the name that Nsight Compute has for the metric, "" for a metric of [Metrics].
func (m Metric) Raw() string {
	raw, ok := strings.CutPrefix(m.Name, NcuPrefix)
	if !ok {
		return ""
	}
	return raw
}

// Title is what people call the metric: "GPU time", "bytes copied". One that nsgate does not know, of a file perhaps, is
// its name with spaces.
func (m Metric) Title() string {
	if k, ok := known[m.Name]; ok {
		return k.title
	}
	if raw := m.Raw(); raw != "" {
		return raw
	}
	return strings.ReplaceAll(m.Name, "_", " ")
}

// Judged reports whether the metric is judged where no rule of the policy names it: those with a direction, and of Nsight
// Compute's only the duration. Its other metrics are causes and rates that go up and down without anyone waiting longer.
func (m Metric) Judged() bool {
	if k, ok := known[m.Name]; ok {
		return k.is&judged != 0
	}
	return m.Better != Neither && m.Raw() == ""
}

// Informational reports whether the metric counts what a program does and not what that costs: that it grew is said, and fails a gate
// only where a rule names it.
func (m Metric) Informational() bool { return known[m.Name].is&tally != 0 }

// OnHost reports whether a time depends on the CPU as well as on the GPU, so that it moves more between runs, and between hosts.
func (m Metric) OnHost() bool { return known[m.Name].is&onHost != 0 }

// Unprofiled reports whether the metric is of runs without a profiler: see model.Run. The others are of profiled runs.
func (m Metric) Unprofiled() bool { return known[m.Name].is&untraced != 0 }
