//go:build linux

package rank

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/output"
	"github.com/nsgate/nsgate/gate/internal/proc"
	"github.com/nsgate/nsgate/gate/internal/terminal"
)

// passedOn are the signals that a launcher sends, which are for the program.
var passedOn = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1,
	syscall.SIGUSR2}

// Run runs the program as a rank of a job and returns its exit code, 128+n where a signal ended it. Signals that this
// process is sent go to the program, and to it alone. Where the program ended well and was not recorded, the code is
// [NotRecorded], and err says why; the same where it was not started.
func (o Options) Run(command []string) (code int, err error) {
	runtime.LockOSThread() // a process dies with the thread that started it
	defer runtime.UnlockOSThread()
	me, err := Identify(o.Getenv)
	if err != nil {
		return NotRecorded, err
	}
	r := &rank{Options: o, command: command, status: Status{Format: statusFormat, Identity: me}}
	if err := r.arrive(); err != nil {
		return NotRecorded, err
	}
	defer r.file.Close()
	r.signals = make(chan os.Signal, 16)
	signal.Notify(r.signals, passedOn...)
	defer signal.Stop(r.signals)

	err = measure.Either(r.status.Profiled, r.profile, r.plain)()
	if err != nil {
		r.status.Failure = measure.NormalizeLine(err.Error())
		if refusal := (*model.Refusal)(nil); errors.As(err, &refusal) {
			r.status.Failure, r.status.Next = refusal.Reason, refusal.Next
		}
	}
	r.status.End = time.Now().UTC()
	r.overtaken()
	r.status.Done = true
	if why := r.status.write(r.file); why != nil && err == nil && r.wanted() {
		err = fmt.Errorf("what became of this rank cannot be said in %s: %w", o.Gather, why)
	}
	code = measure.Either(r.status.ExitCode < 0, 128+r.number, r.status.ExitCode)
	if code == 0 && err != nil {
		code = NotRecorded
	}
	return code, err
}

// rank is one process of a job while it runs.
type rank struct {
	Options
	ordered bool // by whoever measures the job, who waits for it
	command []string
	status  Status
	file    *os.File // of the status
	signals chan os.Signal
	number  int // of the signal that ended the program
}

// arrive reads the order and creates the rank's file.
func (r *rank) arrive() error {
	if !jobName().MatchString(r.Job) {
		return fmt.Errorf("%q is no name for a job: letters, digits, dots, dashes and underscores", r.Job)
	}
	if info, err := os.Stat(r.Gather); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the gather directory %s %s: it must lie on a file system that all hosts of the job see; "+
			"try `srun ls -d DIRECTORY`, or make it first", r.Gather, NotHere)
	} else if err != nil || !info.IsDir() {
		return fmt.Errorf("the gather directory %s is no directory that can be used here: %v", r.Gather, err)
	}
	name := File(r.Gather, r.Job, r.status.Rank, StatusFile)
	var err error
	if r.file, err = output.New(name); errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("rank %d of job %s was there before: give each job a name of its own with --job, or remove "+
			"what the last one left in %s", r.status.Rank, r.Job, r.Gather)
	} else if err != nil {
		return fmt.Errorf("the gather directory cannot be written: %w; make room there, or choose another", err)
	}
	if err := r.obey(); err != nil {
		r.file.Close()
		os.Remove(name)
		return err
	}
	if err := r.status.write(r.file); err != nil {
		return fmt.Errorf("the gather directory cannot be written: %w; make room there, or choose another", err)
	}
	return nil
}

// obey takes the order of the job, if there is one. Its owner is compared with that of the status file: a network file
// system may know this user by another number.
func (r *rank) obey() error {
	info, err := r.file.Stat()
	if err != nil {
		return err
	}
	owner, _ := proc.Owner(info)
	order, err := readOrder(r.Gather, r.Job, owner)
	if err != nil {
		return fmt.Errorf("the order of this job cannot be used: %w", err)
	}
	if order != nil {
		r.Order, r.ordered = *order, true
	}
	r.status.Profiled = r.Profiles(r.status.Rank)
	return nil
}

// plain runs the program without a profiler.
func (r *rank) plain() error {
	cmd := exec.Command(r.command[0], r.command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	done, err := proc.Start(cmd)
	if err != nil {
		return r.notStarted(err)
	}
	r.attend(done, 0, func(s syscall.Signal) { cmd.Process.Signal(s) })
	r.ended(outcome(cmd.ProcessState))
	return nil
}

// attend passes signals on until done is closed, or the limit is over where it is not 0, and ends the program once the
// job is not waited for any more. It reports whether done is closed.
func (r *rank) attend(done <-chan struct{}, limit time.Duration, pass func(syscall.Signal)) bool {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	var late, end <-chan time.Time
	if limit > 0 {
		late = time.After(limit)
	}
	for {
		select {
		case <-done:
			return true
		case <-late:
			return false
		case s := <-r.signals:
			r.status.Told = true
			pass(s.(syscall.Signal))
		case <-look.C:
			if end == nil && !r.wanted() {
				r.status.Told = true
				pass(syscall.SIGTERM)
				end = time.After(endGrace)
			}
		case <-end:
			pass(syscall.SIGKILL)
		}
	}
}

// overtaken notes a signal that reached the program before this process: some launchers send it to all processes of a
// task.
func (r *rank) overtaken() {
	const signalGrace = 200 * time.Millisecond // how much later than the program this process may get a signal
	if !r.status.Failed() || r.status.Told {
		return
	}
	select {
	case <-r.signals:
		r.status.Told = true
	case <-time.After(signalGrace):
	}
}

// wanted reports whether who measures the job still waits for it: the directory of the job goes with the measurement.
func (r *rank) wanted() bool {
	if !r.ordered {
		return true
	}
	f, err := input.Open(OrderFile(r.Gather, r.Job)) // a network file system may keep in mind what stat says
	if err == nil {
		f.Close()
	}
	return !errors.Is(err, fs.ErrNotExist)
}

// ended notes how the program ended.
func (r *rank) ended(x ending) {
	r.status.ExitCode, r.status.Signal, r.number = x.Code, x.Signal, x.Number
}

// notStarted is the error of a program that could not be started, with the code of a shell.
func (r *rank) notStarted(err error) error {
	r.status.ExitCode = 127
	if e := (*exec.Error)(nil); errors.As(err, &e) {
		err = e.Err
	}
	return fmt.Errorf("the program %q cannot be started: %w", r.command[0], err)
}

// ending is how a program ended.
type ending struct {
	Code   int    `json:"code"` // -1 where a signal ended it
	Signal string `json:"signal"`
	Number int    `json:"number"` // of the signal
	Error  string `json:"error"`  // why it was not started, "" where it was
}

func outcome(s *os.ProcessState) ending {
	x := ending{}
	x.Code, x.Signal = proc.Status(s)
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		x.Number = int(w.Signal())
	}
	return x
}

// Program is the hidden mode of this binary that a profiler starts in front of a rank's program. It takes the program,
// and the rank's own standard streams, from the rank that waits in the private directory, and passes that rank's
// signals on.
func Program(private string) int {
	// leftGrace is how long processes that the program has left behind may take to end by themselves: the profiler
	// waits for them.
	const leftGrace = 500 * time.Millisecond
	runtime.LockOSThread() // the program dies with the thread that started it
	conn, err := proc.Knock(private)
	if err != nil {
		fmt.Fprintln(terminal.New(os.Stderr, terminal.Form{}), "nsgate rank:", err)
		return NotRecorded
	}
	defer conn.Close()
	files, err := proc.TakeOver(conn, 3)
	var t task
	in := json.NewDecoder(conn)
	if err == nil {
		err = in.Decode(&t)
	}
	if err != nil || len(t.Command) == 0 {
		fmt.Fprintln(terminal.New(os.Stderr, terminal.Form{}), "nsgate rank: no program was handed over:", err)
		return NotRecorded
	}
	// A signal to the whole process group is for the program, which gets it from the rank.
	signal.Notify(make(chan os.Signal, 1), passedOn...)
	children := proc.Adopt()
	cmd := exec.Command(t.Path, t.Command[1:]...)
	cmd.Args[0] = t.Command[0]
	cmd.Env = proc.Environ(t.Env) // with the profiler's variables
	cmd.Stdin, cmd.Stdout, cmd.Stderr = files[0], files[1], files[2]
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out := json.NewEncoder(conn)
	if err := cmd.Start(); err != nil {
		out.Encode(ending{Error: proc.Cause(err).Error()})
		return NotRecorded
	}
	for _, f := range files {
		f.Close()
	}
	go func() {
		for {
			var s int
			if in.Decode(&s) != nil { // the rank is gone
				cmd.Process.Kill()
				return
			}
			cmd.Process.Signal(syscall.Signal(s))
		}
	}()
	cmd.Wait()
	x := outcome(cmd.ProcessState)
	children.EndLeft(leftGrace)
	out.Encode(x)
	return measure.Either(x.Code < 0, 128+x.Number, x.Code)
}
