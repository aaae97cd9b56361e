package cli

import (
	"strings"

	"github.com/nsgate/nsgate/gate/internal/model"
)

// ways are the flags or commands for the next step of a refusal, by its kind.
var ways = map[model.Kind]string{
	model.ChangedWithinHour: "--reason 'WHY'",
	model.ExportFailed:      "--" + exeFlag + " PATH",
	model.NoBaseline:        "nsgate record, or nsgate check --patch FILE",
	model.NoBaselineHere:    "nsgate record, or nsgate check --patch FILE",
	model.WorkloadTimeout:   "--timeout TIME",
	model.NoGPUMetrics:      "without --gpu-metrics",
	model.NoProfiler:        "--" + exeFlag + " PATH",
	model.NotAcceptable:     "--force",
	model.NotAsAsked:        "--from, --profiler",
	model.NotProfiled:       "--kernel",
	model.NothingToCount:    "--launch-skip N",
	model.OtherBaseline:     "--replace",
	model.OtherStep:         "--step",
	model.Unsteady:          "--warmup N, --warmup capture",
}

// WayOut is the next step of a refusal with its flags: "start the baseline anew (--replace)". A step that already names
// its flags stays.
func WayOut(kind model.Kind, next string) string { return withWay(ways[kind], next) }

func withWay(way, next string) string {
	if strings.Contains(next, "measure the base build") || strings.Contains(next, "or the base build") {
		way = "--base-ref, --base-cmd"
	}
	if way == "" || next == "" || strings.HasSuffix(next, ")") {
		return next
	}
	return next + " (" + way + ")"
}

// showWay adds the way out to the first step of a report or a calibration, which is about its refusal.
func showWay(way string, next []string) {
	if len(next) > 0 {
		next[0] = withWay(way, next[0])
	}
}
