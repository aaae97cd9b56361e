package cli

import (
	"maps"
	"slices"
	"strings"
)

// ways are the flags or commands for the next step of a refusal, by its kind.
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

// Ways lists the kinds of refusals that have one.
func Ways() []string { return slices.Sorted(maps.Keys(ways)) }

// WayOut is the next step of a refusal with its flags: "start the baseline anew (--replace)". A step that already names
// its flags stays.
func WayOut(key, next string) string { return withWay(ways[key], next) }

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
