package cli

import (
	"maps"
	"slices"
	"strings"
)

// ways are the flags by which the way out of a refusal is taken, by its kind.
var ways = map[string]string{
	"changed-within-hour": "--reason 'WHY'",
	"export-failed":       "--nsys PATH",
	"no-baseline":         "nsgate record, or nsgate check --patch FILE",
	"no-baseline-here":    "nsgate record, or nsgate check --patch FILE",
	"workload-timeout":    "--timeout TIME",
	"no-gpu-metrics":      "without --gpu-metrics",
	"no-nsys":             "--nsys PATH",
	"not-acceptable":      "--force",
	"not-as-asked":        "--from, --profiler",
	"not-profiled":        "--kernel",
	"nothing-to-count":    "--launch-skip N",
	"other-baseline":      "--replace",
	"other-step":          "--step",
	"unsteady":            "--warmup N, --warmup capture",
}

// Ways lists the kinds of the refusals whose way out is a flag.
func Ways() []string { return slices.Sorted(maps.Keys(ways)) }

// WayOut is what to do about a refusal, with the flags that do it: "start the baseline anew (--replace)". What has them
// already stays.
func WayOut(key, next string) string {
	flags := ways[key]
	if flags == "" || next == "" || strings.HasSuffix(next, " ("+flags+")") {
		return next
	}
	return next + " (" + flags + ")"
}

// showWay adds the flags to what a report or a calibration says to do about its refusal, which comes first.
func showWay(key string, next []string) {
	if len(next) > 0 {
		next[0] = WayOut(key, next[0])
	}
}
