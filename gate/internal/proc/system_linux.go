package proc

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Supported tells whether this system can keep processes together. Profiles can be judged everywhere, workloads be
// measured only where it can.
const Supported = true

// Isolate gives a command a session of its own, so that neither Ctrl-C nor terminal output stops reach it and its
// group can be signalled, and lets it die with the thread that starts it.
func Isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// SignalGroup sends a signal to a command that Isolate has set up, and to its group.
func SignalGroup(cmd *exec.Cmd, s os.Signal) {
	if s, ok := s.(syscall.Signal); ok {
		syscall.Kill(-cmd.Process.Pid, s)
	}
}

// Status is a run's exit code, or -1 and the signal that ended it.
func Status(s *os.ProcessState) (code int, sig string) {
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return -1, w.Signal().String()
	}
	return s.ExitCode(), ""
}

// processes is a set of processes; the start time tells a process from a later one with its pid.
type processes map[process]bool

type process struct {
	pid   int
	start uint64 // clock ticks since boot
}

func (p processes) pids() (out []int) {
	for x := range p {
		out = append(out, x.pid)
	}
	return out
}

// Children are the descendants of this process, without those from before Adopt, the programs of [Run], which end by
// themselves, and their descendants.
type Children struct{ before processes }

// Adopt makes this process the one that orphaned descendants fall to, so that a daemon cannot get away.
func Adopt() Children {
	c := Children{descendants(nil)}
	unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	return c
}

// Release undoes [Adopt] and buries the dead.
func (c Children) Release() {
	unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
	if childless() {
		return
	}
	for _, s := range stats() {
		if s.dead && s.parent == os.Getpid() && !c.before[s.process] {
			syscall.Wait4(s.pid, nil, syscall.WNOHANG, nil) // the init of a container may not do it
		}
	}
}

// Living returns the process ids of living children.
func (c Children) Living() []int { return descendants(c.before).pids() }

// End kills the children, and those that they start meanwhile.
func (c Children) End() { endAll(func() processes { return descendants(c.before) }) }

// stat is a line of /proc/PID/stat.
type stat struct {
	process
	parent  int
	session int
	dead    bool  // a zombie all of whose threads have ended
	stopped bool  // by a signal, or by a tracer
	used    int64 // CPU time of it and of the children that it has waited for, in clock ticks
}

func stats() (out []stat) {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer proc.Close()
	var buffer [1024]byte             // a line has at most 52 numbers
	names, _ := proc.Readdirnames(-1) // filepath.Glob would list the directory of every process too
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue // no process
		}
		// os.ReadFile makes four more system calls a file, and a machine has hundreds of processes.
		fd, err := unix.Open("/proc/"+name+"/stat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			continue // gone
		}
		n, _ := unix.Read(fd, buffer[:])
		unix.Close(fd)
		text := buffer[:max(0, n)]
		// pid (name) state ppid … starttime; the name may hold anything.
		fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
		if len(fields) < 20 {
			continue
		}
		var used int64
		for _, field := range fields[11:15] { // utime, stime, cutime, cstime
			n, _ := strconv.ParseInt(string(field), 10, 64)
			used += n
		}
		parent, _ := strconv.Atoi(string(fields[1]))
		start, _ := strconv.ParseUint(string(fields[19]), 10, 64)
		session, _ := strconv.Atoi(string(fields[3]))
		// A killed program's other threads may still close its GPU while its first is a zombie.
		ended := bytes.ContainsAny(fields[0], "ZX") && (string(fields[17]) == "1" || string(fields[17]) == "0")
		out = append(out, stat{process{pid, start}, parent, session, ended, bytes.ContainsAny(fields[0], "Tt"), used})
	}
	return out
}

// CPUTime is the CPU time that this process and its descendants have used, those included that have ended and fell to
// this process.
func CPUTime() time.Duration {
	var own, ended unix.Rusage
	unix.Getrusage(unix.RUSAGE_SELF, &own)
	unix.Getrusage(unix.RUSAGE_CHILDREN, &ended)
	total := time.Duration(own.Utime.Nano() + own.Stime.Nano() + ended.Utime.Nano() + ended.Stime.Nano())
	for _, s := range below(func(stat) bool { return true }) {
		total += time.Duration(s.used) * 10 * time.Millisecond
	}
	return total
}

// childless reports whether this process has no child, not even a dead one, and so nothing below it: most often, and
// then no process of the machine needs to be looked at.
func childless() bool {
	return unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT|unix.WALL, nil) == unix.ECHILD
}

// below lists the processes below this one that keep accepts, without those below a process that it does not.
func below(keep func(stat) bool) (found []stat) {
	if childless() {
		return nil
	}
	children := make(map[int][]stat)
	for _, s := range stats() {
		if keep(s) {
			children[s.parent] = append(children[s.parent], s)
		}
	}
	for queue := []int{os.Getpid()}; len(queue) > 0; queue = queue[1:] {
		for _, s := range children[queue[0]] {
			found = append(found, s)
			queue = append(queue, s.pid)
		}
	}
	return found
}

// descendants are the living processes below this one, without those of the set and the tools with their descendants.
func descendants(without processes) processes {
	tools.Lock()
	defer tools.Unlock()
	found := make(processes)
	for _, s := range below(func(s stat) bool { return !s.dead && !without[s.process] && !tools.pids[s.pid] }) {
		found[s.process] = true
	}
	return found
}

// sessionOf are the processes of the private directory dir, except this one: marked ones, and those with their
// temporary files there.
func sessionOf(dir string) processes {
	signs := [][]byte{[]byte(MarkName + "=" + dir), []byte("TMPDIR=" + dir), []byte("TMPDIR=" + tmpIn(dir))}
	found := make(processes)
	for _, s := range stats() {
		env, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", s.pid))
		for v := range bytes.SplitSeq(env, []byte{0}) {
			if s.pid != os.Getpid() && !s.dead && slices.ContainsFunc(signs,
				func(x []byte) bool { return bytes.Equal(x, v) }) {
				found[s.process] = true
			}
		}
	}
	return found
}

// awaitSession waits for the end of the processes of dir.
func awaitSession(dir string, grace time.Duration) {
	for until := time.Now().Add(grace); time.Now().Before(until) && len(sessionOf(dir)) > 0; {
		time.Sleep(20 * time.Millisecond)
	}
}

// endSession ends the processes of dir, politely at first.
func endSession(dir string) {
	for p := range sessionOf(dir) {
		syscall.Kill(p.pid, syscall.SIGTERM)
	}
	awaitSession(dir, EndGrace)
	endAll(func() processes { return sessionOf(dir) })
}

func endAll(find func() processes) {
	for range 500 {
		living := find()
		if len(living) == 0 {
			return
		}
		for p := range living {
			syscall.Kill(p.pid, syscall.SIGKILL)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// Detach gives a command a session of its own, which nothing that ends this process's group or terminal reaches.
func Detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// ignoreSignals lets this process outlive the signals that end its owner.
func ignoreSignals() {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE)
}

// lockDir locks a directory until the result is closed or this process is gone. Where another holds the lock it waits,
// or fails. Children do not inherit it.
func lockDir(dir string, wait bool) (io.Closer, error) {
	d, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	how := syscall.LOCK_EX
	if !wait {
		how |= syscall.LOCK_NB
	}
	for {
		err = syscall.Flock(int(d.Fd()), how)
		if err != syscall.EINTR {
			break
		}
	}
	if err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// Monotonic is the time of a clock that all processes share and that cannot be set.
func Monotonic() time.Duration {
	var t unix.Timespec
	unix.ClockGettime(unix.CLOCK_MONOTONIC, &t)
	return time.Duration(t.Nano())
}

// Room is how much can still be written to the file system of a directory, in bytes.
func Room(dir string) int64 {
	var s unix.Statfs_t
	if unix.Statfs(dir, &s) != nil {
		return math.MaxInt64
	}
	if s.Files > 0 && s.Ffree == 0 {
		return 0
	}
	return int64(s.Bavail) * s.Bsize
}

// bootID names the time since this machine was started, "" where that is not known.
func bootID() string {
	text, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return string(bytes.TrimSpace(text))
}

// Owner is the user who owns a file, where that is known.
func Owner(info fs.FileInfo) (uid int, known bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(s.Uid), true
}

// Changed names the inode of a file and its time of change.
func Changed(info fs.FileInfo) string {
	s := info.Sys().(*syscall.Stat_t)
	return fmt.Sprint(s.Ino, s.Ctim.Nano())
}

// Hold makes a named pipe that this process holds open for writing. Its readers see the end when this process closes
// it, or is gone in whatever way.
func Hold(name string) (io.Closer, error) {
	if err := unix.Mkfifo(name, 0o600); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(name), err)
	}
	return os.OpenFile(name, os.O_RDWR, 0) // opening for writing only would wait for the reader
}

// Released returns a channel that is closed when no process holds a named pipe of [Hold].
func Released(name string) <-chan struct{} {
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			return
		}
		defer f.Close()
		io.Copy(io.Discard, f)
	}()
	return gone
}

// CommandName is the first argument of a running process, "" where it is not to be seen.
func CommandName(pid int) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	name, _, _ := bytes.Cut(text, []byte{0})
	return string(name)
}
