package confine

import (
	"bytes"
	"cmp"
	"context"
	"encoding/gob"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"

	"github.com/landlock-lsm/go-landlock/landlock"
	"golang.org/x/sys/unix"
	"kernel.org/pub/linux/libs/security/libcap/psx"

	"github.com/nsgate/nsgate/gate/internal/proc"
)

// inherited are the variables that a child gets. No other one: a token of the job may be among them.
var inherited = []string{"GOMAXPROCS", "GOMEMLIMIT", "TMPDIR", "TZ"}

// Ask runs this binary as a child that calls the function of a mode, and hands on its answers. An [*Ended] error is
// that of a child that did not come to its end. Where this binary does not run itself, or is such a child already, it
// calls the function here.
func Ask[Q, A any](ctx context.Context, mode string, l Limits, request Q, each func(A) error) error {
	read := readers[mode].read.(func(Q, context.Context, func(A) error) error)
	switch {
	case confined, !proc.Guarded():
		return read(request, ctx, each)
	case os.Getenv(proc.ChildMark) != "":
		doubt(proc.ChildMark + " is set")
		return read(request, ctx, each)
	}
	var asked, words = new(bytes.Buffer), proc.Output{}
	if err := gob.NewEncoder(asked).Encode(question[Q]{l, request}); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	// This binary, also where its name has another one now.
	cmd := exec.CommandContext(ctx, "/proc/self/exe", proc.HiddenArg, mode)
	cmd.Args[0], cmd.Env = os.Args[0], []string{proc.ChildMark + "=1"}
	for _, name := range inherited {
		if value, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	cmd.Stdin, cmd.Stderr, cmd.SysProcAttr = asked, &words, &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err == nil {
		runtime.LockOSThread() // the child dies with the thread that started it
		defer runtime.UnlockOSThread()
		err = cmd.Start()
	}
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		doubt("no process could be started: " + proc.Cause(err).Error())
		return read(request, ctx, each)
	}
	err = receive(out, each)
	if e := (*Ended)(nil); errors.As(err, &e) {
		cmd.Wait()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return diagnose(words.String(), cmd.ProcessState)
	}
	stop()
	cmd.Wait()
	return err
}

// closeInherited closes the descriptors that the parent itself had inherited, such as the log of a shell or the pipes
// of make: those of Go close themselves when a program starts.
func closeInherited() {
	open, _ := os.ReadDir("/proc/self/fd")
	for _, entry := range open {
		fd, err := strconv.Atoi(entry.Name())
		flags, closed := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if err == nil && closed == nil && fd > unix.Stderr && flags&unix.FD_CLOEXEC == 0 {
			unix.Close(fd)
		}
	}
}

// restrict is replaced by tests.
var restrict = restrictCalls

// confined is true once this process has confined itself.
var confined bool

// Self confines this process from now on. An error says why it can do more than read.
func Self(l Limits) error {
	confined = true
	closeInherited()
	limit := func(which int, most uint64) {
		var old unix.Rlimit
		if unix.Getrlimit(which, &old) == nil {
			most = min(most, old.Max)
			unix.Setrlimit(which, &unix.Rlimit{Cur: most, Max: most})
		}
	}
	limit(unix.RLIMIT_CORE, 0)
	if l.Memory > 0 {
		limit(unix.RLIMIT_AS, uint64(l.Memory))
	}
	if l.CPU > 0 {
		// Go ignores the signal of the soft limit; that of the hard one says nothing.
		spent := make(chan os.Signal, 1)
		signal.Notify(spent, syscall.SIGXCPU)
		go func() {
			<-spent
			syscall.Write(syscall.Stderr, []byte(cpuSpent))
			os.Exit(2)
		}()
		seconds := uint64(l.CPU.Seconds())
		unix.Setrlimit(unix.RLIMIT_CPU, &unix.Rlimit{Cur: seconds, Max: seconds + 5})
	}
	// The second line behind the filter of system calls, which cannot tell environments of processes in /proc from
	// files. Where the kernel has more than version 1, it does more.
	err := landlock.V1.Restrict(landlock.RODirs("/"))
	landlock.V8.BestEffort().Restrict(landlock.RODirs("/"))
	return cmp.Or(err, powerless(), restrict())
}

// powerless takes the rights of root from this process but those to read files: CAP_PERFMON reads other processes
// despite Landlock.
func powerless() error {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	for _, kept := range []uint32{1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_DAC_READ_SEARCH, 0} {
		rights := [2]unix.CapUserData{{Effective: kept, Permitted: kept}}
		_, _, errno := psx.Syscall3(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&head)),
			uintptr(unsafe.Pointer(&rights[0])), 0)
		if errno == 0 {
			return nil
		}
	}
	return errors.New("it keeps the rights of root")
}
