package run

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/proc"
	"github.com/nsgate/nsgate/gate/internal/run/host"
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
	p.began = time.Now()
	if p.began.Sub(p.found) >= pollTree {
		proc.Look(trees...)
		p.found = p.began
	}
}

// next is when the next look is due, at the end of one.
func (p *poll) next() <-chan time.Time {
	return time.After(max(pollStart, time.Duration(float64(time.Since(p.began))*(1/pollShare-1))))
}

// startsTogether is the most runs that may start before their turn: one where two builds alternate or a launcher starts
// the ranks of a job.
func (p Plan) startsTogether() int {
	if p.Base != nil || !p.way().alone || p.Device == nil || len(p.Results) > 0 {
		return 1
	}
	return max(1, p.Starts)
}

// allowed is how many of the runs that wait for their turn may start beside the others, with the time until the first
// run opened the GPU and its resident memory then: one where nothing is gained.
func (s spec) allowed(opened time.Duration, memory int64) int {
	if s.Starts <= 1 || opened < shortStart {
		return 1
	}
	n := float64(s.Starts)
	if free := host.Here().Memory(); free > 0 && memory > 0 {
		n = min(n, startMemory*float64(free)/float64(memory))
	}
	return max(1, int(n))
}

// startLimit is how long the runs after this first one may take to open the GPU. They are stopped then, and go on when
// their turn comes.
func (r Run) startLimit() time.Duration { return 2*r.Opened + 10*time.Second }

// ahead are the runs of a part that start before their turn, in the order of the schedule.
type ahead struct {
	begun chan *started
	mutex sync.Mutex // of what follows
	runs  map[int]*started
}

// overlap starts the runs of a part before their turn and holds each when it opens the GPU. The function that it
// returns ends the runs whose turn has not come.
func (x *part) overlap(ctx context.Context) (end func()) {
	if x.Starts <= 1 {
		return func() {}
	}
	x.ahead = &ahead{begun: make(chan *started, len(x.Schedule)), runs: make(map[int]*started)}
	x.beside = func(c proc.Children) proc.Children {
		x.ahead.mutex.Lock()
		defer x.ahead.mutex.Unlock()
		proc.Look(trees(x.ahead.runs)...)
		return c.Without(trees(x.ahead.runs)...)
	}
	ctx, cancel := context.WithCancel(ctx)
	ended, over := make(chan struct{}), make(chan struct{})
	go func() {
		runtime.LockOSThread() // the runs die with the thread that started them
		x.startAhead(ctx)
		close(ended)
		<-over
	}()
	return func() {
		cancel()
		<-ended
		x.endAll(x.ahead.runs)
		close(over)
	}
}

// startAhead starts runs from when the first run has opened the GPU, as many at a time as [spec.allowed] says, those
// that are held included.
func (x *part) startAhead(ctx context.Context) {
	turns, look := journal{file: x.shared.file}, poll{}
	known := func() bool { return turns.first.Together > 0 || len(turns.runs) > 0 }
	if !turns.until(ctx, known) || turns.first.Together <= 1 {
		return
	}
	limit := turns.first.startLimit()
	if x.Timeout > 0 {
		limit = min(limit, x.Timeout)
	}
	starting := make(map[int]*started)
	for next := 1; next < len(x.Schedule) || len(starting) > 0; {
		turns.next()
		x.ahead.mutex.Lock()
		for ; next < len(x.Schedule) && next < turns.turn+turns.first.Together; next++ {
			if x.Schedule[next].Unprofiled == x.unprofiled {
				run := x.start(x.Schedule[next])
				run.held = make(chan struct{})
				x.ahead.runs[next], starting[next] = run, run
				x.ahead.begun <- run
			}
		}
		wait := time.After(pollTree)
		if len(starting) > 0 {
			look.at(trees(starting))
			for i, run := range starting {
				if x.ready(run, limit) {
					delete(starting, i)
					close(run.held)
				}
			}
			wait = look.next()
		}
		x.ahead.mutex.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-wait:
		}
	}
}

// turn is run i, whose turn has come, nil where ctx ended before it had started.
func (x *part) turn(ctx context.Context, i int) (run *started) {
	if i == 0 || x.shared.runs[0].Together <= 1 {
		return x.start(x.Schedule[i])
	}
	select {
	case run = <-x.ahead.begun:
	case <-ctx.Done():
		return nil
	}
	select {
	case <-run.held:
	case <-ctx.Done():
		return nil
	}
	x.ahead.mutex.Lock()
	defer x.ahead.mutex.Unlock()
	delete(x.ahead.runs, i)
	run.r.Start = x.Clock.now()
	if run.tree != nil {
		run.tree.Continue()
		run.r.Held.Pids = run.tree.Pids()
	}
	return run
}

// ready reports whether a run has started, and stops it where it has not ended.
func (s spec) ready(run *started, limit time.Duration) bool {
	if run.r.Error != "" {
		return true
	}
	ended := false
	select {
	case <-run.done:
		ended = true
	default:
	}
	if !ended && !run.tree.Opened(s.File) && time.Since(run.begun) < limit {
		return false
	}
	run.spent = time.Since(run.begun)
	run.r.Held = &Held{Started: run.r.Start, Spent: run.spent}
	if !ended {
		run.r.Held.At = s.Clock.now()
		run.tree.Stop()
	}
	return true
}

// endAll ends the runs whose turn has not come.
func (x *part) endAll(runs map[int]*started) {
	if len(runs) == 0 {
		return
	}
	for _, run := range runs {
		if run.tree != nil {
			proc.SignalGroup(run.cmd, syscall.SIGTERM)
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

// watch notes when the run opens the file of the GPU and its memory until then, and calls opened.
func (x *started) watch(file string, opened func()) {
	ended, stopped := make(chan struct{}), make(chan struct{})
	x.stop = func() { close(ended); <-stopped }
	go func() {
		defer close(stopped)
		for look := (poll{}); ; {
			look.at([]*proc.Tree{x.tree})
			open := x.tree.Opened(file)
			if open {
				x.r.Opened = time.Since(x.begun)
			}
			x.r.Memory = max(x.r.Memory, x.tree.Memory())
			if open {
				opened()
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

// errTurns says that a run used the GPU before its turn, errBeside that a run failed, perhaps over a port or a file
// that another one had taken.
var (
	errTurns  = errors.New("a run used the GPU before its turn")
	errBeside = errors.New("a run failed while others started")
)

// alone is why the runs of a session that ended with err have to start one after the other, nil where that changes
// nothing.
func alone(err error) error {
	failed := (*WorkloadError)(nil)
	switch {
	case errors.Is(err, errTurns):
		return errTurns
	case errors.As(err, &failed) && !failed.Run.TimedOut && (failed.Run.Held != nil || failed.Run.Together > 1):
		return errBeside
	}
	return nil
}

// turns is [errTurns] where runs that started before their turn, and their traces, show that a run was not held before
// it used the GPU.
func turns(traces [][]model.Trace, runs []Run) error {
	const clockError = 50 * time.Millisecond // by how much the clocks of the profiler and of the runner may differ
	for i, r := range runs {
		if r.Held == nil {
			continue
		}
		if r.Held.At.IsZero() {
			return errTurns
		}
		for _, t := range traces[i] {
			first := t.Launches
			if len(first) > 0 && !t.Zero.IsZero() &&
				t.Zero.Add(time.Duration(first[0].Start)).Before(r.Start.Add(-clockError)) {
				return errTurns
			}
		}
	}
	return nil
}
