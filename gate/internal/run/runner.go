package run

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/nsgate/nsgate/gate/internal/host"
	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/output"
	"github.com/nsgate/nsgate/gate/internal/proc"
	"github.com/nsgate/nsgate/gate/internal/rank"
	"github.com/nsgate/nsgate/gate/internal/terminal"
)

// spec is what the runner is told, through a file in the private directory: neither arguments nor environment carry
// anything that a process list could show.
type spec struct {
	Head     program            `json:"head"`
	Base     program            `json:"base"`     // zero without a base build
	Schedule []slot             `json:"schedule"` // the runs of both runners, in order
	Outputs  []string           `json:"outputs"`  // patterns of numbers in what unprofiled runs print
	Results  []string           `json:"results"`  // patterns of files that unprofiled runs write
	Dir      string             `json:"-"`        // the private directory
	Timeout  time.Duration      `json:"timeout"`
	Clock    clock              `json:"clock"`
	Env      map[string]*string `json:"env"` // what the profiler was given other values for; nil for unset

	grace time.Duration // between SIGTERM and SIGKILL, 0 for runGrace
	// ask, where not nil, asks a run to end in its own way, before it is sent a signal.
	ask func(done <-chan struct{})
}

func (p Plan) spec() (s spec, err error) {
	s = spec{Schedule: p.schedule(), Timeout: p.Timeout, Clock: p.clock, Env: proc.Replaced(), Results: p.Results}
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
		if s.Base, err = p.Base.program("the base build's workload", "check the command of the base, or build the base"); err != nil {
			if r := (*model.Refusal)(nil); errors.As(err, &r) {
				r.Kind = model.BaseFailed
			}
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

// RunnerMain is the hidden mode in which the profiler starts this binary: it runs the workload as often as the spec file
// args[0] says and writes the journal beside it. Two runners share a spec and its journal, that of the profiled runs
// and that of the unprofiled ones (args[1]), and take turns. Each stops at the first run that fails, at a signal, and
// when the process that started the session is gone. The exit status is 0 where every run succeeded.
func RunnerMain(args []string) int {
	switch {
	case len(args) == 2 && args[0] == proc.GuardArg:
		return proc.Guard(args[1])
	case len(args) == 2 && args[0] == rank.ProgramArg:
		return rank.Program(args[1])
	case len(args) == 1 && args[0] == gatheredArg:
		return readGathered()
	case len(args) == 1, len(args) == 2 && args[1] == unprofiledArg:
		return runner(args[0], len(args) == 2)
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
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer cancel()
	orphaned := proc.Released(lifelineIn(dir))
	go func() { <-orphaned; cancel() }()

	all := awaitOpen(ctx, dir) && s.runPart(ctx, unprofiled, children, &journal{path: journalIn(dir)}, json.NewEncoder(out))
	select {
	case <-orphaned: // nobody else will clean up
		proc.Clear(dir, 0)
	default:
	}
	if !all || ctx.Err() != nil {
		return 1
	}
	return 0
}

func readSpec(file string) (s spec, err error) {
	text, err := input.Read(file, 64<<20)
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	s.Dir = filepath.Dir(file)
	return s, err
}

// runPart runs the profiled or the unprofiled runs of the schedule, and waits while the other runner has its turn. It
// reports whether all runs succeeded.
func (s spec) runPart(ctx context.Context, unprofiled bool, children proc.Children, shared *journal, out *json.Encoder) bool {
	for i, slot := range s.Schedule {
		if ctx.Err() != nil {
			return false
		}
		if slot.Unprofiled != unprofiled {
			if !shared.await(ctx, i+1) {
				return false
			}
			continue
		}
		var unwritten error
		write := func(l line) { unwritten = cmp.Or(unwritten, out.Encode(l)) }
		r := s.run(ctx, slot, children, func(r Run) { write(line{Index: i + 1, Run: r}) })
		if ctx.Err() != nil {
			return false // not the workload's fault
		}
		write(line{Index: i + 1, Done: true, Run: r})
		if unwritten != nil {
			fmt.Fprintln(terminal.New(os.Stderr, terminal.Form{}), "nsgate runner: the journal cannot be written:",
				errors.Unwrap(unwritten))
			return false
		}
		if r.failed() {
			return false
		}
	}
	return true
}

// run runs the head or the base once and leaves none of its processes behind.
func (s spec) run(ctx context.Context, t slot, children proc.Children, started func(Run)) Run {
	p := s.Head
	if t.Base {
		p = s.Base
	}
	var out proc.Output
	printed := &printed{to: &out}
	if t.Unprofiled {
		printed.look(s.Outputs)
	}
	cmd := exec.Command(p.Path, p.Command[1:]...)
	cmd.Args[0] = p.Command[0]
	cmd.Dir = p.Dir
	cmd.Env = proc.Environ(s.Env) // with what the profiler has added
	var written *results
	if len(s.Results) > 0 {
		var err error
		if written, err = newResults(s.Results, s.Dir, p.Dir); err != nil {
			return Run{Base: t.Base, Unprofiled: t.Unprofiled, Error: proc.Cause(err).Error()}
		}
		defer written.close()
		cmd.Env = append(cmd.Env, strings.TrimPrefix(measure.RunDir, "$")+"="+written.dir)
		for i := range cmd.Args[1:] {
			cmd.Args[i+1] = written.expand(cmd.Args[i+1])
		}
	}
	cmd.Stdout, cmd.Stderr = printed, printed
	cmd.WaitDelay = leftGrace // a process left behind may hold the output open
	proc.Isolate(cmd)

	begun, kills := time.Now(), host.Here().MemoryKills()
	r := Run{Base: t.Base, Unprofiled: t.Unprofiled, Start: s.Clock.now()}
	done, err := proc.Start(cmd)
	if err != nil {
		r.Error = proc.Cause(err).Error()
		return r
	}
	r.Pid = cmd.Process.Pid
	started(r)

	var timeout <-chan time.Time
	if s.Timeout > 0 {
		timeout = time.After(s.Timeout)
	}
	select {
	case <-done:
	case <-timeout:
		r.TimedOut = true
	case <-ctx.Done():
	}
	select {
	case <-done:
		r.TimedOut = false
		r.Duration = time.Since(begun)
		r.Left = children.EndLeft(leftGrace)
	default:
		r.Duration = time.Since(begun)
		if s.ask != nil {
			s.ask(done)
		}
		proc.Terminate(cmd, done, cmp.Or(s.grace, runGrace))
		children.End()
		<-done
	}
	r.ExitCode, r.Signal = proc.Status(cmd.ProcessState)
	r.MemoryKills = host.Here().MemoryKills() - kills
	r.Output, r.Found = out.String(), printed.end()
	if written != nil && t.Unprofiled && !r.failed() {
		session, err := written.read()
		if err != nil {
			r.Unread = err.Error()
		} else {
			r.Harness, r.Results = session.Tool, session.Series
		}
	}
	return r
}
