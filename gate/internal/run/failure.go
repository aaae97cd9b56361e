package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/nsgate/nsgate/gate/internal/model"
)

// judge says whether the session that has ended can be read.
func (x *profiler) judge(ctx context.Context) ([]Run, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	runs := x.journal.runs
	if n := len(runs); n > 0 && runs[n-1].failed() {
		return nil, x.workloadError(n, runs[n-1])
	}
	log, done := x.log.String(), len(runs)
	because := said(log)
	if because != "" {
		because = ": " + because
	}
	switch {
	case x.phase == hung && x.last == starting:
		return nil, Reasons.Refuse("nsys-stuck", x.StartLimit, because)
	case x.phase == hung:
		return nil, Reasons.Refuse("nsys-hangs", x.FinishLimit, done, x.runs, because)
	case done == 0 && x.GPUMetrics && gpuMetricsRefused(log) != "":
		return nil, Reasons.Refuse(gpuMetricsRefused(log))
	case done == 0 && unknownOption.MatchString(log):
		name := unknownOption.FindStringSubmatch(log)[1]
		return nil, &optionError{Reasons.Refuse("nsys-option", name), name}
	}
	state := x.nsys.cmd.ProcessState
	switch {
	case done < x.runs:
		return nil, Reasons.Refuse("nsys-ended", done, x.runs, state, because)
	case !state.Success():
		return nil, Reasons.Refuse("nsys-failed", done, x.runs, state, because)
	}
	if info, err := os.Stat(reportIn(x.dir)); err != nil || info.Size() == 0 {
		return nil, Reasons.Refuse("no-report", because)
	}
	return runs, nil
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
	where := fmt.Sprintf("in run %d of %d", index, len(p.schedule()))
	switch {
	case r.Base && r.Unprofiled:
		where += " (base build, unprofiled)"
	case r.Base:
		where += " (base build)"
	case r.Unprofiled:
		where += " (unprofiled)"
	}
	return where
}

func (p Plan) workloadError(index int, r Run) error {
	where := p.where(index, r)
	e := &WorkloadError{Run: r, Index: index, Runs: len(p.schedule())}
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
