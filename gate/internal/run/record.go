package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/proc"
)

// How long nsys may take to end after SIGINT, which lets it end the workload and finalise, and after SIGTERM.
var (
	interruptGrace = 5 * time.Second
	terminateGrace = 2 * time.Second
)

// record runs one nsys session in dir and returns the runs, all of which succeeded. When it returns, none of
// children lives. nsys starts while the GPUs are looked at; the first run waits until they are fit.
func (p Plan) record(ctx context.Context, private *proc.Private, _ spec, children proc.Children, fit *look, note func(Event)) ([]Run, error) {
	runtime.LockOSThread() // the session dies with the thread that started it
	defer runtime.UnlockOSThread()
	dir := private.Path
	lifeline, err := proc.Hold(dir)
	if err != nil {
		return nil, proc.PrivateError(err)
	}
	defer lifeline.Close()

	var log proc.Output
	argv := p.profileCommand(dir)
	cmd := exec.Command(argv[0], argv[1:]...)
	// The runner gives the workload its own values back.
	if cmd.Env, err = private.Env(); err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = &log, &log
	cmd.WaitDelay = terminateGrace // a process that outlives nsys may hold its output open
	proc.Isolate(cmd)
	bare, bareDone, err := p.startBare(dir, cmd.Env)
	if err != nil {
		return nil, err
	}
	defer children.End()
	if bare != nil {
		defer stop(bare, bareDone, lifeline)
	}
	if err := cmd.Start(); err != nil {
		return nil, Reasons.Refuse("nsys-not-started", said(err.Error()))
	}
	done := make(chan struct{})
	go func() { cmd.Wait(); close(done) }()
	defer stop(cmd, done, lifeline)

	journal := journal{path: journalIn(dir)}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	begun, quiet := time.Now(), time.Now()    // quiet: since when nsys is on its own
	low, looked := proc.Room(dir), time.Now() // the least room; nsys makes room again when it gives up
	hung, waiting := false, fit.done
wait:
	for {
		select {
		case <-done:
			break wait
		case <-bareDone:
			bareDone = nil
			report(journal.next(), &journal, len(p.turns()), time.Since(begun), note)
			if n := len(journal.runs); n < len(p.turns()) && (n == 0 || !journal.runs[n-1].failed()) {
				return nil, Reasons.Refuse("bare-ended", n, len(p.turns()), bare.ProcessState)
			}
		case <-waiting:
			waiting, quiet = nil, time.Now()
			if fit.err != nil {
				return nil, fit.err
			}
			if err := open(dir); err != nil {
				return nil, err
			}
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-tick.C:
		}
		if time.Since(looked) > 100*time.Millisecond {
			low, looked = min(low, proc.Room(dir)), time.Now()
		}
		if lines := journal.next(); len(lines) > 0 {
			quiet = time.Now()
			report(lines, &journal, len(p.turns()), time.Since(begun), note)
		}
		// The runner ends a run that takes too long; without a timeout a run may take for ever.
		limit := p.Patience
		switch {
		case journal.running:
			limit += p.Timeout
		case len(journal.runs) == 0:
			limit = p.StartLimit
		}
		if waiting == nil && (!journal.running || p.Timeout > 0) && time.Since(quiet) > limit {
			hung = true
			break wait
		}
	}
	report(journal.next(), &journal, len(p.turns()), time.Since(begun), note)
	runs, err := p.judge(ctx, &journal, cmd, hung, log.String(), reportIn(dir))
	if err != nil {
		err = blameRoom(err, min(low, proc.Room(dir)), log.String())
	}
	return runs, err
}

// startBare starts the runner of the untraced runs beside nsys, nothing where there are none.
func (p Plan) startBare(dir string, env []string) (cmd *exec.Cmd, done chan struct{}, err error) {
	if p.Bare == 0 {
		return nil, nil, nil
	}
	cmd = exec.Command(p.Self, RunnerArg, specIn(dir), bareArg)
	cmd.Env = env
	cmd.WaitDelay = terminateGrace
	proc.Isolate(cmd)
	if err := cmd.Start(); err != nil {
		return nil, nil, fmt.Errorf("the untraced runs cannot be started: %w", err)
	}
	done = make(chan struct{})
	go func() { cmd.Wait(); close(done) }()
	return cmd, done, nil
}

// report turns journal lines into progress.
func report(lines []line, j *journal, runs int, elapsed time.Duration, note func(Event)) {
	for _, l := range lines {
		e := Event{Stage: RunStarted, Run: l.Index, Bare: l.Run.Bare}
		if l.Done {
			e.Stage = RunFinished
			if l.Run.failed() {
				e.Stage = RunFailed
			}
		}
		if n := len(j.runs); n > 0 {
			e.Expected = time.Duration(float64(elapsed) / float64(n) * float64(runs))
		}
		note(e)
		if l.Done && l.Index == runs && !l.Run.failed() {
			note(Event{Stage: Finishing, Run: runs})
		}
	}
}

// judge says whether the session that has ended can be read.
func (p Plan) judge(ctx context.Context, j *journal, cmd *exec.Cmd, hung bool, log, report string) ([]Run, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if n := len(j.runs); n > 0 && j.runs[n-1].failed() {
		return nil, p.workloadError(n, j.runs[n-1])
	}
	done, all := len(j.runs), len(p.turns())
	because := said(log)
	if because != "" {
		because = ": " + because
	}
	switch {
	case hung && done == 0 && !j.running:
		return nil, Reasons.Refuse("nsys-stuck", p.StartLimit, because)
	case hung:
		return nil, Reasons.Refuse("nsys-hangs", p.Patience, done, all, because)
	case done == 0 && p.GPUMetrics && gpuMetricsRefused(log) != "":
		return nil, Reasons.Refuse(gpuMetricsRefused(log))
	case done == 0 && unknownOption.MatchString(log):
		name := unknownOption.FindStringSubmatch(log)[1]
		return nil, &optionError{Reasons.Refuse("nsys-option", name), name}
	case done < all:
		return nil, Reasons.Refuse("nsys-ended", done, all, cmd.ProcessState, because)
	case !cmd.ProcessState.Success():
		return nil, Reasons.Refuse("nsys-failed", done, all, cmd.ProcessState, because)
	}
	if info, err := os.Stat(report); err != nil || info.Size() == 0 {
		return nil, Reasons.Refuse("no-report", because)
	}
	return j.runs, nil
}

var unknownOption = regexp.MustCompile(`(?i)unrecogni[sz]ed option '?(--?[a-z][a-z0-9-]*)`)

// optionError is the refusal of an option that nsys does not know.
type optionError struct {
	error
	name string
}

func (e *optionError) Unwrap() error { return e.error }

// where names a run in messages.
func (p Plan) where(index int, r Run) string {
	where := fmt.Sprintf("in run %d of %d", index, len(p.turns()))
	switch {
	case r.Base && r.Bare:
		where += " (base build, untraced)"
	case r.Base:
		where += " (base build)"
	case r.Bare:
		where += " (untraced)"
	}
	return where
}

func (p Plan) workloadError(index int, r Run) error {
	where := p.where(index, r)
	e := &WorkloadError{Run: r, Index: index, Runs: len(p.turns())}
	switch {
	case r.Error != "":
		e.refusal = Reasons.Refuse("workload-not-started", where, r.Error)
	case r.TimedOut:
		e.refusal = Reasons.Refuse("workload-timeout", p.Timeout, where)
	case r.Signal != "":
		e.refusal = Reasons.Refuse("workload-signal", r.Signal, where)
	case r.ExitCode == 0:
		e.refusal = p.outputError(r, where)
	default:
		e.refusal = Reasons.Refuse("workload-failed", r.ExitCode, where)
	}
	return e
}

// outputError says of a run that succeeded which output it did not print as it should.
func (p Plan) outputError(r Run, where string) error {
	i := r.misread()
	o := p.Outputs[i]
	pattern := strconv.Quote(o.Pattern)
	switch len(r.Found[i]) {
	case 0:
		return Reasons.Refuse("output-missing", strconv.Quote(o.Name), where, pattern)
	case 1:
		return Reasons.Refuse("output-no-number", strconv.Quote(o.Name), where, pattern)
	}
	return Reasons.Refuse("output-twice", strconv.Quote(o.Name), where, pattern)
}

// stop ends nsys, politely at first: it then ends the workload and cleans up after itself.
func stop(cmd *exec.Cmd, done <-chan struct{}, lifeline io.Closer) {
	lifeline.Close()
	for _, s := range []struct {
		signal syscall.Signal
		grace  time.Duration
	}{{syscall.SIGINT, interruptGrace}, {syscall.SIGTERM, terminateGrace}} {
		select {
		case <-done:
			return
		default:
		}
		cmd.Process.Signal(s.signal)
		select {
		case <-done:
			return
		case <-time.After(s.grace):
		}
	}
	proc.KillGroup(cmd)
	<-done
}

// noRoom are the words by which a program says that a file could not be written for want of room.
var noRoom = []string{"no space left", "disk is full", "disk full", "quota exceeded", "file too large", "file size limit exceeded"}

// leastRoom is so little that nsys cannot write any report, in bytes.
const leastRoom = 256 << 10

// crashRoom is so little that the library of nsys crashes the workload: seen with 16 MB, not with 64 MB.
const crashRoom = 64 << 20

// blameRoom says of a refusal, where it is for want of room in the private directory, which directory is full: nsys itself
// says it in its way or not at all, and its library in the workload crashes. low is the least room that there was, in
// bytes, said all that is known of the failure.
func blameRoom(err error, low int64, said string) error {
	var r *model.Refusal
	if !errors.As(err, &r) {
		return err
	}
	failed := (*WorkloadError)(nil)
	full := low < leastRoom
	if !errors.As(err, &failed) { // what the workload itself says of files is about its own
		said = strings.ToLower(said + " " + r.Reason)
		full = full || slices.ContainsFunc(noRoom, func(words string) bool { return strings.Contains(said, words) })
	}
	refusal := Reasons.Refuse("no-room", r.Reason)
	crashed := failed != nil && (failed.Run.Signal == syscall.SIGSEGV.String() || failed.Run.Signal == syscall.SIGBUS.String())
	switch {
	case !full && crashed && low < crashRoom:
		refusal = Reasons.Refuse("little-room", r.Reason, fmt.Sprintf("%.1f MB", float64(low)/1e6), r.Next)
	case !full:
		return err
	}
	if failed != nil {
		blamed := *failed
		blamed.refusal = refusal
		return &blamed
	}
	return refusal
}

// keepable makes the directory that keeps the raw report, before anything is measured for it.
func (p Plan) keepable() error {
	if p.KeepProfiles == "" {
		return nil
	}
	err := os.MkdirAll(p.KeepProfiles, 0o700)
	if err == nil {
		var f *os.File
		if f, err = os.CreateTemp(p.KeepProfiles, keptTemporary); err == nil {
			err = errors.Join(f.Close(), os.Remove(f.Name()))
		}
	}
	return keepError(err)
}

const keptTemporary = ".session-*"

// keepError says what cannot be done where profiles cannot be kept.
func keepError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("the profiles cannot be kept: %w; name a directory that can be written and has room, or leave it out", err)
}

// keep copies the raw report in dir to where the user wants it, whole or not at all.
func (p Plan) keep(dir string) error {
	if p.KeepProfiles == "" {
		return nil
	}
	from, err := os.Open(reportIn(dir))
	if err != nil {
		return nil // nsys wrote none
	}
	defer from.Close()
	to, err := os.CreateTemp(p.KeepProfiles, keptTemporary) // mode 0600
	if err != nil {
		return keepError(err)
	}
	defer os.Remove(to.Name())
	_, err = io.Copy(to, from)
	if err = errors.Join(err, to.Close()); err != nil {
		return keepError(err)
	}
	for i := 1; ; i++ {
		name := filepath.Join(p.KeepProfiles, fmt.Sprintf("session-%03d%s", i, reportExt))
		// A link takes no name that is taken. Not every file system has links.
		err := os.Link(to.Name(), name)
		if _, taken := os.Lstat(name); err != nil && taken != nil {
			err = os.Rename(to.Name(), name)
		} else if err != nil {
			continue
		}
		return keepError(err)
	}
}
