package collect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/nsgate/nsgate/gate/measure"
)

// RunnerArg is the first argument that makes the nsgate binary call [RunnerMain].
const RunnerArg = "__run"

// spec is what the runner is told, through a file in the private directory: neither arguments nor environment carry
// anything that a process list could show.
type spec struct {
	Head    program            `json:"head"`
	Base    program            `json:"base"`  // zero without a base build
	Turns   []bool             `json:"turns"` // of each run: whether it is one of the base
	Timeout time.Duration      `json:"timeout"`
	Clock   clock              `json:"clock"`
	Env     map[string]*string `json:"env"` // what nsys was given other values for; nil for unset
}

// program is a build that can be started.
type program struct {
	Path    string   `json:"path"` // the resolved executable
	Command []string `json:"command"`
	Dir     string   `json:"dir"`
}

func (p Plan) spec() (s spec, err error) {
	s = spec{Turns: p.turns(), Timeout: p.Timeout, Clock: p.clock, Env: make(map[string]*string)}
	if s.Head, err = p.Head.program("the workload", "check the command after --, and build the workload first"); err != nil {
		return spec{}, err
	}
	if p.Base != nil {
		s.Base, err = p.Base.program("the base build's workload", "check --base-cmd, or build the base with --build")
		if err != nil {
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
// errors, next says what to do about one.
func (b Build) program(what, next string) (program, error) {
	dir, err := filepath.Abs(b.Dir)
	if err != nil {
		return program{}, fmt.Errorf("the directory of %s: %w", what, err)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return program{}, fmt.Errorf("the directory of %s, %q, does not exist", what, b.Dir)
	}
	path := b.Command[0]
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
		return program{}, measure.Refuse(fmt.Sprintf("%s %q cannot be run: %v", what, b.Command[0], why), next)
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

// setenv sets a variable in a list of NAME=VALUE, or removes it where value is nil.
func setenv(env []string, name string, value *string) []string {
	out := make([]string, 0, len(env)+1)
	for _, e := range env {
		if !strings.HasPrefix(e, name+"=") {
			out = append(out, e)
		}
	}
	if value != nil {
		out = append(out, name+"="+*value)
	}
	return out
}

// profilerEnv is the environment in which a profiler works for the private directory dir: it speaks English and has a
// directory for temporary files of its own, where ncu's lock is not that of another user.
func profilerEnv(dir string) ([]string, error) {
	tmp := tmpIn(dir)
	if err := os.Mkdir(tmp, 0o700); err != nil {
		return nil, privateError(err)
	}
	return mark(setenv(setenv(os.Environ(), "LC_ALL", new("C")), "TMPDIR", &tmp), dir), nil
}

// How long a run may take to end after SIGTERM, and processes that it left behind to end by themselves.
const (
	runGrace  = 2 * time.Second
	leftGrace = 500 * time.Millisecond
)

// RunnerMain is the hidden mode in which nsys starts this binary: it runs the workload as often as the spec file
// args[0] says and writes the journal beside it. It stops at the first run that fails, at a signal, and when the
// process that started the session is gone. The exit status is 0 where every run succeeded.
func RunnerMain(args []string) int {
	if len(args) == 2 && args[0] == guardArg {
		return guardMain(args[1])
	}
	if len(args) != 1 {
		fmt.Fprintln(os.Stderr, "nsgate: this mode is for nsgate itself")
		return 2
	}
	dir := filepath.Dir(args[0])
	var s spec
	text, err := os.ReadFile(args[0])
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err == nil && (len(s.Head.Command) == 0 || len(s.Base.Command) == 0 && slices.Contains(s.Turns, true)) {
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
	before, _ := adopt()
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer cancel()
	orphaned := watchLifeline(dir)
	go func() { <-orphaned; cancel() }()

	journal := json.NewEncoder(file)
	ok := true
	write := func(l line) {
		if err := journal.Encode(l); err != nil && ok {
			fmt.Fprintln(os.Stderr, "nsgate runner: the journal cannot be written:", errors.Unwrap(err))
			ok = false
		}
	}
	for i := 0; ok && i < len(s.Turns) && ctx.Err() == nil; i++ {
		r := s.run(ctx, s.Turns[i], before, func(r Run) { write(line{Index: i + 1, Run: r}) })
		if ctx.Err() != nil {
			break // not the workload's fault
		}
		write(line{Index: i + 1, Done: true, Run: r})
		ok = ok && !r.failed()
	}
	select {
	case <-orphaned: // nobody else will clean up
		endSession(dir, 0)
		removePrivate(dir)
	default:
	}
	if !ok || ctx.Err() != nil {
		return 1
	}
	return 0
}

// run runs the head or the base once and leaves none of its processes behind.
func (s spec) run(ctx context.Context, base bool, before processes, started func(Run)) Run {
	p := s.Head
	if base {
		p = s.Base
	}
	var out excerpt
	cmd := exec.Command(p.Path, p.Command[1:]...)
	cmd.Args[0] = p.Command[0]
	cmd.Dir = p.Dir
	cmd.Env = os.Environ() // with what nsys has added
	for name, value := range s.Env {
		cmd.Env = setenv(cmd.Env, name, value)
	}
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = leftGrace // a process left behind may hold the output open
	isolate(cmd)

	begun := time.Now()
	r := Run{Base: base, Start: s.Clock.now()}
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
		r.Left = endLeft(before)
	default:
		r.Duration = time.Since(begun)
		terminate(cmd, done, runGrace)
		end(before)
		<-done
	}
	r.ExitCode, r.Signal = status(cmd.ProcessState)
	r.Output = out.String()
	return r
}

// terminate ends a command and its group, politely at first. done is closed once the command has ended.
func terminate(cmd *exec.Cmd, done <-chan struct{}, grace time.Duration) {
	terminateGroup(cmd)
	select {
	case <-done:
	case <-time.After(grace):
		killGroup(cmd)
	}
}

// endLeft ends the processes that a finished run has left behind and returns how many did not end by themselves.
func endLeft(before processes) int {
	for until := time.Now().Add(leftGrace); ; time.Sleep(10 * time.Millisecond) {
		n := len(descendants(before))
		if n == 0 {
			return 0
		}
		if time.Now().After(until) {
			end(before)
			return n
		}
	}
}
