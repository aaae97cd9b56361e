// Package trace reduces traces to sessions: steps, warm-up, one value a run.
package trace

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// Reduce reduces the traces of each side of a comparison, one per process, to its sessions, the oldest first: ranks of
// one launch to a run, runs of one GPU within an hour to a session. All sides are cut by the step and warm-up of all
// runs, each by its own step where they have none in common. Where some traces of a side were sampled, the others alone
// are runs, and the n-th sampled one gives its metrics to the n-th run. Traces that cannot be cut are a *model.Refusal.
func Reduce(o Options, traces ...[]model.Trace) ([][]model.Session, error) {
	o.Warmup = cmp.Or(o.Warmup, Auto)
	sides, err := newSides(o, traces)
	if err != nil {
		return nil, err
	}
	for _, s := range sides {
		if s.jobs, err = jobs(s.cuts); err != nil {
			return nil, err
		}
		attach(s.jobs, s.auxiliary)
	}
	layCycles(sides, o)
	placeGraphs(sides)
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

type side struct {
	cuts, auxiliary []*cut        // the runs and their ranks, and auxiliary processes
	sampled         []model.Trace // taken with the runs, with GPU metrics
	jobs            []job
	step            string
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
		s.cuts, s.auxiliary = apart(cuts)
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
		if s.step = step; o.Step != "" { // they were divided when they were looked at
			continue
		}
		if step == "" {
			s.step, _ = chooseStep(s.cuts, "")
		}
		if err := each(s.cuts, func(_ int, c *cut) error { return c.divide(s.step) }); err != nil {
			return nil, err
		}
	}
	return sides, nil
}

func cutsOf(sides []*side) []*cut {
	return slices.Concat(measure.Map(sides, func(s *side) []*cut { return s.cuts })...)
}

// layCycles lays cycles over the runs of the sides without a step: the same over all of them, or where they have none
// in common, over each side its own.
func layCycles(sides []*side, o Options) {
	sides = measure.Where(sides, func(s *side) bool { return s.step == "" })
	if setPhases(cutsOf(sides), o.Like) || len(sides) < 2 {
		evenPhases(sides, o)
		return
	}
	for i := range sides {
		setPhases(sides[i].cuts, o.Like)
		evenPhases(sides[i:i+1], o)
	}
}

// placeGraphs names the whole graphs of all runs.
func placeGraphs(sides []*side) {
	cuts := cutsOf(sides)
	spread(len(cuts), func(i int) { cuts[i].placeGraphs() })
}

func (s *side) sessions(o Options) ([]model.Session, error) {
	sampled, err := cutAlike(s.sampled, s.cuts, s.step, o.Warmup)
	if err != nil {
		return nil, err
	}
	all := s.jobs
	measure.Sort(all, func(a, b job) int { return order(a.first(), b.first()) })
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
	measure.Sort(out, func(a, b model.Session) int { return a.Start.Compare(b.Start) })
	return out, nil
}

// distinct refuses a recording that is there twice: copies would count as runs that agree to the nanosecond.
func distinct(cuts []*cut) error {
	first := make(map[uint64]*cut, len(cuts))
	for _, c := range cuts {
		if c.seen.Launches == 0 {
			continue
		}
		if other := first[c.seen.Hash]; other != nil && other.Source != c.Source {
			return model.Refuse(model.SameRecording, "remove the copy",
				"%s and %s are the same recording, which is one run and not two", other.file(), c.file())
		}
		first[c.seen.Hash] = c
	}
	return nil
}

// reduce makes one session of the runs that belong to it, and of their samples.
func reduce(jobs []job, sampled []*cut, step, w string) (model.Session, error) {
	first := jobs[0].first()
	s := model.Session{Environment: first.Environment, Step: step, Warmup: w}
	t := newTable(len(jobs))
	var alone []*cut
	for run, j := range jobs {
		for _, c := range j.ranks {
			if c.GraphTrace != first.GraphTrace {
				return s, model.Refuse(model.RunsDiffer, "record every run with --cuda-graph-trace=node",
					"%s traces CUDA graphs otherwise than %s", c.file(), first.file())
			}
			s.Tick = max(s.Tick, c.Tick)
			s.HostLoad = s.HostLoad.Worse(c.HostLoad)
		}
		s.GPUs, s.Processes = max(s.GPUs, j.devices()), max(s.Processes, len(j.ranks))
		c := j.first()
		info, err := j.reduce(run, &t)
		if err != nil {
			return s, err
		}
		if info.Launches == 0 {
			sources := measure.Once(nil, measure.Map(j.ranks, (*cut).file)...)
			return s, model.Refuse(model.NoStep,
				"name the range that launches them as the step, or take the run as one piece (none)",
				"%s: no kernel was launched in the %d steps of range %s that are judged",
				strings.Join(sources, ", "), len(c.steps)-c.skip, strconv.Quote(step))
		}
		s.Runs = append(s.Runs, info)
		alone = append(alone, c)
		if len(j.ranks) > 1 {
			alone = nil // the samples are of one device of several
		}
	}
	t.settleOwners()
	t.setSampled(alone, sampled)
	for _, x := range t.rows {
		s.Series = append(s.Series, *x)
	}
	s.Series = dropSmallRanges(s.Series, step)
	s.SortSeries()
	return s, s.Check()
}

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
