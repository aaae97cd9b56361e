// Package run runs workloads under a profiler and returns what it recorded.
//
// A session is one process of the profiler around N fresh processes of the workload, or of two builds of it,
// interleaved. The profiler starts the nsgate binary itself in a hidden mode, the runner, which runs the workload N
// times, one run after the other, and writes a journal.
//
// Unprofiled runs are taken between the profiled ones, while the profiler idles. Processes below it inherit its
// libraries, so a second runner takes these runs, which nsgate starts beside it. Both runners have the same schedule
// and the same journal, in which each reads when its next run is due. Neither ends before the last run, so that the
// profiler finishes its report while nothing runs.
//
// Nothing is left behind: every process is ended, and the private directory with the raw report, which holds the
// workload's environment variables, is removed, and so is the worktree of a base build. If nsgate itself is killed, a
// guard process does that; if the guard is killed too, the next nsgate does.
package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/output"
	"github.com/nsgate/nsgate/gate/internal/proc"
	"github.com/nsgate/nsgate/gate/internal/run/device"
	"github.com/nsgate/nsgate/gate/internal/run/host"
	"github.com/nsgate/nsgate/gate/internal/run/profiler"
)

// Session runs each build p.Runs times in one session of the profiler and reads what was recorded. progress may be nil;
// it is called from the calling goroutine. Only one Session may run at a time in a process. Where the profiler knows
// how to repeat a session whose recording was lost, Session does.
//
// A measurement that cannot be judged is a *model.Refusal, a failing workload a *[WorkloadError] around one; a
// cancelled ctx is its cause. In each case no process and no file is left.
func Session(ctx context.Context, p Plan, progress func(Event)) (*Result, error) {
	if !proc.Supported {
		return nil, errUnsupported
	}
	if len(p.Head.Command) == 0 || p.Base != nil && len(p.Base.Command) == 0 || p.Runs+p.Unprofiled < 1 {
		return nil, errors.New("no workload to run: give its command, and at least one run")
	}
	p = p.withDefaults()
	// The workload's own mistakes come first: they do not depend on the machine.
	if _, err := p.spec(); err != nil {
		return nil, err
	}
	if p.way().profiled { // else the profiler is on the hosts of the ranks, or none is needed
		exe, err := exec.LookPath(p.Exe)
		if err != nil {
			tool := p.Profiler.Tool()
			return nil, model.Refuse(model.NoProfiler, fmt.Sprintf("install %s (%s), or give the %s executable",
				tool.Product, tool.Origin, tool.Name), "%s", proc.Missing(p.Exe, err))
		}
		p.Exe = exe
	}
	start := time.Now()
	stages, stage, since := map[Stage]time.Duration{}, Starting, start
	note := func(e Event) {
		now := time.Now()
		if e.Stage != Printed {
			stages[stage] += now.Sub(since)
			stage, since = e.Stage, now
		}
		e.Elapsed, e.Runs, e.Profiler = now.Sub(start), len(p.schedule()), p.Profiler.Tool().Name
		if progress != nil {
			progress(e)
		}
	}
	res, err := p.take(ctx, note)
	for err != nil && ctx.Err() == nil {
		if why := alone(err); why != nil {
			note(Event{Stage: Repeating, Text: why.Error() + ": measuring again, one start after the other"})
			p.Starts = 1
			res, err = p.take(ctx, note)
			continue
		}
		var again *profiler.Repetition
		if again, err = p.Profiler.Repeat(p.options(), err); again == nil {
			break
		}
		if again.Doing != "" {
			note(Event{Stage: Repeating, Text: again.Doing})
		}
		p.Options.Options = again.Options
		if res, err = p.take(ctx, note); err == nil {
			res.Repeated = again.Warning
		}
	}
	if err != nil {
		return nil, err
	}
	stages[stage] += time.Since(since)
	res.Elapsed, res.Stages = time.Since(start), stages
	return res, nil
}

var sessions atomic.Int64 // that this process has measured

// take is one session, from the look at the GPU to the traces.
func (p Plan) take(ctx context.Context, note func(Event)) (res *Result, err error) {
	start := time.Now()
	p.clock = newClock()
	way := p.way()
	watch := device.Watch(p.Device, p.clock.now, !way.local, p.AllowBusy)
	sp, err := p.spec()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil { // runs that nobody followed
			p.Base.follow(Run{Base: true})
		}
	}()
	if err := p.keepable(); err != nil {
		return nil, err
	}
	var load hostWatch
	if way.local {
		report := note
		note = func(e Event) { load.see(e.Stage); report(e) }
	}
	note(Event{Stage: Starting})
	// before there is a guard, and released after it has ended: then no scan of all processes is needed
	children := proc.Adopt()
	defer children.Release()
	private, err := proc.NewPrivate(p.Self)
	if err != nil {
		return nil, err
	}
	defer func() {
		if why := private.Close(); why != nil {
			why = fmt.Errorf("the private directory with the raw report was not removed: %w; remove it", why)
			res, err = nil, errors.Join(err, why)
		}
	}()
	if err := sp.write(private.Path); err != nil {
		return nil, proc.PrivateError(err)
	}
	watching, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	before := beginWatch(watching, watch, p.Runs > 0)
	lead := time.Since(start) // until the profiler is started
	var after *look
	runs, err := way.record(ctx, private, sp, children, before, func(e Event) {
		if e.Stage == Finishing { // the profiler needs no GPU for its report
			after = finishWatch(watching, watch)
		}
		if e.Expected > 0 {
			e.Expected += lead
		}
		note(e)
	})
	if err != nil && ctx.Err() != nil {
		end() // nobody waits for an answer
	}
	if unfit := before.wait(); unfit != nil { // it explains whatever else failed
		err = unfit
	}
	if after == nil {
		after = finishWatch(watching, watch)
	}
	defer after.wait()
	defer end()
	if ctx.Err() != nil && err != nil {
		return nil, context.Cause(ctx)
	}
	ctx = context.WithoutCancel(ctx)                          // the runs that have ended are kept
	if err := cmp.Or(err, p.keep(private.Path)); err != nil { // it is kept of a failed session too
		return nil, err
	}
	runs, traces, err := p.readFinished(ctx, private, runs, way, note)
	if err = cmp.Or(after.wait(), err, p.Base.followAll(runs)); err != nil {
		return nil, err
	}
	res = &Result{Runs: runs, Traces: traces, Recorded: p.options(), Starts: p.Starts, load: load.HostLoad}
	res.Base, res.Head = unprofiledOf(runs)
	res.GPU, res.Warnings = watched(watch, res.Traces, runs)
	p.readDumps(ctx, private.Path, res)
	res.describe(sessions.Add(1))
	if p.Runs == 0 {
		first, err := watch.First()
		if err != nil {
			return nil, err
		}
		res.Place = res.place(first)
	}
	res.warn(len(sp.Schedule))
	return res, nil
}

// readFinished reads the traces of the runs, without a run that was cut.
func (p Plan) readFinished(ctx context.Context, private *proc.Private, runs []Run, way way, note func(Event)) (
	[]Run, [][]model.Trace, error) {
	traces := make([][]model.Trace, len(runs))
	if p.Runs > 0 {
		var err error
		if traces, err = way.read(ctx, private, runs, note); err != nil {
			return nil, nil, err
		}
	}
	if n := len(runs) - 1; runs[n].Cut {
		runs, traces = runs[:n], traces[:n]
	}
	return runs, traces, cmp.Or(turns(traces, runs), loaded(traces, runs))
}

// Interrupted is the warning of a measurement that ended before all of its runs.
func Interrupted(ended, planned int) string {
	return fmt.Sprintf("interrupted after %d of %d runs: check again for all of them", ended, planned)
}

// warn adds the doubts about runs that are missing, the host's load, and processes that runs left behind.
func (r *Result) warn(planned int) {
	if n := len(r.Runs); n < planned {
		r.Warnings = append(r.Warnings, Interrupted(n, planned))
	}
	if hostBound(r.Traces) || slices.ContainsFunc(r.Runs, func(r Run) bool {
		return slices.ContainsFunc(r.Results, func(s model.Series) bool { return !s.Metric.OnGPU() })
	}) {
		r.Loaded = loadWarnings(r.load, host.Here().Limit())
		r.Warnings = append(r.Warnings, r.Loaded...)
	}
	for i, run := range r.Runs {
		if run.Left > 0 {
			r.Warnings = append(r.Warnings, fmt.Sprintf("processes that run %d of %d left behind were ended: %d",
				i+1, len(r.Runs), run.Left))
		}
	}
}

// place is where runs were taken that no profiler describes, on the GPU that the workload took.
func (r *Result) place(first device.GPU) model.Environment {
	e := model.Environment{Hardware: device.Hardware(r.GPU.GPUs), HostLoad: r.load, ClockMHz: r.GPU.ClockMHz}
	uuids := measure.Map(r.GPU.GPUs, func(g device.GPU) string { return g.UUID })
	e.GPU, e.Driver = first.Name, first.Driver
	e.GPUHash = model.HashUUID(uuids...)
	for _, run := range r.Runs {
		e.Tool = run.Harness
		if e.Start.IsZero() || run.Start.Before(e.Start) {
			e.Start = run.Start.UTC()
		}
	}
	return e
}

// describe adds to the traces what the profiler does not know: their run, the clock, the hardware. session counts the
// sessions of this process: two of them have no run in common.
func (r *Result) describe(session int64) {
	hardware := device.Hardware(r.GPU.GPUs)
	suffix := ""
	if session > 1 {
		suffix = fmt.Sprintf(" in session %d", session)
	}
	for i := range r.Traces {
		for j := range r.Traces[i] {
			t := &r.Traces[i][j]
			if t.Job == "" {
				t.Source = fmt.Sprintf("run %d of %d", i+1, len(r.Runs))
			} else {
				t.Job += suffix
			}
			t.Source += suffix
			if r.Recorded.NoNVTX {
				t.Mode = model.WithoutNVTX
			}
			t.ClockMHz, t.Hardware, t.HostLoad = r.GPU.ClockMHz, hardware, r.load
			if at := r.Runs[i].Start; !at.IsZero() {
				t.Start = at.UTC() // of the process, not of its first GPU activity: the order of runs must be right
				t.Overlapped = r.Runs[i].Held != nil
				if from := at.Sub(t.Zero); t.Job == "" && !t.Zero.IsZero() && !r.Runs[i].served() {
					t.Lifetime = model.Interval{Start: from.Nanoseconds(),
						End: r.Runs[i].end().Sub(t.Zero).Nanoseconds()}
				}
			}
			if t.Driver == "" && len(r.GPU.GPUs) > 0 {
				t.Driver = r.GPU.GPUs[0].Driver
			}
		}
	}
}

// read exports and reads the report in the private directory, and hands each run its traces.
func (p Plan) read(ctx context.Context, private *proc.Private, runs []Run, note func(Event)) ([][]model.Trace, error) {
	dir, name := private.Path, p.Profiler.Tool().Name
	note(Event{Stage: Exporting})
	limited, cancel := context.WithTimeoutCause(ctx, p.FinishLimit, model.Refuse(model.ProfilerHangs,
		fmt.Sprintf("let the workload run shorter, so that there is less to export; see whether %s works on this "+
			"machine", name),
		"%s did not export its report within %s", name, p.FinishLimit))
	defer cancel()
	export, err := p.Profiler.Export(limited, p.Exe, p.report(dir), dir)
	if err != nil {
		return nil, causeOr(limited, p.blameRoom(err, proc.Room(dir), ""))
	}
	note(Event{Stage: Reading})
	var traces []model.Trace
	asked := exports{Profiler: name, Files: []gatheredExport{{File: export}}}
	err = asked.ask(ctx, func(_ gatheredExport, of []model.Trace) { traces = of })
	if err != nil {
		return nil, causeOr(ctx, p.blameRoom(err, proc.Room(dir), ""))
	}
	return assign(traces, runs)
}

// CommandLines are the command lines of [Session]. XXXXXX stands for the unique part of the private directory.
func (p Plan) CommandLines() [][]string {
	p = p.withDefaults()
	switch {
	case !p.way().local:
		return [][]string{p.Head.launched(p.Self, filepath.Join(p.Gather, proc.Prefix+"XXXXXX"), jobOf(0))}
	case p.Runs == 0:
		return [][]string{p.Head.Command}
	}
	return p.commands(filepath.Join(os.TempDir(), proc.Prefix+"XXXXXX"))
}

// record runs one session of the profiler and returns its runs if all succeeded. It leaves no child process.
func (p Plan) record(ctx context.Context, private *proc.Private, _ spec, children proc.Children, fit *look,
	note func(Event)) ([]Run, error) {
	runtime.LockOSThread() // the session dies with the thread that started it
	defer runtime.UnlockOSThread()
	dir := private.Path
	lifeline, err := proc.Hold(lifelineIn(dir))
	if err != nil {
		return nil, proc.PrivateError(err)
	}
	defer lifeline.Close()
	gate, err := proc.Hold(gateIn(dir))
	if err != nil {
		return nil, proc.PrivateError(err)
	}
	defer gate.Close()
	env, err := private.Env() // the runner gives the workload its own values back
	if err != nil {
		return nil, err
	}
	written, err := output.New(journalIn(dir))
	if err != nil {
		return nil, proc.PrivateError(err)
	}
	defer written.Close()
	x := &processes{Plan: p, dir: dir, note: note, gate: gate, lifeline: lifeline,
		journal: journal{file: written}, runs: len(p.schedule())}
	defer children.End()
	defer func() { // the profiler ends the workload and finalises before its runners are ended
		os.Remove(lifelineIn(dir)) // a runner that ends late leaves the directory alone
		x.profiler.stop(lifeline)
		x.unprofiled.stop(lifeline)
	}()
	if p.Unprofiled > 0 {
		if err := x.startUnprofiled(env); err != nil {
			return nil, err
		}
	}
	if p.Runs > 0 {
		name, argv := p.Profiler.Tool().Name, p.commands(dir)[0]
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Env, cmd.Stdout, cmd.Stderr = env, &x.log, &x.log
		if x.profiler, err = start(cmd, proc.Isolate); err != nil {
			return nil, model.Refuse(model.ProfilerFailed,
				cmp.Or(proc.Raise(err), fmt.Sprintf("check the %s installation", name)),
				"%s could not be started: %s", name, proc.Said(err.Error()))
		}
	}
	x.begun = time.Now()
	x.enter(checking)
	x.look()
	if err := x.follow(ctx, fit); err != nil {
		return nil, err
	}
	runs, err := x.judge(ctx)
	if err != nil {
		err = p.blameRoom(err, min(x.room, proc.Room(dir)), x.log.String())
	}
	return runs, err
}
