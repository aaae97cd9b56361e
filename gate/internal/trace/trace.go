// Package trace reduces traces to sessions: steps, warm-up, one value a run, and the cause of every nanosecond of a step.
package trace

import (
	"cmp"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/measure"
	"github.com/nsgate/nsgate/thresholds"
)

// trim is the share of a kernel's launches cut off at either end before they are averaged. On 240 H200 processes a
// 10 % trimmed mean moves less between runs than a median (0.16 % against 0.44 % for a reduction kernel).
const trim = 0.1

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

// Options say how to cut traces.
type Options struct {
	Warmup Warmup
	// Step names the NVTX range that the workload repeats. "" looks for one; NoStep treats the run as one piece.
	Step string
	// Like is a finished session whose warm-up and cycle are taken over, nil for none.
	Like *model.Session
}

// NoStep as Options.Step means: do not look for steps.
const NoStep = "none"

// Sessions is [Reduce] of one side.
func Sessions(traces []model.Trace, o Options) ([]model.Session, error) {
	out, err := Reduce(o, traces)
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// Reduce reduces the traces of each side of a comparison, one per process, to its sessions. The processes of one launch of the workload,
// its ranks, are one run. Runs of the same GPU that started within an hour belong together, oldest session first. All sides are
// cut alike: by the step that every run repeats, and with the same warm-up. Where they have no step in common, each is cut by its own,
// which shows that they are not comparable. The error is a *model.Refusal where the traces cannot be cut as asked.
//
// Sampling disturbs what it samples: where some traces of a side were sampled ([model.Trace.Sampling]) and others were not, the
// others alone are runs, and the first sampled trace gives its metrics to the first run, and so on. Runs without such a partner
// have NaN.
func Reduce(o Options, traces ...[]model.Trace) ([][]model.Session, error) {
	if o.Warmup.mode == "" {
		o.Warmup = Auto
	}
	sides, err := newSides(o, traces)
	if err != nil {
		return nil, err
	}
	for _, s := range sides {
		ranks(s.cuts)
		if s.jobs, err = jobs(s.cuts); err != nil {
			return nil, err
		}
		attach(s.jobs, s.beside)
	}
	if err := layCycles(sides, o); err != nil {
		return nil, err
	}
	for _, s := range sides {
		for i := range s.jobs {
			s.jobs[i].match()
		}
	}
	if err := skipWarmup(cutsOf(sides), o); err != nil {
		return nil, err
	}
	out, errs := make([][]model.Session, len(sides)), make([]error, len(sides))
	var group sync.WaitGroup
	for i, s := range sides {
		group.Go(func() { out[i], errs[i] = s.sessions(o) })
	}
	group.Wait()
	return out, cmp.Or(errs...)
}

// side is the traces of a side while they are reduced.
type side struct {
	cuts, beside []*cut        // the runs and their ranks, and processes beside the workload
	sampled      []model.Trace // beside the runs
	jobs         []job
	step         string
}

// newSides looks at the traces, finds the step and divides them.
func newSides(o Options, traces [][]model.Trace) ([]*side, error) {
	var sides []*side
	for _, of := range traces {
		if len(of) == 0 {
			return nil, model.Refuse(model.NoKernels, "check that the workload launches kernels and was profiled",
				"there is no run to judge")
		}
		s := &side{}
		of, s.sampled = split(of)
		cuts, err := newCuts(of, o.Warmup, o.Step)
		if err != nil {
			return nil, err
		}
		slices.SortStableFunc(cuts, order)
		if err := distinct(cuts); err != nil {
			return nil, err
		}
		s.cuts, s.beside = apart(cuts)
		sides = append(sides, s)
	}
	if len(sides) == 0 {
		return nil, nil
	}
	step, err := chooseStep(cutsOf(sides), o.Step)
	if err != nil {
		return nil, err
	}
	for _, s := range sides {
		if s.step = step; step == "" && o.Step == "" {
			if s.step, err = chooseStep(s.cuts, ""); err != nil {
				return nil, err
			}
		}
	}
	if o.Step != "" { // they were divided when they were looked at
		return sides, nil
	}
	for _, s := range sides {
		if err := each(s.cuts, func(_ int, c *cut) error { c.divide(s.step); return nil }); err != nil {
			return nil, err
		}
	}
	return sides, nil
}

// cutsOf are the runs and ranks of all sides.
func cutsOf(sides []*side) (out []*cut) {
	for _, s := range sides {
		out = append(out, s.cuts...)
	}
	return out
}

// layCycles lays cycles over the runs of the sides without a step: the same over all of them, or where they have none in common,
// over each side its own.
func layCycles(sides []*side, o Options) error {
	times := 0
	if o.Like != nil {
		if x, ok := o.Like.Find(measure.Workload, measure.Repeats.Name); ok {
			times = int(largest(x.Values))
		}
	}
	sides = slices.DeleteFunc(slices.Clone(sides), func(s *side) bool { return s.step != "" })
	found, err := setCycles(cutsOf(sides), times)
	for i := 0; i < len(sides) && !found && err == nil && len(sides) > 1; i++ {
		_, err = setCycles(sides[i].cuts, times)
	}
	return err
}

// sessions are the sessions of the side, which has been cut.
func (s *side) sessions(o Options) ([]model.Session, error) {
	sampled, err := cutAlike(s.sampled, s.cuts, s.step, o.Warmup)
	if err != nil {
		return nil, err
	}
	all := s.jobs
	slices.SortStableFunc(all, func(a, b job) int { return order(a.first(), b.first()) })
	var out []model.Session
	for len(all) > 0 {
		n := 1
		for n < len(all) && sameEnvironment(&all[0].first().Trace.Environment, &all[n].first().Trace.Environment) {
			n++
		}
		x, err := reduce(all[:n], sampled, s.step, o.Warmup)
		if err != nil {
			return nil, err
		}
		out = append(out, x)
		all = all[n:]
	}
	slices.SortStableFunc(out, func(a, b model.Session) int { return a.Start.Compare(b.Start) })
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

// sameEnvironment reports whether two runs of one side belong to one session. Unlike model.SameSession, which must
// not assume what it does not know, it puts runs of an unknown GPU or time together: they were handed in together.
func sameEnvironment(a, b *model.Environment) bool {
	return a.GPU == b.GPU && a.GPUHash == b.GPUHash && b.Start.Sub(a.Start).Abs() <= time.Hour
}
