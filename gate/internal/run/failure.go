package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// removed is the refusal of a session whose private directory is gone, nil while it is there.
func (x *processes) removed() error {
	if _, err := os.Stat(x.dir); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return model.Refuse(model.ProfilerFailed,
		"let neither the workload nor what cleans the directory for temporary files remove nsgate-*, or set TMPDIR",
		"the private directory of the session was removed while it measured")
}

// judge says whether the session that has ended can be read.
func (x *processes) judge(ctx context.Context) ([]Run, error) {
	if ctx.Err() != nil && !x.cut {
		return nil, context.Cause(ctx)
	}
	if err := x.removed(); err != nil {
		return nil, err
	}
	runs := x.journal.runs
	if n := len(runs); n > 0 && runs[n-1].failed() {
		return nil, x.workloadError(n, runs[n-1], x.programError(runs[n-1], x.where(n, runs[n-1])))
	}
	because, done, unless := x.log.Because(), len(runs), "where the workload stops no process that started it, "
	name := x.Profiler.Tool().Name
	check := fmt.Sprintf("check the %s installation with nsgate doctor", name)
	if x.Runs == 0 {
		name, check = "the runner", "measure again"
	}
	switch {
	case x.hung && x.phase == starting:
		return nil, model.Refuse(model.ProfilerHangs, unless+check, "%s did not start the workload within %s%s", name,
			x.StartLimit, because)
	case x.hung:
		return nil, model.Refuse(model.ProfilerHangs, unless+check,
			"%s did not finish within %s, after %d of %d runs%s", name, x.FinishLimit, done, x.runs, because)
	case done == 0:
		if err := x.Profiler.Refusal(x.options(), x.log.String()); err != nil {
			return nil, err
		}
	}
	state := x.profiler.cmd.ProcessState
	switch {
	case x.cut:
	case done < x.runs:
		return nil, model.Refuse(model.ProfilerFailed, check, "%s ended after %d of %d runs (%s)%s", name, done, x.runs,
			state, because)
	case !state.Success():
		return nil, model.Refuse(model.ProfilerFailed, check, "%s failed after %d of %d runs (%s)%s", name, done,
			x.runs, state, because)
	}
	if info, err := os.Stat(x.report(x.dir)); x.Runs > 0 && (err != nil || info.Size() == 0) {
		return nil, model.Refuse(model.ProfilerFailed, check, "%s wrote no report%s", name, because)
	}
	if x.cut && x.journal.running {
		cut := x.journal.begun
		cut.Cut = true
		runs = append(runs, cut)
	}
	return runs, nil
}

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

// workloadError is the error of a run that failed, whose refusal is why. That of the base build has a kind of its own:
// a change is not to blame for its base.
func (p Plan) workloadError(index int, r Run, refusal error) error {
	if why := (*model.Refusal)(nil); r.Base && errors.As(refusal, &why) && why.Kind.Program() {
		why.Kind = model.BaseFailed
	}
	return &WorkloadError{r, index, len(p.schedule()), refused{refusal}}
}

// programError is the refusal of a run whose program, or its server, failed.
func (p Plan) programError(r Run, where string) error {
	const byItself = "run the workload by itself first, and make it exit with 0"
	switch {
	case r.Server.failed():
		return p.serverError(r.Server, where)
	case r.Error != "":
		return model.Refuse(model.NoWorkload, "check its command", "the workload could not be started %s: %s", where,
			r.Error)
	case r.TimedOut:
		return model.Refuse(model.WorkloadTimeout, "allow more time, or make the workload shorter",
			"the workload did not end within %s %s", p.Timeout, where)
	case r.killed() && r.MemoryKills > 0:
		return model.Refuse(model.WorkloadFailed, "give the job more memory, or make the workload smaller",
			"the workload was killed (SIGKILL) %s while the kernel ended %s for want of memory", where,
			measure.Count(int(r.MemoryKills), "process", "processes"))
	case r.killed():
		return model.Refuse(model.WorkloadFailed, "see the log of the kernel or the scheduler, give the job more "+
			"memory, or "+byItself, "the workload was killed (SIGKILL), often for want of memory, %s", where)
	case r.Signal != "":
		return model.Refuse(model.WorkloadFailed, byItself, "the workload was ended by a signal (%s) %s", r.Signal,
			where)
	case r.Unread != "":
		return model.Refuse(model.BadOutput, "see what the workload writes, and correct the pattern in the policy file",
			"the results of the workload cannot be read %s: %s", where, r.Unread)
	case r.ExitCode == 0:
		return p.outputError(r, where)
	}
	return model.Refuse(model.WorkloadFailed, byItself, "the workload exited with %d %s", r.ExitCode, where)
}

// killed reports whether SIGKILL ended the workload, or a process of its shell, which exits with 128 + 9 then.
func (r Run) killed() bool {
	return r.Signal == syscall.SIGKILL.String() || r.ExitCode == 128+int(syscall.SIGKILL)
}

// outputError says of a run that succeeded which output it did not print as it should.
func (p Plan) outputError(r Run, where string) error {
	i := r.misread()
	o := p.Outputs[i]
	pattern := strconv.Quote(o.Pattern)
	switch len(r.Found[i]) {
	case 0:
		return model.Refuse(model.BadOutput, "see what the workload prints, and correct the pattern in the policy file",
			"the workload printed no %s %s: no line matches %s", strconv.Quote(o.Name), where, pattern)
	case 1:
		return model.Refuse(model.BadOutput,
			"put the parentheses of the pattern around a number of 0 or more, as in 1950.5 or 1,234,567",
			"the workload printed no number for %s %s: the group of %s is in %s", strconv.Quote(o.Name), where, pattern,
			measure.Quote(r.Found[i][0]))
	}
	return model.Refuse(model.BadOutput, "make the pattern match the one line that counts",
		"the workload printed %s more than once %s: several places match %s", strconv.Quote(o.Name), where, pattern)
}

// noRoom are phrases in the output of a program that could not write a file for want of room.
var noRoom = []string{"no space left", "disk is full", "disk full", "quota exceeded", "file too large",
	"file size limit exceeded"}

// leastRoom is so little that a profiler cannot write any report, in bytes.
const leastRoom = 256 << 10

// blameRoom says of a refusal, where it is for want of room in the private directory, which directory is full: the
// profiler itself says it in its way or not at all, and its library in the workload crashes. low is the least room that
// there was, in bytes, said all that is known of the failure.
func (p Plan) blameRoom(err error, low int64, said string) error {
	// crashRoom is so little that the library of a profiler crashes the workload: seen with 16 MB, not with 64 MB.
	const crashRoom = 64 << 20
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
	refusal := model.Refuse(model.NoRoom, "make room there, or set TMPDIR to a directory that has some",
		"%s; no room is left in the directory for temporary files", r.Reason)
	crashed := failed != nil && (failed.Run.Signal == syscall.SIGSEGV.String() ||
		failed.Run.Signal == syscall.SIGBUS.String())
	switch {
	case !full && crashed && low < crashRoom:
		refusal = model.Refuse(model.NoRoom,
			fmt.Sprintf("make room in the directory for temporary files, or set TMPDIR to another: %.1f MB were left, "+
				"and %s crashes a workload where that is too little; then %s", float64(low)/1e6, p.Profiler.Tool().Name,
				r.Next),
			"%s", r.Reason)
	case !full:
		return err
	}
	if failed != nil {
		blamed := *failed
		blamed.error = refusal
		return &blamed
	}
	return refusal
}

// Next steps of the refusals of this package.
const (
	buildFirst = "check the command, and build the workload first"
	ownBase    = "build the base elsewhere and give its command"
)

var errUnsupported = errors.New("workloads can be measured on Linux only; record there and use compare here")

// causeOr returns the cause of the end of ctx, or else err.
func causeOr(ctx context.Context, err error) error {
	return measure.Either(ctx.Err() != nil, context.Cause(ctx), err)
}
