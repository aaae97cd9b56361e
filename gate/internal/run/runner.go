package run

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/output"
	"github.com/nsgate/nsgate/gate/internal/proc"
	"github.com/nsgate/nsgate/gate/internal/reduce/rank"
	"github.com/nsgate/nsgate/gate/internal/run/confine"
	"github.com/nsgate/nsgate/gate/internal/run/host"
	"github.com/nsgate/nsgate/gate/internal/terminal"
)

// spec is the input of the runner, a file in the private directory: arguments and environment would show in a process
// list.
type spec struct {
	Head     program            `json:"head"`
	Base     program            `json:"base"`     // zero without a base build
	Schedule []slot             `json:"schedule"` // the runs of both runners, in order
	Outputs  []string           `json:"outputs"`  // patterns of numbers in the output of unprofiled runs
	Results  []string           `json:"results"`  // patterns of files that unprofiled runs write
	Rows     string             `json:"rows"`     // filter of jq that gives their rows
	Dir      string             `json:"-"`        // the private directory
	Timeout  time.Duration      `json:"timeout"`
	Clock    clock              `json:"clock"`
	Env      map[string]*string `json:"env"`    // former values of variables that the profiler changed; nil for unset
	Starts   int                `json:"starts"` // the most runs that start before their turn, see [Options.Starts]
	File     string             `json:"file"`   // see [device.Tool.File]
	Server   Server             `json:"server"` // of the builds that have one
	Live     bool               `json:"live"`

	said func(line string) // is told what a run prints, nil for nobody

	grace time.Duration // between SIGTERM and SIGKILL, 0 for runGrace
	// ask, where not nil, asks a run to end in its own way, before it is sent a signal.
	ask func(done <-chan struct{})
	// beside, where not nil, are the children without those of runs that wait for their turn.
	beside func(proc.Children) proc.Children
}

func (p Plan) spec() (s spec, err error) {
	s = spec{Schedule: p.schedule(), Timeout: p.Timeout, Clock: p.clock, Env: proc.Replaced(),
		Starts: p.startsTogether(), Results: p.Results, Rows: p.Rows, Server: p.Server, Live: p.Live}
	if p.Device != nil {
		s.File = p.Device.File()
	}
	for _, o := range p.Outputs {
		if _, err := o.Compile(); err != nil {
			return spec{}, err
		}
		s.Outputs = append(s.Outputs, o.Pattern)
	}
	if s.Head, err = p.Head.program("the workload", buildFirst); err != nil {
		return spec{}, err
	}
	if p.Base != nil {
		if s.Base, err = p.Base.baseProgram(); err != nil {
			return spec{}, err
		}
	}
	return s, nil
}

func (s spec) write(dir string) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return output.Text(specIn(dir), 0o600, text)
}

// How long a run may take to end after SIGTERM, and processes that it left behind to end by themselves.
var (
	runGrace  = 2 * time.Second
	leftGrace = 500 * time.Millisecond
)

// unprofiledArg is the argument after the spec file that makes a runner the one of the unprofiled runs.
const unprofiledArg = "unprofiled"

// RunnerMain is the hidden mode of this binary under the profiler. It runs the workload as often as the spec file
// args[0] says and writes the journal beside it. Two runners share a spec and its journal, one for the profiled runs,
// one for the unprofiled ones (args[1]), and take turns. Each stops at the first failed run, at a signal, and when the
// process that started the session is gone. The exit status is 0 if every run succeeded.
func RunnerMain(args []string) int {
	switch {
	case len(args) == 2 && args[0] == proc.GuardArg:
		return proc.Guard(args[1])
	case len(args) == 2 && args[0] == rank.ProgramArg:
		return rank.Program(args[1])
	case len(args) == 2 && args[1] == unprofiledArg:
		return runner(args[0], true)
	case len(args) == 1:
		if code, ok := confine.Child(args[0]); ok {
			return code
		}
		return runner(args[0], false)
	}
	fmt.Fprintln(os.Stderr, "nsgate: this mode is for nsgate itself")
	return 2
}

// runner runs its part of a spec: the profiled runs or the unprofiled ones.
func runner(file string, unprofiled bool) int {
	dir := filepath.Dir(file)
	s, err := readSpec(file)
	var out *os.File
	if err == nil {
		out, err = output.Log(journalIn(dir))
	}
	if err != nil {
		fmt.Fprintln(terminal.New(os.Stderr, terminal.Form{}), "nsgate runner:", err)
		return 2
	}
	defer out.Close()

	runtime.LockOSThread() // a run dies with the thread that started it
	children := proc.Adopt()
	told, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	ctx, cancel := context.WithCancel(told) // stop would let the SIGTERM of the guard end this process at once
	orphaned := proc.Released(lifelineIn(dir))
	go func() { <-orphaned; cancel() }()

	x := &part{spec: s, unprofiled: unprofiled, children: children, shared: &journal{file: out},
		out: json.NewEncoder(out)}
	if s.Live {
		x.said = func(text string) { x.write(line{Said: text}) }
	}
	all := awaitOpen(ctx, dir) && x.run(ctx)
	select {
	case <-orphaned:
		// The guard may have been killed as well. The runner under the profiler lets the other one end what it adopted.
		other := unprofiled && slices.ContainsFunc(s.Schedule, func(t slot) bool { return !t.Unprofiled })
		if _, err := os.Lstat(lifelineIn(dir)); err == nil && !other {
			proc.Clear(dir)
		}
	default:
	}
	return measure.Either(!all || ctx.Err() != nil, 1, 0)
}

func readSpec(file string) (s spec, err error) {
	text, err := input.Read(file, 64<<20)
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	s.Dir = filepath.Dir(file)
	return s, err
}

// part is the profiled or the unprofiled runs of the schedule, which one runner takes.
type part struct {
	spec
	unprofiled bool
	children   proc.Children
	shared     *journal
	ahead      *ahead
	mutex      sync.Mutex // of what follows
	out        *json.Encoder
	unwritten  error
}

func (x *part) write(l line) error {
	x.mutex.Lock()
	defer x.mutex.Unlock()
	x.unwritten = cmp.Or(x.unwritten, x.out.Encode(l))
	return x.unwritten
}

// run takes the runs, and waits while the other runner has its turn. It reports whether all runs succeeded.
func (x *part) run(ctx context.Context) bool {
	defer x.overlap(ctx)()
	for i := range x.Schedule {
		if i > 0 && !x.shared.await(ctx, i) {
			return false
		}
		if x.Schedule[i].Unprofiled != x.unprofiled {
			continue
		}
		if run := x.turn(ctx, i); run == nil || !x.take(ctx, i, run) {
			return false
		}
	}
	return x.shared.await(ctx, len(x.Schedule))
}

// take waits for the end of a run that has been started, and reports whether it succeeded.
func (x *part) take(ctx context.Context, i int, run *started) bool {
	if run.r.Error == "" {
		x.write(line{Index: i + 1, Run: run.r})
		if r := &run.r; i == 0 && x.Starts > 1 && x.File != "" {
			run.watch(x.File, func() {
				r.Together = x.allowed(r.Opened, r.Memory)
				x.write(line{Index: 1, Opened: true, Run: Run{Opened: r.Opened, Together: r.Together}})
			})
		}
		if x.serve(ctx, run) {
			x.wait(ctx, run, x.children)
		} else {
			run.unserve(true, runGrace, x.children)
			x.children.End()
		}
	}
	if ctx.Err() != nil {
		return false // not the workload's fault
	}
	if err := x.write(line{Index: i + 1, Done: true, Run: run.r}); err != nil {
		fmt.Fprintln(terminal.New(os.Stderr, terminal.Form{}), "nsgate runner: the journal cannot be written:",
			errors.Unwrap(err))
		return false
	}
	return !run.r.failed()
}

// started is a run whose process has been started.
type started struct {
	cmd     *exec.Cmd
	done    <-chan struct{}
	out     proc.Output
	printed *printed
	written *results // nil where the workload has none
	server  *server  // nil where the workload has none
	begun   time.Time
	kills   int64         // by the kernel, before
	spent   time.Duration // before it was held
	tree    *proc.Tree
	held    chan struct{} // closed once the run is held, nil where it starts in its turn
	stop    func()        // ends what watch has begun
	r       Run
}

// start starts the head or the base; the run has an error where that fails.
func (s spec) start(t slot) *started {
	p := measure.Either(t.Base, s.Base, s.Head)
	before := stateOf(p.Root)
	x := &started{begun: time.Now(), kills: host.Here().MemoryKills(), stop: func() {}}
	x.printed = &printed{to: &x.out, said: s.said}
	if t.Unprofiled {
		x.printed.look(s.Outputs)
	}
	x.r = Run{Base: t.Base, Unprofiled: t.Unprofiled, Start: s.Clock.now(), States: [2]string{before}}
	if len(s.Results) > 0 {
		var err error
		if x.written, err = newResults(s.Results, s.Rows, s.Dir, p.Dir); err != nil {
			x.r.Error = proc.Cause(err).Error()
			return x
		}
	}
	x.cmd = s.command(p, x.written, x.printed)
	if t.Dump != (Dump{}) {
		x.cmd.Env = t.Dump.dumping(x.cmd.Env, dumpIn(s.Dir, t.Base))
	}
	if p.Server != nil { // the command starts when it is ready
		x.server = newServer(s.Server)
		x.server.cmd = s.command(*p.Server, x.written, x.server.log)
		return x
	}
	x.launch()
	if t.Dump != (Dump{}) && x.done != nil {
		go boundDump(dumpIn(s.Dir, t.Base), dumpRoomMiB<<20, x.done)
	}
	return x
}

// command is a process of a run that has not been started, with the profiler's variables.
func (s spec) command(p program, written *results, out io.Writer) *exec.Cmd {
	cmd := exec.Command(p.Path, p.Command[1:]...)
	cmd.Args[0] = p.Command[0]
	cmd.Dir = p.Dir
	cmd.Env = proc.Environ(s.Env)
	if written != nil {
		cmd.Env = append(cmd.Env, strings.TrimPrefix(measure.RunDir, "$")+"="+written.dir)
		for i := range cmd.Args[1:] {
			cmd.Args[i+1] = strings.ReplaceAll(cmd.Args[i+1], measure.RunDir, written.dir)
		}
	}
	cmd.Stdout, cmd.Stderr = out, out
	cmd.WaitDelay = leftGrace // a process left behind may hold the output open
	proc.Isolate(cmd)
	return cmd
}

// launch starts the command of the run; the run has an error where that fails.
func (x *started) launch() {
	x.begun = time.Now()
	done, err := proc.Start(x.cmd)
	if err != nil {
		x.r.Error = proc.Cause(err).Error()
		return
	}
	x.done, x.r.Pid, x.tree = done, x.cmd.Process.Pid, proc.NewTree(x.cmd.Process.Pid)
}

// wait waits for the end of a run and leaves none of its processes behind, which are among children.
func (s spec) wait(ctx context.Context, x *started, children proc.Children) {
	var timeout <-chan time.Time
	if s.Timeout > 0 {
		timeout = time.After(s.Timeout - x.spent)
	}
	goes := time.Now()
	if x.r.Held == nil {
		goes = x.begun
	}
	r, served := &x.r, (<-chan struct{})(nil)
	if x.server != nil {
		served = x.server.done
	}
	select {
	case <-x.done:
	case <-timeout:
		r.TimedOut = true
	case <-ctx.Done():
	case <-served:
		proc.Ended(x.done, runGrace) // its client has all answers
	}
	x.stop()
	if s.beside != nil {
		children = s.beside(children)
	}
	r.Duration = x.spent + time.Since(goes)
	select {
	case <-x.done:
		r.TimedOut = false
		x.unserve(!x.cmd.ProcessState.Success(), serverGrace, children)
		r.Left += children.EndLeft(leftGrace)
	default:
		if s.ask != nil {
			s.ask(x.done)
		}
		proc.Terminate(x.cmd, x.done, cmp.Or(s.grace, runGrace))
		x.unserve(true, runGrace, children)
		children.End()
		<-x.done
	}
	r.ExitCode, r.Signal = proc.Status(x.cmd.ProcessState)
	r.MemoryKills = host.Here().MemoryKills() - x.kills
	r.Output, r.Found, r.Units = x.out.String(), x.printed.end(), x.printed.units
	x.readResults(context.WithoutCancel(ctx))
	if r.Base {
		r.States[1] = stateOf(s.Base.Root)
	}
}

// readResults reads what a harness wrote in a run that has ended.
func (x *started) readResults(ctx context.Context) {
	if x.written == nil {
		return
	}
	defer os.RemoveAll(x.written.dir)
	if r := &x.r; r.Unprofiled && !r.failed() {
		session, err := x.written.read(ctx)
		if err != nil {
			r.Unread = err.Error()
			return
		}
		r.Harness, r.Results, r.Load, r.LeftOut = session.Tool, session.Series, session.Mode, session.LeftOut
	}
}
