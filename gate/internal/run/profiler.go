package run

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/proc"
)

// How long a profiler may take to end after SIGINT, which lets it end the workload and finalise, and after SIGTERM.
var (
	interruptGrace = 5 * time.Second
	terminateGrace = 2 * time.Second
)

// phase is the stage of a profiler process that the session waits in. Each has a limit, see [processes.limit].
type phase int

const (
	checking  phase = iota // the GPUs; the profiler starts meanwhile, and no run begins before they are fit
	starting               // the profiler starts the runner, which begins the first run
	running                // a run is under way
	between                // a run has ended, the next one has not begun
	finishing              // all runs have ended, the profiler writes its report
)

// lookEvery is how often the room for the report is looked at.
const lookEvery = 100 * time.Millisecond

// processes are the profiler, the runner below it, and the runner of the unprofiled runs beside it.
type processes struct {
	Plan
	dir        string // private
	note       func(Event)
	profiler   child
	log        proc.Output // of the profiler
	unprofiled child       // the zero child without unprofiled runs
	gate       io.Closer   // closed once the runners may begin
	lifeline   io.Closer   // closed once the runners shall end
	journal    journal
	runs       int // of the whole session

	phase  phase
	since  time.Time // the start of the phase, or the last journal line in it
	hung   bool      // the phase exceeded its limit
	cut    bool      // ctx has ended, and the runs that ended before are kept
	begun  time.Time
	room   int64 // the least that was seen: a profiler makes room again when it gives up
	looked time.Time
}

// child is a process that is waited for in the background.
type child struct {
	cmd  *exec.Cmd
	done chan struct{} // closed once it has ended
}

func start(cmd *exec.Cmd, isolate func(*exec.Cmd)) (child, error) {
	cmd.WaitDelay = terminateGrace // a process that outlives it may hold its output open
	isolate(cmd)
	done, err := proc.Start(cmd)
	if err != nil {
		return child{}, err // there is none to stop
	}
	return child{cmd, done}, nil
}

// startUnprofiled starts the runner of the unprofiled runs, in the profiler's place where nothing is profiled. It
// outlives a killed nsgate, to end what its runs have started.
func (x *processes) startUnprofiled(env []string) error {
	cmd := exec.Command(x.Self, RunnerArg, specIn(x.dir), unprofiledArg)
	cmd.Env = env
	unprofiled, err := start(cmd, proc.Detach)
	switch {
	case err != nil:
		return model.Refuse(model.ProfilerFailed, cmp.Or(proc.Raise(err), "measure again"),
			"the unprofiled runs cannot be started: %s", proc.Said(err.Error()))
	case x.Runs == 0:
		x.profiler = unprofiled
	default:
		x.unprofiled = unprofiled
	}
	return nil
}

// follow follows the profiler until it has ended or a phase exceeds its limit. An error is one that it does not cause:
// an unfit GPU, the end of ctx, the end of the unprofiled runs.
func (x *processes) follow(ctx context.Context, fit *look) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	answer, unprofiled, interrupted := fit.done, x.unprofiled.done, ctx.Done()
	for ended := false; !ended && !x.hung; {
		select {
		case <-x.profiler.done:
			ended = true
		case <-unprofiled:
			unprofiled = nil
			if err := x.unprofiledEnded(); err != nil && !x.cut {
				return err
			}
		case <-answer:
			answer = nil
			if err := x.begin(fit.err); err != nil {
				return err
			}
			tick.Reset(20 * time.Millisecond) // now there is a journal
		case <-interrupted:
			interrupted = nil
			if !x.shorten() {
				return context.Cause(ctx)
			}
		case <-tick.C:
		}
		if time.Since(x.looked) >= lookEvery {
			if err := x.removed(); err != nil { // a profiler may wait for its files without an end
				return err
			}
			x.look()
		}
		x.read()
		limit := x.limit()
		x.hung = !ended && limit > 0 && time.Since(x.since) > limit
	}
	return nil
}

// shorten ends the runners where two runs of each kind have ended, or all of it, and reports whether it did.
func (x *processes) shorten() bool {
	x.read()
	planned, ended := map[slot]int{}, map[slot]int{}
	for i, kind := range x.schedule() {
		kind.Dump = Dump{}
		planned[kind]++
		if i < len(x.journal.runs) {
			ended[kind]++
		}
	}
	for kind, n := range planned {
		if !x.Partial || ended[kind] < min(2, n) {
			return false
		}
	}
	x.cut = true
	os.Remove(lifelineIn(x.dir))
	x.lifeline.Close()
	x.note(Event{Stage: Finishing, Run: len(x.journal.runs)})
	x.enter(finishing)
	return true
}

// enter begins a phase.
func (x *processes) enter(next phase) { x.phase, x.since = next, time.Now() }

// begin lets the runners begin, unless a GPU is unfit.
func (x *processes) begin(unfit error) error {
	if unfit != nil {
		return unfit
	}
	x.enter(starting)
	if err := os.Remove(gateIn(x.dir)); err != nil {
		return proc.PrivateError(err)
	}
	return x.gate.Close()
}

// look notes how much room is left for the report.
func (x *processes) look() {
	room := proc.Room(x.dir)
	if x.looked.IsZero() || room < x.room {
		x.room = room
	}
	x.looked = time.Now()
}

// read reads the journal and enters the phase that its last line begins.
func (x *processes) read() {
	lines := x.journal.next()
	x.progress(lines)
	if !slices.ContainsFunc(lines, func(l line) bool { return l.Said == "" }) {
		return
	}
	switch {
	case x.journal.running:
		x.enter(running)
	case len(x.journal.runs) == x.runs:
		x.enter(finishing)
	default:
		x.enter(between)
	}
}

// limit is how long the phase may take, 0 for no limit.
func (x *processes) limit() time.Duration {
	switch x.phase {
	case starting:
		return x.StartLimit
	case running: // the runner ends a run that takes too long; without a timeout a run may take for ever
		served := x.Head.Served()
		switch {
		case x.Timeout <= 0 || served && x.Server.Timeout <= 0:
		case served:
			return x.Timeout + x.Server.Timeout + serverGrace + x.FinishLimit
		default:
			return x.Timeout + x.FinishLimit
		}
	case between:
		if runs := x.journal.runs; len(runs) > 0 && runs[0].Together > 1 { // a run goes on that started before its turn
			return x.FinishLimit + runs[0].startLimit()
		}
		return x.FinishLimit
	case finishing:
		return x.FinishLimit
	}
	return 0
}

// unprofiledEnded is the refusal of a session whose runner of the unprofiled runs ended too early, nil where a run
// failed: that run is the reason.
func (x *processes) unprofiledEnded() error {
	x.read()
	n := len(x.journal.runs)
	if n == x.runs || n > 0 && x.journal.runs[n-1].failed() {
		return nil
	}
	return model.Refuse(model.ProfilerFailed, "measure again",
		"the unprofiled runs ended after %d of %d runs (%s)", n, x.runs, x.unprofiled.cmd.ProcessState)
}

// progress tells what journal lines say.
func (x *processes) progress(lines []line) {
	for _, l := range lines {
		if l.Opened {
			continue
		}
		if l.Said != "" {
			x.note(Event{Stage: Printed, Output: l.Said})
			continue
		}
		e := Event{Stage: RunStarted, Run: l.Index, Unprofiled: l.Run.Unprofiled,
			Expected: x.Usual * time.Duration(x.runs)}
		if l.Done {
			e.Stage = measure.Either(l.Run.failed(), RunFailed, RunFinished)
		}
		if n := len(x.journal.runs); n > 0 {
			e.Expected = time.Duration(float64(time.Since(x.begun)) / float64(n) * float64(x.runs))
		}
		x.note(e)
		if l.Done && l.Index == x.runs && !l.Run.failed() {
			x.note(Event{Stage: Finishing, Run: x.runs})
		}
	}
}

// stop ends a child, politely at first: a profiler then ends the workload and cleans up after itself.
func (c child) stop(lifeline io.Closer) {
	if c.cmd == nil {
		return
	}
	lifeline.Close()
	for _, s := range []struct {
		signal syscall.Signal
		grace  time.Duration
	}{{syscall.SIGINT, interruptGrace}, {syscall.SIGTERM, terminateGrace}} {
		select {
		case <-c.done:
			return
		default:
		}
		c.cmd.Process.Signal(s.signal)
		if proc.Ended(c.done, s.grace) {
			return
		}
	}
	proc.SignalGroup(c.cmd, os.Kill)
	<-c.done
}

// line is one line of the journal: a run that began, opened the GPU, or ended, or what it printed.
type line struct {
	Index  int  `json:"index"` // counted from 1
	Done   bool `json:"done"`
	Opened bool `json:"opened,omitempty"`
	Run    Run  `json:"run"`
	// Said is the last line of the run that is under way; the others are then empty.
	Said string `json:"said,omitempty"`
}

// journal follows the file with the runner's events, which stays open: the workload may remove its name.
type journal struct {
	file    *os.File
	offset  int64
	rest    []byte // of a line that is not complete yet
	running bool   // a run has begun and not ended
	begun   Run    // the last one that has begun
	runs    []Run  // the ended ones, in their order
	first   Run    // when it opened the GPU, with its start alone
	turn    int    // the index of begun, counted from 1
}

// await waits until the run of this index has ended, and reports whether it succeeded.
func (j *journal) await(ctx context.Context, index int) bool {
	return j.until(ctx, func() bool { return len(j.runs) >= index }) && !j.runs[index-1].failed()
}

// until reads the journal until it says something, and reports whether it did before ctx ended.
func (j *journal) until(ctx context.Context, said func() bool) bool {
	j.next()
	for start := time.Now(); !said(); j.next() {
		select {
		case <-ctx.Done():
			return false
		// Looking is work beside the run that is measured.
		case <-time.After(min(max(5*time.Millisecond, time.Since(start)/20), 100*time.Millisecond)):
		}
	}
	return true
}

// next returns the lines that were added since the last call.
func (j *journal) next() []line {
	added, _ := io.ReadAll(io.NewSectionReader(j.file, j.offset, 1<<40))
	j.offset += int64(len(added))
	j.rest = append(j.rest, added...)
	var lines []line
	for {
		text, rest, complete := bytes.Cut(j.rest, []byte("\n"))
		if !complete {
			return lines
		}
		j.rest = rest
		var l line
		if json.Unmarshal(text, &l) != nil {
			continue
		}
		switch {
		case l.Said != "":
		case l.Opened:
			j.first = l.Run
		case l.Done:
			j.running, j.runs = false, append(j.runs, l.Run)
		default:
			j.running, j.begun, j.turn = true, l.Run, l.Index
		}
		lines = append(lines, l)
	}
}

// awaitOpen waits until the runners may begin, and reports whether they may: where nsgate died, its gate is still
// there.
func awaitOpen(ctx context.Context, dir string) bool {
	select {
	case <-ctx.Done():
		return false
	case <-proc.Released(gateIn(dir)):
		_, err := os.Lstat(gateIn(dir))
		return errors.Is(err, fs.ErrNotExist)
	}
}
