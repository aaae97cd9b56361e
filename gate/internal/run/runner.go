package run

import (
	"bytes"
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
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/nsgate/nsgate/gate/internal/proc"
	"github.com/nsgate/nsgate/gate/internal/rank"
	"github.com/nsgate/nsgate/gate/measure"
)

// RunnerArg is the first argument that makes the nsgate binary call [RunnerMain].
const RunnerArg = proc.HiddenArg

// spec is what the runner is told, through a file in the private directory: neither arguments nor environment carry
// anything that a process list could show.
type spec struct {
	Head    program            `json:"head"`
	Base    program            `json:"base"`    // zero without a base build
	Turns   []turn             `json:"turns"`   // the runs of both runners, in order
	Outputs []string           `json:"outputs"` // patterns of numbers in what untraced runs print
	Timeout time.Duration      `json:"timeout"`
	Clock   clock              `json:"clock"`
	Env     map[string]*string `json:"env"` // what nsys was given other values for; nil for unset

	grace time.Duration // between SIGTERM and SIGKILL, 0 for runGrace
	// ask, where not nil, asks a run to end in its own way, before it is sent a signal.
	ask func(done <-chan struct{})
}

// program is a build that can be started.
type program struct {
	Path    string   `json:"path"` // the resolved executable
	Command []string `json:"command"`
	Dir     string   `json:"dir"`
}

func (p Plan) spec() (s spec, err error) {
	s = spec{Turns: p.turns(), Timeout: p.Timeout, Clock: p.clock, Env: make(map[string]*string)}
	for _, o := range p.Outputs {
		if _, err := measure.CompileOutput(o.Pattern); err != nil {
			return spec{}, err
		}
		s.Outputs = append(s.Outputs, o.Pattern)
	}
	if s.Head, err = p.Head.program("the workload", "no-workload"); err != nil {
		return spec{}, err
	}
	if p.Base != nil {
		if s.Base, err = p.Base.program("the base build's workload", "no-base-workload"); err != nil {
			return spec{}, err
		}
	}
	for _, name := range []string{"LC_ALL", "TMPDIR"} {
		s.Env[name] = nil
		if v, ok := os.LookupEnv(name); ok {
			s.Env[name] = &v
		}
	}
	return s, nil
}

// program resolves the executable of a build as the shell would in the build's directory. what names the build in
// errors, key one of [Reasons] where it cannot be run.
func (b Build) program(what, key string) (program, error) {
	dir, err := filepath.Abs(b.Dir)
	if err != nil {
		return program{}, fmt.Errorf("the directory of %s: %w", what, err)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return program{}, fmt.Errorf("the directory of %s, %q, does not exist", what, b.Dir)
	}
	words := slices.Concat(b.Launcher, b.Command)
	path := words[0]
	if strings.ContainsRune(path, filepath.Separator) && !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	if path, err = exec.LookPath(path); err != nil {
		why := err
		if e := (*exec.Error)(nil); errors.As(err, &e) {
			why = e.Err
		}
		if e := (*os.PathError)(nil); errors.As(why, &e) {
			why = e.Err
		}
		return program{}, Reasons.Refuse(key, strconv.Quote(words[0]), why)
	}
	return program{Path: path, Command: b.Command, Dir: dir}, nil
}

func (s spec) write(dir string) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return os.WriteFile(specIn(dir), text, 0o600)
}

// open lets the runners begin that wait in dir.
func open(dir string) error {
	if err := os.WriteFile(openIn(dir), nil, 0o600); err != nil {
		return proc.PrivateError(err)
	}
	return nil
}

// awaitOpen waits until the runners may begin, and reports whether they may.
func awaitOpen(ctx context.Context, dir string) bool {
	for {
		if _, err := os.Stat(openIn(dir)); err == nil {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// How long a run may take to end after SIGTERM, and processes that it left behind to end by themselves.
const (
	runGrace  = 2 * time.Second
	leftGrace = 500 * time.Millisecond
)

// bareArg is the argument after the spec file that makes a runner the one of the untraced runs.
const bareArg = "bare"

// RunnerMain is the hidden mode in which nsys starts this binary: it runs the workload as often as the spec file
// args[0] says and writes the journal beside it. Two runners share a spec and its journal, that of the traced runs and that
// of the untraced ones (args[1]), and take turns. Each stops at the first run that fails, at a signal, and when the process
// that started the session is gone. The exit status is 0 where every run succeeded.
func RunnerMain(args []string) int {
	if len(args) == 2 && args[0] == proc.GuardArg {
		return proc.Guard(args[1])
	}
	if len(args) == 2 && args[0] == rank.ProgramArg {
		return rank.Program(args[1])
	}
	bare := len(args) == 2 && args[1] == bareArg
	if len(args) != 1 && !bare {
		fmt.Fprintln(os.Stderr, "nsgate: this mode is for nsgate itself")
		return 2
	}
	dir := filepath.Dir(args[0])
	var s spec
	text, err := os.ReadFile(args[0])
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err == nil && (len(s.Head.Command) == 0 || len(s.Base.Command) == 0 && slices.ContainsFunc(s.Turns, func(t turn) bool { return t.Base })) {
		err = errors.New("no command")
	}
	var file *os.File
	if err == nil {
		file, err = os.OpenFile(journalIn(dir), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "nsgate runner:", err)
		return 2
	}
	defer file.Close()

	runtime.LockOSThread() // a run dies with the thread that started it
	children := proc.Adopt()
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer cancel()
	orphaned := proc.WatchLifeline(dir)
	go func() { <-orphaned; cancel() }()

	shared := journal{path: journalIn(dir)}
	journal := json.NewEncoder(file)
	ok := true
	write := func(l line) {
		if err := journal.Encode(l); err != nil && ok {
			fmt.Fprintln(os.Stderr, "nsgate runner: the journal cannot be written:", errors.Unwrap(err))
			ok = false
		}
	}
	ok = awaitOpen(ctx, dir)
	for i := 0; ok && i < len(s.Turns) && ctx.Err() == nil; i++ {
		if s.Turns[i].Bare != bare {
			ok = shared.await(ctx, i+1)
			continue
		}
		r := s.run(ctx, s.Turns[i], children, func(r Run) { write(line{Index: i + 1, Run: r}) })
		if ctx.Err() != nil {
			break // not the workload's fault
		}
		write(line{Index: i + 1, Done: true, Run: r})
		ok = ok && !r.failed()
	}
	select {
	case <-orphaned: // nobody else will clean up
		proc.Clear(dir, 0)
	default:
	}
	if !ok || ctx.Err() != nil {
		return 1
	}
	return 0
}

// run runs the head or the base once and leaves none of its processes behind.
func (s spec) run(ctx context.Context, t turn, children proc.Children, started func(Run)) Run {
	p := s.Head
	if t.Base {
		p = s.Base
	}
	var out proc.Output
	printed := &printed{to: &out}
	if t.Bare {
		printed.look(s.Outputs)
	}
	cmd := exec.Command(p.Path, p.Command[1:]...)
	cmd.Args[0] = p.Command[0]
	cmd.Dir = p.Dir
	cmd.Env = os.Environ() // with what nsys has added
	for name, value := range s.Env {
		cmd.Env = proc.Setenv(cmd.Env, name, value)
	}
	cmd.Stdout, cmd.Stderr = printed, printed
	cmd.WaitDelay = leftGrace // a process left behind may hold the output open
	proc.Isolate(cmd)

	begun := time.Now()
	r := Run{Base: t.Base, Bare: t.Bare, Start: s.Clock.now()}
	if err := cmd.Start(); err != nil {
		for e := errors.Unwrap(err); e != nil; e = errors.Unwrap(e) {
			err = e // without the path
		}
		r.Error = err.Error()
		return r
	}
	r.Pid = cmd.Process.Pid
	started(r)
	done := make(chan struct{})
	go func() { cmd.Wait(); close(done) }()

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
		r.Left = endLeft(children)
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
	r.Output, r.Found = out.String(), printed.end()
	return r
}

// endLeft ends the processes that a finished run has left behind and returns how many did not end by themselves.
func endLeft(children proc.Children) int {
	for until := time.Now().Add(leftGrace); ; time.Sleep(10 * time.Millisecond) {
		n := len(children.Living())
		if n == 0 {
			return 0
		}
		if time.Now().After(until) {
			children.End()
			return n
		}
	}
}

// clock tells the time as Start and what has passed since, so that a system whose time is set meanwhile moves nothing. All
// processes of a session share one.
type clock struct {
	Start time.Time     `json:"start"`
	Since time.Duration `json:"since"` // what proc.Monotonic said at Start
}

func newClock() clock { return clock{time.Now().Round(0), proc.Monotonic()} }

func (c clock) now() time.Time { return c.Start.Add(proc.Monotonic() - c.Since) }

// line is one line of the journal: a run that began or ended.
type line struct {
	Index int  `json:"index"` // counted from 1
	Done  bool `json:"done"`
	Run   Run  `json:"run"`
}

// journal follows the file in which the runner writes down what it does.
type journal struct {
	path    string
	offset  int64
	rest    []byte // of a line that is not complete yet
	running bool   // a run has begun and not ended
	runs    []Run  // those that ended
}

// await waits until the run of this index has ended, and reports whether it succeeded.
func (j *journal) await(ctx context.Context, index int) bool {
	for len(j.runs) < index {
		j.next()
		select {
		case <-ctx.Done():
			return false
		case <-time.After(5 * time.Millisecond):
		}
	}
	return !j.runs[index-1].failed()
}

// next returns the lines that were added since the last call.
func (j *journal) next() []line {
	f, err := os.Open(j.path)
	if err != nil {
		return nil // not begun yet
	}
	defer f.Close()
	added, _ := io.ReadAll(io.NewSectionReader(f, j.offset, 1<<40))
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
		if j.running = !l.Done; l.Done {
			j.runs = append(j.runs, l.Run)
		}
		lines = append(lines, l)
	}
}
