package ncu

import (
	"strings"

	"github.com/nsgate/nsgate/gate/internal/input"
)

// labels are the names on the details page, by section and label: "Memory Throughput" is a percentage in one section
// and a bandwidth in another.
var labels = map[string]string{
	speed + ": Duration":                "gpu__time_duration.sum",
	speed + ": Elapsed Cycles":          "gpc__cycles_elapsed.max",
	speed + ": SM Frequency":            "gpc__cycles_elapsed.avg.per_second",
	speed + ": DRAM Frequency":          "dram__cycles_elapsed.avg.per_second",
	speed + ": Compute (SM) Throughput": "sm__throughput.avg.pct_of_peak_sustained_elapsed",
	speed + ": Memory Throughput":       "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
	speed + ": DRAM Throughput":         "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
	// Until 2021.
	speed + ": Compute (SM) [%]": "sm__throughput.avg.pct_of_peak_sustained_elapsed",
	speed + ": SM [%]":           "sm__throughput.avg.pct_of_peak_sustained_elapsed",
	speed + ": Memory [%]":       "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
	speed + ": SOL DRAM":         "dram__throughput.avg.pct_of_peak_sustained_elapsed",

	"Memory Workload Analysis: Memory Throughput":              "dram__bytes.sum.per_second",
	"Memory Workload Analysis: L1/TEX Hit Rate":                "l1tex__t_sector_hit_rate.pct",
	"Memory Workload Analysis: L2 Hit Rate":                    "lts__t_sector_hit_rate.pct",
	"Memory Workload Analysis: Local Memory Spilling Requests": "derived__local_spilling_requests",

	states + ": Avg. Active Threads Per Warp":             "smsp__thread_inst_executed_per_inst_executed.ratio",
	states + ": Avg. Not Predicated Off Threads Per Warp": "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio",

	"Instruction Statistics: Executed Instructions":      "smsp__inst_executed.sum",
	"Launch Statistics: Registers Per Thread":            "launch__registers_per_thread",
	"Launch Statistics: Static Shared Memory Per Block":  "launch__shared_mem_per_block_static",
	"Launch Statistics: Dynamic Shared Memory Per Block": "launch__shared_mem_per_block_dynamic",
	"Launch Statistics: Waves Per SM":                    "launch__waves_per_multiprocessor",
	"Occupancy: Theoretical Occupancy":                   "sm__maximum_warps_per_active_cycle_pct",
	"Occupancy: Achieved Occupancy":                      "sm__warps_active.avg.pct_of_peak_sustained_active",
	"Occupancy: Block Limit SM":                          "launch__occupancy_limit_blocks",
	"Occupancy: Block Limit Registers":                   "launch__occupancy_limit_registers",
	"Occupancy: Block Limit Shared Mem":                  "launch__occupancy_limit_shared_mem",
	"Occupancy: Block Limit Warps":                       "launch__occupancy_limit_warps",
	"Occupancy: Block Limit Barriers":                    "launch__occupancy_limit_barriers",

	// The section of the roofline chart says these once for each precision.
	roofline + ": SM Frequency":                              "sm__cycles_elapsed.avg.per_second",
	roofline + ": DRAM Frequency":                            "dram__cycles_elapsed.avg.per_second",
	roofline + ": DRAM Bandwidth":                            "dram__bytes.sum.per_second",
	roofline + ": Theoretical DRAM Bytes Accessible":         "dram__bytes.sum.peak_sustained",
	roofline + ": Theoretical Predicated-On DFMA Operations": "derived__" + fused("d") + "_x2",
	roofline + ": Theoretical Predicated-On FFMA Operations": "derived__" + fused("f") + "_x2",
	// The stall reasons of warps, with --print-details all.
	states + ": Stall Long Scoreboard":    stalled("long_scoreboard"),
	states + ": Stall Short Scoreboard":   stalled("short_scoreboard"),
	states + ": Stall MIO Throttle":       stalled("mio_throttle"),
	states + ": Stall LG Throttle":        stalled("lg_throttle"),
	states + ": Stall Barrier":            stalled("barrier"),
	states + ": Stall Math Pipe Throttle": stalled("math_pipe_throttle"),
	states + ": Stall Wait":               stalled("wait"),
}

// The sections that are named here, of which the last two have labels that mean the same in each of their parts.
const (
	speed    = "GPU Speed Of Light Throughput"
	roofline = "GPU Speed Of Light Roofline Chart"
	states   = "Warp State Statistics"
)

// labelled matches names printed by --print-metric-name label-name: "Duration (gpu__time_duration.sum)".
var labelled = input.Pattern(`^.* \((\w+__[\w.:]+)\)$`)

// counter is the stored name of a cell of the details page. With --metrics, and with --print-metric-name, the page has
// the real names.
func counter(section, item, label string) string {
	if m := labelled().FindStringSubmatch(label); m != nil {
		return m[1]
	}
	if strings.Contains(label, "__") {
		return label
	}
	if section == "GPU Speed Of Light" { // before 2021.2
		section = speed
	}
	name, known := labels[section+": "+label]
	switch {
	case known && (item == "" || section == roofline || section == states):
		return name
	case item == "":
		return section + ": " + label
	}
	return section + ": " + item + ": " + label
}
