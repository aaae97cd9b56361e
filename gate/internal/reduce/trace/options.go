package trace

import "github.com/nsgate/nsgate/gate/internal/model"

// trim is the share of a kernel's launches cut off at either end before they are averaged. On 240 H200 processes a
// 10 % trimmed mean moves less between runs than a median (0.16 % against 0.44 % for a reduction kernel).
const trim = 0.1

// The warm-ups without a number: the steady state is found, or what lies between cudaProfilerStart and cudaProfilerStop
// is taken.
const Auto, Capture = "auto", "capture"

// Options say how to cut traces.
type Options struct {
	// Warmup is [Auto] (or ""), [Capture], or the number of steps to leave out, where there are none that of launches
	// of every kernel, as a policy file has it.
	Warmup string
	// Step names the NVTX range that the workload repeats. "" looks for one; NoStep treats the run as one piece.
	Step string
	// Like is a finished session whose warm-up and cycle are taken over, nil for none.
	Like *model.Session
}

// NoStep as Options.Step means: do not look for steps.
const NoStep = "none"
