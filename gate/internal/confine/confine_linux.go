package confine

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"

	"github.com/landlock-lsm/go-landlock/landlock"
	"golang.org/x/sys/unix"

	"github.com/nsgate/nsgate/gate/internal/proc"
)

// Files of the child beside its standard ones: where it says that it has come to its end, and the standard error of the
// command. Its own standard error takes what Go prints of a crash.
const (
	endFile = 3 + iota
	errorFile
)

// Run runs the arguments of a command in a child of this binary and returns its exit code. Once ctx has ended, the
// child gets the signal that by names. An [*Ended] error is that of a child that did not come to its end, any other
// one that no child could be started.
func Run(ctx context.Context, by func() os.Signal, hidden string, args []string, stdout, stderr *os.File) (code int,
	err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	from, to, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer from.Close()
	var words proc.Output
	cmd := exec.Command(self, append([]string{hidden, Arg}, args...)...)
	cmd.Args[0] = os.Args[0]
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = os.Stdin, stdout, &words, []*os.File{to, stderr}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	runtime.LockOSThread() // the child dies with the thread that started it
	defer runtime.UnlockOSThread()
	err = cmd.Start()
	to.Close()
	if err != nil {
		return 0, err
	}
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-ctx.Done():
			cmd.Process.Signal(by())
		case <-ended:
		}
	}()
	said := make([]byte, 1)
	n, _ := from.Read(said)
	cmd.Wait()
	if n == 1 {
		return int(said[0]), nil
	}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ctx.Err() != nil {
		if status.Signaled() {
			return 128 + int(status.Signal()), nil
		}
		return status.ExitStatus(), nil // it did not wait for its reading to end
	}
	return 0, diagnose(words.String(), cmd.ProcessState)
}

// Ask runs this binary with arguments whose main calls [Answer], and hands on its answers. An [*Ended] error is that of
// a child that did not come to its end. Where this binary does not run itself, or is such a child already, it calls
// read.
func Ask[Q, A any](ctx context.Context, args []string, l Limits, request Q, read func(Q, func(A) error) error,
	each func(A) error) error {
	self, err := os.Executable()
	if err != nil || confined || !proc.Guarded() {
		return read(request, each)
	}
	var asked, words = new(bytes.Buffer), proc.Output{}
	if err := gob.NewEncoder(asked).Encode(question[Q]{l, request}); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Args[0] = os.Args[0]
	cmd.Stdin, cmd.Stderr = asked, &words
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	runtime.LockOSThread() // the child dies with the thread that started it
	defer runtime.UnlockOSThread()
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil { // no child could be started
		return read(request, each)
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

// Child opens the standard error of the command, and returns what says at the end that the child came to its end.
func Child() (stderr *os.File, end func(code int)) {
	unix.CloseOnExec(endFile)
	unix.CloseOnExec(errorFile)
	stderr = os.NewFile(errorFile, os.Stderr.Name())
	return stderr, func(code int) { os.NewFile(endFile, "end").Write([]byte{byte(code)}) }
}

// confined is true once this process has confined itself.
var confined bool

// Self confines this process from now on. Where the kernel has no Landlock, or an older one, only what it has holds.
func Self(l Limits) error {
	confined = true
	var errs []error
	limit := func(which int, most uint64) {
		var old unix.Rlimit
		if err := unix.Getrlimit(which, &old); err != nil {
			errs = append(errs, err)
			return
		}
		most = min(most, old.Max)
		errs = append(errs, unix.Setrlimit(which, &unix.Rlimit{Cur: most, Max: most}))
	}
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
		errs = append(errs, unix.Setrlimit(unix.RLIMIT_CPU, &unix.Rlimit{Cur: seconds, Max: seconds + 5}))
	}
	dirs, files := slices.Clone(l.Dirs), []string{os.DevNull}
	for _, name := range l.Files {
		switch info, err := os.Stat(name); {
		case err != nil || info.Mode().IsRegular():
			dirs = append(dirs, filepath.Dir(name)) // a new file is made beside it and renamed
		case info.Mode()&fs.ModeDevice != 0:
			files = append(files, name)
		}
	}
	errs = append(errs, landlock.V5.BestEffort().Restrict(landlock.RODirs("/"), landlock.RWDirs(dirs...).IgnoreIfMissing(),
		landlock.RWFiles(files...).IgnoreIfMissing()))
	return errors.Join(errs...)
}
