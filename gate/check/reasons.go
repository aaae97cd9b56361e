package check

import "github.com/nsgate/nsgate/gate/measure"

// Reasons are all causes for which nothing is measured, or what was is not used, beside those of the readers, of the
// collector and of the decision.
var Reasons = measure.Reasons{
	{Key: "no-baseline-here",
		Sentence: "this machine has a {model}, the baseline was measured on {models}",
		Next:     "record a baseline on this GPU with nsgate record, or run the check where the baseline was measured"},
	{Key: "not-as-asked",
		Sentence: "{source} was measured with {profiler}, not with {asked}",
		Next:     "name pages of ncu with --from, or leave --profiler out"},
	{Key: "other-baseline",
		Sentence: "this session does not fit the baseline: {reason}",
		Next:     "start anew with --replace"},
	{Key: "nothing-to-count",
		Sentence: "no kernel that matters is launched more than {skip} times a run, so ncu would profile none",
		Next:     "lower --launch-skip, or let the workload run longer"},
	{Key: "no-machine",
		Sentence: "counters can be recorded only where the workload is run",
		Next:     "record finished pages of ncu by themselves"},
	{Key: "held-back",
		Sentence: "{what}",
		Next:     "let it cool down, see to its cooling and power supply, and calibrate again"},
	{Key: "counters-vary-not",
		Sentence: "counters of ncu say nothing about how times vary",
		Next:     "calibrate with the workload, or with profiles of nsys"},
}
