package run

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/nsgate/nsgate/gate/internal/host"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/proc"
)

// shortStart is the time until a program opens the GPU below which starts are not worth overlapping.
var shortStart = time.Second

const (
	// startMemory is the part of the available memory that starts may take.
	startMemory = 0.8
	// pollStart is the time between checks of starting processes' open files, pollTree of checks for such processes.
	pollStart, pollTree = 5 * time.Millisecond, 50 * time.Millisecond
	// pollShare is the part of the time of one CPU that looks may take.
	pollShare = 0.25
)

// poll paces the checks of starting processes, which cost CPU time beside them.
type poll struct{ began, found time.Time }

// at begins a look.
func (p *poll) at(trees []*proc.Tree) {
	if p.began = time.Now(); p.began.Sub(p.found) >= pollTree {
		proc.Look(trees...)
		p.found = p.began
	}
}

// next is when the next look is due, at the end of one.
func (p *poll) next() <-chan time.Time {
	return time.After(max(pollStart, time.Duration(float64(time.Since(p.began))*(1/pollShare-1))))
}

// startsTogether is the most runs that may start at the same time: one where two builds alternate or a launcher starts
// the ranks of a job.
func (p Plan) startsTogether() int {
	if p.Base != nil || p.Head.Server != nil || p.Gather != "" || p.Device == nil || len(p.Results) > 0 {
		return 1
	}
	return max(1, p.Starts)
}

// allowed is how many of the runs after the first may start at the same time: one where the first did not open the GPU,
// or so soon that nothing is gained.
func (s spec) allowed(first Run) int {
	if s.Starts <= 1 || first.Opened < shortStart {
		return 1
	}
	n := float64(s.Starts)
	if free := host.Here().Memory(); free > 0 && first.Memory > 0 {
		n = min(n, startMemory*float64(free)/float64(first.Memory))
	}
	return max(1, int(n))
}

// startLimit is how long the runs after this first one, which start together, may take to open the GPU. They are
// stopped then, and go on when their turn comes.
func (r Run) startLimit() time.Duration { return 2*r.Opened + 10*time.Second }

// together is how many runs from the i-th on start at the same time.
func (x *part) together(i int) int {
	if i == 0 {
		return 1
	}
	most, rest := x.shared.runs[0].Together, len(x.Schedule)-i
	if most <= 1 || rest <= 1 {
		return 1
	}
	batches := (rest + most - 1) / most
	return (rest + batches - 1) / batches
}

// batch starts the runs of a part of the schedule at the same time, holds each when it opens the GPU, and then lets one
// at a time go on, in the order of the schedule. It reports whether all succeeded.
func (x *part) batch(ctx context.Context, from, to int) bool {
	runs := make(map[int]*started)
	defer func() { x.endAll(runs) }()
	for i := from; i < to; i++ {
		if x.Schedule[i].Unprofiled == x.unprofiled {
			runs[i] = x.start(x.Schedule[i])
		}
	}
	if !x.hold(ctx, runs) || !x.shared.awaitStarts(ctx, from, to) {
		return false
	}
	for i := from; i < to; i++ {
		run := runs[i]
		if run == nil {
			if !x.shared.await(ctx, i+1) {
				return false
			}
			continue
		}
		delete(runs, i)
		run.r.Start = x.Clock.now()
		if run.tree != nil {
			run.r.Held.Pids = run.tree.Pids()
			run.tree.Continue()
		}
		if !x.take(ctx, i, run, x.children.Without(trees(runs)...)) {
			return false
		}
	}
	return true
}

// hold waits until each run has opened the GPU, and stops it then.
func (x *part) hold(ctx context.Context, runs map[int]*started) bool {
	limit := x.shared.runs[0].startLimit()
	if x.Timeout > 0 {
		limit = min(limit, x.Timeout)
	}
	starting, look := maps.Clone(runs), poll{}
	for len(starting) > 0 {
		look.at(trees(starting))
		for i, run := range starting {
			if x.ready(run, limit) {
				delete(starting, i)
				x.write(line{Index: i + 1, Waits: true, Run: run.r})
			}
		}
		select {
		case <-ctx.Done():
			return false
		case <-look.next():
		}
	}
	return true
}

// ready reports whether a run has started, and stops it where it has not ended.
func (s spec) ready(run *started, limit time.Duration) bool {
	if run.r.Error != "" {
		return true
	}
	select {
	case <-run.done:
		run.spent = time.Since(run.begun)
		run.r.Held = &Held{Started: run.r.Start, Spent: run.spent}
		return true
	default:
	}
	if !run.tree.Opened(s.File) && time.Since(run.begun) < limit {
		return false
	}
	run.spent = time.Since(run.begun)
	run.r.Held = &Held{Started: run.r.Start, At: s.Clock.now(), Spent: run.spent}
	run.tree.Stop()
	return true
}

// endAll ends the runs whose turn has not come.
func (x *part) endAll(runs map[int]*started) {
	if len(runs) == 0 {
		return
	}
	for _, run := range runs {
		if run.tree != nil {
			proc.TerminateGroup(run.cmd)
			run.tree.Continue()
		}
	}
	for until := time.Now().Add(runGrace); time.Now().Before(until) && len(x.children.Living()) > 0; {
		time.Sleep(10 * time.Millisecond)
	}
	x.children.End()
}

func trees(runs map[int]*started) (out []*proc.Tree) {
	for _, run := range runs {
		if run.tree != nil {
			out = append(out, run.tree)
		}
	}
	return out
}

// watch notes when the run opens the GPU and its memory until then, if wanted.
func (x *started) watch(wanted bool, file string) {
	if !wanted || file == "" {
		return
	}
	ended, stopped := make(chan struct{}), make(chan struct{})
	x.stop = func() { close(ended); <-stopped }
	go func() {
		defer close(stopped)
		for look := (poll{}); ; {
			look.at([]*proc.Tree{x.tree})
			opened := x.tree.Opened(file)
			if opened {
				x.r.Opened = time.Since(x.begun)
			}
			x.r.Memory = max(x.r.Memory, x.tree.Memory())
			if opened {
				return
			}
			select {
			case <-ended:
				return
			case <-look.next():
			}
		}
	}()
}

// errTurns says that a run used the GPU before its turn.
var errTurns = errors.New("a run used the GPU before its turn")

// turns is [errTurns] where runs that started together, and their traces, show that a run was not held before it used
// the GPU.
func turns(traces [][]model.Trace, runs []Run) error {
	for i, r := range runs {
		if r.Held == nil {
			continue
		}
		if r.Held.At.IsZero() {
			return errTurns
		}
		for _, t := range traces[i] {
			first := t.Unpacked().Launches
			if len(first) > 0 && !t.Zero.IsZero() && t.Zero.Add(time.Duration(first[0].Start)).Before(r.Start.Add(-clockError)) {
				return errTurns
			}
		}
	}
	return nil
}

// clockError is by how much the clocks of the profiler and of the runner may differ.
const clockError = 50 * time.Millisecond
