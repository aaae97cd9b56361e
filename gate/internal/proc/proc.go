// Package proc runs child processes and private directories: output is bounded, and no process or file is left behind,
// however nsgate itself ends.
package proc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
)

// Run runs a program to its end, or until ctx ends: then its children are killed too. Its temporary files go to the
// directory tmp, to where others lie with "". The errors are those of [exec.Cmd.Run].
func Run(ctx context.Context, tmp string, stdout, stderr io.Writer, program string, args ...string) error {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	if tmp != "" {
		cmd.Env = append(cmd.Env, "TMPDIR="+tmp)
	}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	return Tool(cmd)
}

// Tool runs a command of [exec.CommandContext] to its end, or until its context ends: then its children are killed too.
func Tool(cmd *exec.Cmd) error {
	cmd.WaitDelay = 5 * time.Second // a process that it left behind may hold the output open
	killChildren(cmd)
	if err := tools.start(cmd); err != nil {
		return err
	}
	defer tools.ended(cmd)
	return cmd.Wait()
}

// Start starts a command; done is closed once it has ended.
func Start(cmd *exec.Cmd) (done chan struct{}, err error) {
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	done = make(chan struct{})
	go func() { cmd.Wait(); close(done) }()
	return done, nil
}

// EndLeft ends the children that a finished program has left behind, after the time that they have to end by
// themselves. It returns how many did not.
func (c Children) EndLeft(grace time.Duration) int {
	for until := time.Now().Add(grace); ; time.Sleep(10 * time.Millisecond) {
		n := len(c.Living())
		if n == 0 {
			return 0
		}
		if time.Now().After(until) {
			c.End()
			return n
		}
	}
}

// Cause is the innermost error, such as that of the system without a path.
func Cause(err error) error {
	for e := errors.Unwrap(err); e != nil; e = errors.Unwrap(e) {
		err = e
	}
	return err
}

// Missing says why [exec.LookPath] finds no program of a name or path.
func Missing(program string, err error) string {
	if filepath.Base(program) == program {
		return program + " was not found"
	}
	return fmt.Sprintf("%s cannot be run: %v", program, Cause(err))
}

// Raise names the limit of this user that an error is for, as a next step; "" for another error.
func Raise(err error) string {
	switch {
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return "raise the limit of open files (ulimit -n)"
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.ENOMEM):
		return "raise the limit of processes (ulimit -u) or of memory"
	}
	return ""
}

// Finish runs a command of [exec.CommandContext] to its end, and then ends whatever it has left behind. The end of the
// context sends its group the signal, and kills it after its WaitDelay. Only one Finish may run at a time in a process.
func Finish(cmd *exec.Cmd, signal os.Signal) error {
	runtime.LockOSThread() // the command dies with the thread that started it
	defer runtime.UnlockOSThread()
	children := Adopt()
	defer children.Release()
	defer children.End()
	Isolate(cmd)
	cmd.Cancel = func() error { SignalGroup(cmd, signal); return nil }
	if err := cmd.Run(); !errors.Is(err, exec.ErrWaitDelay) {
		return err
	}
	return nil // it succeeded, and something that it left behind holds its output open
}

// Terminate ends a command that [Isolate] has set up and its group, politely at first. done is closed once it has
// ended.
func Terminate(cmd *exec.Cmd, done <-chan struct{}, grace time.Duration) {
	SignalGroup(cmd, syscall.SIGTERM)
	if !Ended(done, grace) {
		SignalGroup(cmd, os.Kill)
	}
}

// Ended waits for the end of a command, or of the time that it has for that, and reports whether it has ended.
func Ended(done <-chan struct{}, grace time.Duration) bool {
	select {
	case <-done:
		return true
	case <-time.After(grace):
		return false
	}
}

// Replaced are the variables that [Private.Env] gives other values; nil for unset.
func Replaced() map[string]*string {
	vars := make(map[string]*string)
	for _, name := range []string{"LC_ALL", "TMPDIR"} {
		vars[name] = nil
		if v, ok := os.LookupEnv(name); ok {
			vars[name] = &v
		}
	}
	return vars
}

// Environ is the environment of this process with these variables, nil for unset.
func Environ(vars map[string]*string) []string {
	env := os.Environ()
	for name, value := range vars {
		env = Setenv(env, name, value)
	}
	return env
}

// Setenv sets a variable in a list of NAME=VALUE, or removes it where value is nil.
func Setenv(env []string, name string, value *string) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(e string) bool { return strings.HasPrefix(e, name+"=") })
	if value != nil {
		env = append(env, name+"="+*value)
	}
	return env
}

// OfMemory is a limit that the system derives from the memory of the host, which differs by some pages between hosts of
// one kind and releases of the kernel: of a large one the power of two counts.
func OfMemory(limit string) string {
	if n, err := strconv.ParseUint(limit, 10, 64); err == nil && n >= 10_000 {
		return "2^" + strconv.Itoa(bits.Len64(n))
	}
	return limit
}

// tools are the programs of [Run] and the guards that have not ended. They do not count as [Children].
var tools = toolSet{pids: make(map[int]bool)}

type toolSet struct {
	sync.Mutex // locked while a tool is started, so that it is never seen before it is registered
	pids       map[int]bool
}

func (t *toolSet) start(cmd *exec.Cmd) error {
	t.Lock()
	defer t.Unlock()
	err := cmd.Start()
	if err == nil {
		t.pids[cmd.Process.Pid] = true
	}
	return err
}

func (t *toolSet) ended(cmd *exec.Cmd) {
	t.Lock()
	defer t.Unlock()
	delete(t.pids, cmd.Process.Pid)
}

// MarkName is the variable that marks the processes of a session for a guard: its value is the private directory. The
// profiler itself gets it, and so do its daemons and the workload.
const MarkName = "NSGATE_SESSION"

func tmpIn(dir string) string { return filepath.Join(dir, "tmp") }

// How much of a program's output is kept, in bytes.
const (
	headBytes = 128 << 10
	tailBytes = 384 << 10
)

// Output keeps the beginning and the end of its input: a chatty program fills neither memory nor disk.
type Output struct {
	mu      sync.Mutex
	head    []byte
	tail    []byte // at most twice tailBytes between two cuts
	dropped int64
}

// Write never fails.
func (x *Output) Write(p []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	k := min(len(p), headBytes-len(x.head))
	x.head = append(x.head, p[:k]...)
	x.tail = append(x.tail, p[k:]...)
	if len(x.tail) > 2*tailBytes {
		x.cut()
	}
	return len(p), nil
}

func (x *Output) cut() {
	if over := len(x.tail) - tailBytes; over > 0 {
		x.dropped += int64(over)
		x.tail = append(x.tail[:0], x.tail[over:]...)
	}
}

// String returns the kept output as valid UTF-8, with a line that says how much is missing.
func (x *Output) String() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.cut()
	gap := ""
	if x.dropped > 0 {
		gap = fmt.Sprintf("\n[%d bytes left out]\n", x.dropped)
	}
	return strings.ToValidUTF8(string(x.head)+gap+string(x.tail), "\uFFFD")
}

// directories are an absolute path up to its last component, which says enough.
var directories = input.Pattern(`(?:[A-Za-z]:)?(?:[/\\][^/\\\s'":]+)+[/\\]`)

// Because is what the program [Said] as the end of a sentence: ": no space left on device".
func (o *Output) Because() string {
	if said := Said(o.String()); said != "" {
		return ": " + said
	}
	return ""
}

// Said is a program's own error message, without the machine's names, fit to be shown. It is the last line with words
// of the first output that has one, shortened; "" where none has. It is untrusted text.
func Said(outputs ...string) string {
	const longest = 200
	for _, output := range outputs {
		lines := strings.Split(output, "\n")
		for _, line := range slices.Backward(lines) {
			line = measure.NormalizeLine(directories().ReplaceAllString(line, ""))
			if !strings.ContainsFunc(line, func(r rune) bool { return r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' }) {
				continue
			}
			if runes := []rune(line); len(runes) > longest {
				line = string(runes[:longest]) + "…"
			}
			return strings.Trim(line, " .*")
		}
	}
	return ""
}
