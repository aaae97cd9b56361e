// Package trace reduces traces to sessions: steps, warm-up, one value a run, and the cause of every nanosecond of a step.
package trace

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/nsgate/nsgate/gate/internal/large"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/thresholds"
)

// trim is the share of a kernel's launches cut off at either end before they are averaged. On 240 H200 processes a
// 10 % trimmed mean moves less between runs than a median (0.16 % against 0.44 % for a reduction kernel).
const trim = 0.1

// minSteps is the fewest occurrences that make a range a step.
const minSteps = 5

// Warmup is the rule by which the start of a run is left out.
type Warmup struct {
	mode string // "auto", "skip", "capture"
	n    int
}

// The rules without a number: find the steady state, or take what lies between cudaProfilerStart and cudaProfilerStop.
var (
	Auto    = Warmup{mode: "auto"}
	Capture = Warmup{mode: "capture"}
)

// Skip leaves out the first n steps, or the first n launches of every kernel where there are no steps.
func Skip(n int) Warmup { return Warmup{mode: "skip", n: n} }

// ParseWarmup reads "auto" (also ""), "capture" or a number, as the policy file has them.
func ParseWarmup(s string) (Warmup, error) {
	s, err := thresholds.ParseWarmup(cmp.Or(s, Auto.mode))
	if err != nil {
		return Warmup{}, err
	}
	if n, err := strconv.Atoi(s); err == nil {
		return Skip(n), nil
	}
	return Warmup{mode: s}, nil
}

// String is what ParseWarmup reads.
func (w Warmup) String() string {
	if w.mode == "skip" {
		return strconv.Itoa(w.n)
	}
	return w.mode
}

// Options say how to cut a trace.
type Options struct {
	Warmup Warmup
	// Step names the NVTX range that the workload repeats. "" looks for one; NoStep treats the run as one piece.
	Step string
}

// NoStep as Options.Step means: do not look for steps.
const NoStep = "none"

// Sessions reduces traces, one per process, to sessions. The processes of one launch of the workload, its ranks, are one run.
// Runs of the same GPU that started within an hour belong together, oldest session first. The warm-up that is left out is the
// same for all of them. The error is a *model.Refusal where the traces cannot be cut as asked.
//
// Sampling disturbs what it samples: where some traces were sampled ([model.Trace.Sampling]) and others were not, the
// others alone are runs, and what was sampled is put beside them: the metrics of the first sampled trace to those of the
// first run, and so on. Runs without such a partner have NaN.
func Sessions(traces []model.Trace, o Options) ([]model.Session, error) {
	if len(traces) == 0 {
		return nil, model.Refuse(model.NoKernels, "check that the workload launches kernels and was profiled",
			"there is no run to judge")
	}
	traces, beside := split(traces)
	if o.Warmup.mode == "" {
		o.Warmup = Auto
	}
	cuts, err := newCuts(traces, o.Warmup, o.Step)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(cuts, order)
	if err := distinct(cuts); err != nil {
		return nil, err
	}
	ranks(cuts)
	step, err := chooseStep(cuts, o.Step)
	if err != nil {
		return nil, err
	}
	all, err := jobs(cuts)
	if err != nil {
		return nil, err
	}
	if o.Step == "" { // else they were divided when they were looked at
		if err := each(cuts, func(_ int, c *cut) error { c.divide(step); return nil }); err != nil {
			return nil, err
		}
	}
	if step == "" {
		if err := setCycles(cuts); err != nil {
			return nil, err
		}
	}
	for i := range all {
		all[i].match()
	}
	if err := skipWarmup(cuts, o.Warmup); err != nil {
		return nil, err
	}
	sampled, err := cutAlike(beside, cuts, step, o.Warmup)
	if err != nil {
		return nil, err
	}
	large.Sort(all, func(a, b job) int { return order(a.first(), b.first()) })
	var out []model.Session
	for len(all) > 0 {
		n := 1
		for n < len(all) && sameEnvironment(&all[0].first().Trace.Environment, &all[n].first().Trace.Environment) {
			n++
		}
		s, err := reduce(all[:n], sampled, step, o.Warmup)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
		all = all[n:]
	}
	large.Sort(out, func(a, b model.Session) int { return a.Start.Compare(b.Start) })
	return out, nil
}

// order puts the runs of one GPU together, the first to start first.
func order(a, b *cut) int {
	return cmp.Or(cmp.Compare(a.GPU, b.GPU), cmp.Compare(a.GPUHash, b.GPUHash), a.Trace.Start.Compare(b.Trace.Start),
		cmp.Compare(a.Source, b.Source))
}

// distinct refuses a recording that is there twice: copies would count as runs that agree to the nanosecond.
func distinct(cuts []*cut) error {
	type print struct {
		launches int
		sum      uint64
	}
	first := make(map[print]*cut, len(cuts))
	for _, c := range cuts {
		if c.seen.launches == 0 {
			continue
		}
		p := print{c.seen.launches, c.seen.print}
		if other := first[p]; other != nil && other.Source != c.Source {
			return model.Refuse(model.SameRecording, "remove the copy",
				"%s and %s are the same recording, which is one run and not two", other.Source, c.Source)
		}
		first[p] = c
	}
	return nil
}

// FindStep finds the NVTX range that every one of the traces repeats, NoStep if there is none. Sides that are to be compared
// must be cut by the same step: find it over the traces of both, then give it to Sessions.
func FindStep(traces []model.Trace, o Options) (string, error) {
	cuts, err := newCuts(traces, o.Warmup, o.Step)
	if err != nil {
		return "", err
	}
	step, err := chooseStep(cuts, o.Step)
	if step == "" {
		step = NoStep
	}
	return step, err
}

// sameEnvironment reports whether two runs of one side belong to one session. Unlike model.SameSession, which must
// not assume what it does not know, it puts runs of an unknown GPU or time together: they were handed in together.
func sameEnvironment(a, b *model.Environment) bool {
	return a.GPU == b.GPU && a.GPUHash == b.GPUHash && b.Start.Sub(a.Start).Abs() <= time.Hour
}
