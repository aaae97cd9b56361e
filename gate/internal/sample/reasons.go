package sample

import "github.com/nsgate/nsgate/gate/measure"

// Reasons are all causes for which traces are not reduced to samples.
var Reasons = measure.Reasons{
	{Key: "no-run",
		Sentence: "there is no run to judge",
		Next:     "check that the workload launches kernels and was profiled"},
	{Key: "same-recording",
		Sentence: "{one} and {other} are the same recording, which is one run and not two",
		Next:     "remove the copy"},
	{Key: "no-capture",
		Sentence: "{run}: the workload never called cudaProfilerStart, so there is no capture to judge",
		Next:     "call it where the steady part begins, or let the warm-up be found (auto)"},
	{Key: "empty-capture",
		Sentence: "{run}: no kernel was launched between cudaProfilerStart and cudaProfilerStop",
		Next:     "move the calls around the launches, or let the warm-up be found (auto)"},
	{Key: "no-step-range",
		Sentence: "not every run has the step range {range}",
		Next:     "name a range that every run has as the step, or none"},
	{Key: "long-warmup",
		Sentence: "{run}: a warm-up of {warmup} steps leaves none of the {steps}",
		Next:     "leave out fewer, or let the workload run longer"},
	{Key: "empty-steps",
		Sentence: "{run}: no kernel was launched in the {n} steps of range {range} that are judged",
		Next:     "name the range that launches them as the step, or take the run as one piece (none)"},
	{Key: "runs-other-graphs",
		Sentence: "{run} traces CUDA graphs otherwise than {first}",
		Next:     "record every run with --cuda-graph-trace=node"},
	{Key: "runs-other-mode",
		Sentence: "runs of one side were measured differently: {one} and {other}",
		Next:     "measure every run with the same profiler and settings"},
}
