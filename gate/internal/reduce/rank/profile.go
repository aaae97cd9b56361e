//go:build linux

package rank

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/output"
	"github.com/nsgate/nsgate/gate/internal/proc"
	"github.com/nsgate/nsgate/gate/internal/reduce/trace"
	"github.com/nsgate/nsgate/gate/internal/run/profiler"
	"github.com/nsgate/nsgate/gate/internal/run/tools"
)

// patience is how long a profiler may take to start the program, and to finish after it.
var patience = 10 * time.Minute

// task is the program, for the process that the profiler starts in front of it.
type task struct {
	Path    string             `json:"path"`
	Command []string           `json:"command"`
	Env     map[string]*string `json:"env"` // variables that the profiler was given other values for; nil for unset
}

// profile runs the program under the profiler, in a session of its own. The end of the process group or the terminal of
// this process must not end the profiler before it has written.
func (r *rank) profile() error {
	path, err := exec.LookPath(r.command[0])
	if err != nil {
		return r.notStarted(err)
	}
	by := tools.Profiler(r.Profiler)
	if by == nil {
		return fmt.Errorf("this nsgate knows no profiler %q: use the same release on all hosts", r.Profiler)
	}
	tool := by.Tool()
	exe, err := exec.LookPath(cmp.Or(r.Exe, tool.Name))
	if err != nil {
		return fmt.Errorf("%s was not found on the host of this rank; install %s there, or give its path", tool.Name,
			tool.Product)
	}
	self := r.Self
	if self == "" {
		if self, err = os.Executable(); err != nil {
			return err
		}
	}
	err = r.record(by, exe, self, path)
	if again, _ := by.Repeat(r.Options.Options, err); again != nil && again.Doing == "" { // it started nothing
		r.Options.Options = again.Options
		err = r.record(by, exe, self, path)
	}
	return err
}

// record runs the program at a path under the profiler exe. self is the executable that the profiler starts.
func (r *rank) record(by profiler.Profiler, exe, self, path string) error {
	tool, children := by.Tool(), proc.Adopt()
	defer children.Release()
	private, err := proc.NewPrivate(self)
	if err != nil {
		return err
	}
	defer private.Close()
	door, err := proc.OpenDoor(private.Path)
	if err != nil {
		return proc.PrivateError(err)
	}
	defer door.Close()
	defer children.End()

	var log proc.Output
	stem := filepath.Join(private.Path, "rank")
	report := stem + tool.Suffix
	record := by.Commands(profiler.Task{Options: r.Options.Options, Exe: exe, Stem: stem,
		Program: []string{self, proc.HiddenArg, ProgramArg, private.Path}})[0]
	cmd, err := r.profiler(tool, record, private, &log)
	if err != nil {
		return err
	}
	done, err := proc.Start(cmd)
	if err != nil {
		return fmt.Errorf("%s could not be started: %w", tool.Name, err)
	}
	ending, err := r.follow(by, door, task{Path: path, Command: r.command, Env: proc.Replaced()}, done, &log)
	if err != nil {
		return err
	}
	r.ended(ending)
	switch {
	case ending.Error != "":
		return r.notStarted(errors.New(ending.Error))
	case r.ordered && r.status.Failed():
		return nil // the job failed, and its recording is not needed
	}
	if !r.attend(done, patience, func(syscall.Signal) {}) { // signals are for the program, which has ended
		return fmt.Errorf("%s did not finish within %v after the program%s", tool.Name, patience, log.Because())
	}
	if info, err := os.Stat(report); err != nil || info.Size() == 0 {
		return fmt.Errorf("%s wrote no report (%v)%s", tool.Name, cmd.ProcessState, log.Because())
	}
	return r.leave(by, exe, report, private.Path)
}

// profiler is the process of the profiler around this binary, which starts the program.
func (r *rank) profiler(tool profiler.Tool, record []string, private *proc.Private, log *proc.Output) (cmd *exec.Cmd,
	err error) {
	cmd = exec.Command(record[0], record[1:]...)
	if cmd.Env, err = private.Env(); err != nil {
		return nil, err
	}
	if len(r.Ranks) > 0 && tool.SomeRanks != "" {
		cmd.Env = proc.Setenv(cmd.Env, tool.SomeRanks, new("1"))
	}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.WaitDelay = 2 * time.Second // a process that outlives the profiler may hold its output open
	proc.Isolate(cmd)
	return cmd, nil
}

// follow waits for the process that the profiler starts, tells it the program, and passes signals on until that has
// ended.
func (r *rank) follow(by profiler.Profiler, door *net.UnixListener, t task, done <-chan struct{},
	log *proc.Output) (ending, error) {
	came := make(chan *net.UnixConn, 1)
	go func() {
		if c, err := door.AcceptUnix(); err == nil {
			came <- c
		}
	}()
	var conn *net.UnixConn
	name := by.Tool().Name
	select {
	case conn = <-came:
	case s := <-r.signals:
		r.status.Told = true
		n := s.(syscall.Signal)
		return ending{Code: -1, Signal: n.String(), Number: int(n)}, nil
	case <-done:
		if err := by.Refusal(r.Options.Options, log.String()); err != nil {
			return ending{}, err
		}
		return ending{}, fmt.Errorf("%s ended before it started the program%s", name, log.Because())
	case <-time.After(patience):
		return ending{}, fmt.Errorf("%s did not start the program within %v%s", name, patience, log.Because())
	}
	defer conn.Close()
	if err := errors.Join(proc.HandOver(conn, os.Stdin, os.Stdout, os.Stderr),
		json.NewEncoder(conn).Encode(t)); err != nil {
		return ending{}, fmt.Errorf("the program cannot be handed to %s: %w", name, err)
	}
	var x ending
	told := make(chan struct{})
	var err error
	go func() {
		defer close(told)
		err = json.NewDecoder(conn).Decode(&x)
	}()
	r.attend(told, 0, func(s syscall.Signal) { json.NewEncoder(conn).Encode(int(s)) })
	if err != nil {
		return x, fmt.Errorf("%s ended while the program ran%s", name, log.Because())
	}
	return x, nil
}

// leave exports the report, which goes at once, and lays the export where those of the other ranks lie.
func (r *rank) leave(by profiler.Profiler, exe, report, private string) error {
	limited, cancel := context.WithTimeoutCause(context.Background(), patience,
		fmt.Errorf("%s did not export its report within %v", by.Tool().Name, patience))
	defer cancel()
	export, err := by.Export(limited, exe, report, private)
	if limited.Err() != nil {
		err = context.Cause(limited)
	}
	os.Remove(report)
	if err != nil {
		return err
	}
	suffix, write := ExportFile, func(w io.Writer) error {
		in, err := input.Open(export)
		if err != nil {
			return err
		}
		defer in.Close()
		_, err = io.Copy(w, in)
		return err
	}
	if fragment := r.fragment(limited, by, export); fragment != nil {
		suffix, write = FragmentFile, func(w io.Writer) error { _, err := w.Write(fragment); return err }
	}
	if err := output.Whole(File(r.Gather, r.Job, r.status.Rank, suffix), 0o600, write); err != nil {
		return model.Refuse(model.Gather, "make room there, or choose another",
			"its export cannot be written to the gather directory: %s", proc.Cause(err))
	}
	return nil
}

// fragment is the fragment of an export, nil for one that is kept or cannot be read: whoever reads the job says why.
func (r *rank) fragment(ctx context.Context, by profiler.Profiler, export string) []byte {
	if r.Keep {
		return nil
	}
	traces, err := by.Read(ctx, export, export)
	if err != nil {
		return nil
	}
	out, err := Fragment(traces, trace.Options{Step: r.Step, Warmup: r.Warmup})
	if err != nil {
		return nil
	}
	return out
}
