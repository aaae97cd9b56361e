package collect

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"syscall"
	"time"

	"github.com/nsgate/nsgate/gate/measure"
)

// How long nsys may take to end after SIGINT, which lets it end the workload and finalise, and after SIGTERM.
var (
	interruptGrace = 5 * time.Second
	terminateGrace = 2 * time.Second
)

// record runs one nsys session in dir and returns the runs, all of which succeeded. When it returns, no descendant
// lives that is not in the set before.
func (p Plan) record(ctx context.Context, dir string, before processes, note func(Event)) ([]Run, error) {
	runtime.LockOSThread() // the session dies with the thread that started it
	defer runtime.UnlockOSThread()
	lifeline, err := hold(dir)
	if err != nil {
		return nil, privateError(err)
	}
	defer lifeline.Close()

	var log excerpt
	argv := p.profileCommand(dir)
	cmd := exec.Command(argv[0], argv[1:]...)
	// The runner gives the workload its own values back.
	if cmd.Env, err = profilerEnv(dir); err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = &log, &log
	cmd.WaitDelay = terminateGrace // a process that outlives nsys may hold its output open
	isolate(cmd)
	if err := cmd.Start(); err != nil {
		return nil, measure.Refuse("nsys could not be started: "+clean(err.Error(), dir), "check the nsys installation")
	}
	done := make(chan struct{})
	go func() { cmd.Wait(); close(done) }()
	defer end(before)
	defer stop(cmd, done, lifeline)

	journal := journal{path: journalIn(dir)}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	begun, quiet := time.Now(), time.Now() // quiet: since when nsys is on its own
	low, looked := room(dir), time.Now()   // the least room; nsys makes room again when it gives up
	hung := false
wait:
	for {
		select {
		case <-done:
			break wait
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-tick.C:
		}
		if time.Since(looked) > 100*time.Millisecond {
			low, looked = min(low, room(dir)), time.Now()
		}
		if lines := journal.next(); len(lines) > 0 {
			quiet = time.Now()
			report(lines, &journal, len(p.turns()), time.Since(begun), note)
		}
		// The runner ends a run that takes too long; without a timeout a run may take for ever.
		limit := p.Patience
		if journal.running {
			limit += p.Timeout
		}
		if (!journal.running || p.Timeout > 0) && time.Since(quiet) > limit {
			hung = true
			break wait
		}
	}
	report(journal.next(), &journal, len(p.turns()), time.Since(begun), note)
	runs, err := p.judge(ctx, &journal, cmd, hung, clean(log.String(), dir), reportIn(dir))
	if err != nil {
		err = blameRoom(err, min(low, room(dir)), log.String())
	}
	return runs, err
}

// report turns journal lines into progress.
func report(lines []line, j *journal, runs int, elapsed time.Duration, note func(Event)) {
	for _, l := range lines {
		e := Event{Stage: RunStarted, Run: l.Index}
		if l.Done {
			e.Stage = RunFinished
		}
		if n := len(j.runs); n > 0 {
			e.Expected = time.Duration(float64(elapsed) / float64(n) * float64(runs))
		}
		note(e)
		if l.Done && l.Index == runs {
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
	done := fmt.Sprintf("after %d of %d runs", len(j.runs), len(p.turns()))
	said := ""
	if s := lastLine(log); s != "" {
		said = ": " + s
	}
	const next = "check the nsys installation with nsgate doctor"
	switch {
	case hung:
		return nil, measure.Refuse(fmt.Sprintf("nsys did not finish within %v, %s%s", p.Patience, done, said), next)
	case len(j.runs) == 0 && unknownOption.MatchString(log):
		name := unknownOption.FindStringSubmatch(log)[1]
		return nil, &optionError{measure.Refuse("this nsys does not know the option "+name,
			"update nsys, or leave the option out of --nsys-arg"), name}
	case len(j.runs) < len(p.turns()):
		return nil, measure.Refuse(fmt.Sprintf("nsys ended %s (%s)%s", done, cmd.ProcessState, said), next)
	case !cmd.ProcessState.Success():
		return nil, measure.Refuse(fmt.Sprintf("nsys failed %s (%s)%s", done, cmd.ProcessState, said), next)
	}
	if info, err := os.Stat(report); err != nil || info.Size() == 0 {
		return nil, measure.Refuse("nsys wrote no report"+said, next)
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

func (p Plan) workloadError(index int, r Run) error {
	where := fmt.Sprintf("in run %d of %d", index, len(p.turns()))
	if r.Base {
		where += " (base build)"
	}
	reason, next := "", "run the workload by itself first, and make it exit with 0"
	switch {
	case r.Error != "":
		reason, next = fmt.Sprintf("the workload could not be started %s: %s", where, r.Error), "check its command"
	case r.TimedOut:
		reason = fmt.Sprintf("the workload did not end within %v %s", p.Timeout, where)
		next = "raise --timeout, or make the workload shorter"
	case r.Signal != "":
		reason = fmt.Sprintf("the workload was ended by a signal (%s) %s", r.Signal, where)
	default:
		reason = fmt.Sprintf("the workload exited with %d %s", r.ExitCode, where)
	}
	return &WorkloadError{Run: r, Index: index, Runs: len(p.turns()), refusal: measure.Refuse(reason, next)}
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
	killGroup(cmd)
	<-done
}
