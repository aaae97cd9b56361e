package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/proc"
	"github.com/nsgate/nsgate/gate/internal/read/counters"
	"github.com/nsgate/nsgate/gate/internal/run/device"
	"github.com/nsgate/nsgate/gate/internal/run/profiler"
)

// CounterPlan says which launches of a build to profile with counters.
type CounterPlan struct {
	profiler.Selection
	Counter   profiler.Counter
	Exe       string // the executable of the counter, "" for that on the PATH
	Build     Build
	Base      bool // the build is the base, not the head
	Device    device.Tool
	Timeout   time.Duration // of one run, 0 for ten minutes, negative for none
	AllowBusy bool          // measures although something else uses the GPU
}

func (p CounterPlan) exe() string { return cmp.Or(p.Exe, p.Counter.Tool().Name) }

// CommandLine is the command that [Profile] runs, with DIR for its private directory.
func (p CounterPlan) CommandLine() []string {
	return p.Counter.Command(p.exe(), p.Selection, p.log("DIR"), p.Build.Command)
}

func (p CounterPlan) log(dir string) string {
	return filepath.Join(dir, p.Counter.Tool().Name+p.Counter.Tool().Suffix)
}

// Profile runs a build once under the counter, for a few launches of each of the kernels, and reads their counters.
// Times under it, which runs the launches one by one, are not those of [Session].
//
// A failure of the counter is a *model.Refusal; a cancelled ctx is its cause. In each case no process and no file is
// left. As with [Session], only one may run at a time in a process.
func Profile(ctx context.Context, p CounterPlan) (*counters.Profile, error) {
	if !proc.Supported {
		return nil, errUnsupported
	}
	if len(p.Build.Command) == 0 {
		return nil, errors.New("nothing to profile: give a workload")
	}
	p.Timeout = cmp.Or(p.Timeout, 10*time.Minute)
	if p.Timeout < 0 {
		p.Timeout = math.MaxInt64
	}
	workload, err := p.Build.program("the workload", buildFirst)
	if p.Base {
		workload, err = p.Build.baseProgram()
	}
	if err != nil {
		return nil, err
	}
	if err := p.Build.follow(Run{Base: true, States: [2]string{stateOf(workload.Root)}}); err != nil {
		return nil, err
	}
	defer func() { p.Build.follow(Run{Base: true, States: [2]string{1: stateOf(workload.Root)}}) }()
	private, err := proc.NewPrivate("")
	if err != nil {
		return nil, err
	}
	defer private.Close()
	dir := private.Path
	env, err := private.Env()
	if err != nil {
		return nil, err
	}
	tool := p.Counter.Tool()
	path, err := exec.LookPath(p.exe())
	if err != nil {
		return nil, model.Refuse(model.NoCounter, fmt.Sprintf("install %s, %s", tool.Product, tool.Origin),
			"%s was not found", tool.Name)
	}
	argv := p.Counter.Command(path, p.Selection, p.log(dir), append([]string{workload.Path}, p.Build.Command[1:]...))
	ctx, cancel := context.WithTimeoutCause(ctx, p.Timeout, model.Refuse(model.CounterHangs, "allow more time, make "+
		"the workload shorter, or name fewer kernels; kernels of NCCL, which wait for each other, hang under "+
		tool.Name, "%s did not finish within %s", tool.Name, p.Timeout))
	defer cancel()
	cmd := exec.CommandContext(ctx, path, argv[1:]...)
	cmd.Dir = workload.Dir
	cmd.Env = env
	cmd.WaitDelay = terminateGrace // a process that outlives the counter may hold its output open
	signal := os.Signal(syscall.SIGTERM)
	if p.Why { // as Ctrl-C: the counter ends the program and writes what it has profiled
		signal, cmd.WaitDelay = os.Interrupt, interruptGrace
	}
	proc.Finish(cmd, signal)
	return p.profiled(ctx, p.log(dir), cmd.ProcessState)
}

// profiled reads the log of a counter that has ended, in a state of nil where it never began.
func (p CounterPlan) profiled(ctx context.Context, log string, state *os.ProcessState) (*counters.Profile, error) {
	p.Ended = p.Kill || p.Why && ctx.Err() != nil
	if p.Ended {
		if profile, err := p.Counter.Read(log, p.Selection); err == nil {
			return profile, nil
		}
	}
	tool := p.Counter.Tool().Name
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case state == nil:
		return nil, model.Refuse(model.CounterFailed, fmt.Sprintf("check the %s installation", tool),
			"%s could not be started", tool)
	}
	byHand := fmt.Sprintf("run %s on the workload by hand", tool)
	if _, err := os.Stat(log); err != nil {
		return nil, model.Refuse(model.CounterFailed, byHand, "%s wrote nothing (%s)", tool, state)
	}
	profile, err := p.Counter.Read(log, p.Selection)
	r := (*model.Refusal)(nil)
	if empty := errors.As(err, &r) && r.Kind == model.OtherFormat; !state.Success() && (err == nil || empty) {
		err = model.Refuse(model.CounterFailed, byHand, "%s failed (%s)", tool, state)
	}
	if err == nil {
		return profile, nil
	}
	if p.Base && errors.As(err, &r) {
		r.Reason += " (base build)"
	}
	return nil, err
}

// Counters are the counters of a build and, by schedule with it, of a base build.
type Counters struct {
	Base, Head  []*counters.Profile // one a run
	Environment model.Environment
	Warnings    []string
}

// Count profiles the head, and the base beside it where there is one, in runs fresh processes each. started is called
// before each of them. The errors are those of [Profile], and a *model.Refusal where something else uses the GPU.
func Count(ctx context.Context, p CounterPlan, base *Build, runs int,
	started func(base bool, index, of int)) (*Counters, error) {
	watch := device.Watch(p.Device, time.Now, false, p.AllowBusy)
	if err := watch.Before(ctx); err != nil {
		return nil, err
	}
	c := &Counters{Environment: model.Environment{Start: time.Now().UTC()}}
	c.Environment.Tool, c.Environment.Mode = p.Counter.Environment(ctx, p.exe())
	var uuids []string
	for _, g := range watch.GPUs() {
		uuids = append(uuids, g.UUID)
		c.Environment.Driver = g.Driver
	}
	c.Environment.GPUHash, c.Environment.Hardware = model.HashUUID(uuids...), device.Hardware(watch.GPUs())
	schedule := Plan{Head: p.Build, Base: base, Runs: runs}.schedule()
	for i := range schedule {
		isBase := schedule[i].Base
		started(isBase, i, len(schedule))
		one, side := p, &c.Head
		one.Base = isBase
		if isBase {
			one.Build, side = *base, &c.Base
		}
		profile, err := Profile(ctx, one)
		if err != nil {
			return nil, err
		}
		*side = append(*side, profile)
	}
	c.Warnings = watch.Warnings()
	return c, watch.After(ctx)
}
