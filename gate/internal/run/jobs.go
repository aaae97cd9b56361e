package run

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/proc"
	"github.com/nsgate/nsgate/gate/internal/reduce/rank"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/run/confine"
	"github.com/nsgate/nsgate/gate/internal/run/tools"
)

// The variables of nsgate rank with the directory and the name of its job.
const (
	gatherVariable = "NSGATE_GATHER"
	jobVariable    = "NSGATE_JOB"
)

// directoryDelay is how long the files of ranks may take to appear here after the launcher has ended: network file
// systems cache directories.
var directoryDelay = 5 * time.Second

// gather runs every job of the plan once the GPUs are fit; all of them succeed. Their ranks leave their exports in a
// directory below p.Gather, which is removed with the private one.
func (p Plan) gather(ctx context.Context, private *proc.Private, sp spec, children proc.Children, fit *look,
	note func(Event)) ([]Run, error) {
	if err := fit.wait(); err != nil {
		return nil, err
	}
	runtime.LockOSThread() // a job dies with the thread that started it
	defer runtime.UnlockOSThread()
	dir, err := os.MkdirTemp(p.Gather, proc.Prefix) // mode 0700
	if err != nil {
		return nil,
			fmt.Errorf("the gather directory: %w; name one that all hosts of the job see and that can be written", err)
	}
	if err := private.Join(dir); err != nil {
		return nil, err
	}
	var runs []Run
	schedule, begun := p.schedule(), time.Now()
	for i, t := range schedule {
		r, err := p.job(ctx, private, sp, dir, i, children,
			func() { note(Event{Stage: RunStarted, Run: i + 1, Unprofiled: t.Unprofiled}) })
		if err != nil {
			return nil, err
		}
		runs = append(runs, r)
		note(Event{Stage: RunFinished, Run: i + 1, Unprofiled: t.Unprofiled,
			Expected: time.Since(begun) / time.Duration(i+1) * time.Duration(len(schedule))})
	}
	return runs, nil
}

func jobOf(i int) string { return fmt.Sprintf("run.%03d", i) }

// job launches the workload once, all of its ranks, and judges what they have left.
func (p Plan) job(ctx context.Context, private *proc.Private, sp spec, dir string, i int, children proc.Children,
	started func()) (Run, error) {
	const jobGrace = 15 * time.Second // how long a launcher may take to end its tasks on all hosts
	t, name := p.schedule()[i], jobOf(i)
	order := rank.Order{Profiler: p.Profiler.Tool().Name, Exe: p.Exe, Options: p.options(), Unprofiled: t.Unprofiled,
		Ranks: p.Ranks, Step: p.Step, Warmup: p.Warmup}
	if err := order.Write(dir, name); err != nil {
		err = measure.Either(proc.Room(dir) < leastRoom, gatherFull("before the first run"),
			fmt.Errorf("the gather directory %s: %w", p.Gather, err))
		return Run{}, err
	}
	sp.grace = jobGrace
	// srun kills its tasks at once after a signal. A rank that finds its order removed clears up first.
	sp.ask = func(done <-chan struct{}) {
		os.Remove(rank.OrderFile(dir, name))
		proc.Ended(done, rank.Notice)
	}
	sp.Head.Command = p.Head.launched(p.Self, dir, name)
	if p.Base != nil {
		sp.Base.Command = p.Base.launched(p.Self, dir, name)
	}
	sp.Env[gatherVariable], sp.Env[jobVariable], sp.Env[proc.MarkName] = &dir, &name, &private.Path
	x := sp.start(t)
	if x.r.Error == "" {
		started()
		sp.wait(ctx, x, children) // and leaves no process behind
	}
	r := x.r
	if ctx.Err() != nil {
		return r, context.Cause(ctx)
	}
	statuses, err := p.gathered(ctx, dir, name, r)
	if err != nil {
		return r, err
	}
	if refusal := p.judgeJob(i+1, r, statuses, proc.Room(dir)); refusal != nil {
		return r, p.workloadError(i+1, r, refusal)
	}
	return r, nil
}

// launched is the command line of a job: the launcher, nsgate rank, and the program. Without a launcher the command has
// nsgate rank in it, which finds the rest in its environment.
func (b Build) launched(self, dir, job string) []string {
	if len(b.Launcher) == 0 {
		return b.Command
	}
	// Not every launcher hands variables on to other hosts.
	return slices.Concat(b.Launcher, []string{"env", gatherVariable + "=" + dir, jobVariable + "=" + job, self, "rank",
		"--"}, b.Command)
}

// gathered returns the reports of a job's ranks, once every known rank has ended or has had the time to.
func (p Plan) gathered(ctx context.Context, dir, job string, r Run) ([]rank.Status, error) {
	for until := time.Now().Add(directoryDelay); ; {
		statuses, err := rank.Gathered(dir, job)
		if err != nil {
			return nil, fmt.Errorf("the gather directory: %w", err)
		}
		ended := !slices.ContainsFunc(statuses, func(l rank.Status) bool { return !l.Done })
		if r.failed() || ended && len(statuses) > 0 && len(p.absent(statuses)) == 0 || time.Now().After(until) {
			return statuses, nil
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// absent are the ranks of a job that reported nothing.
func (p Plan) absent(statuses []rank.Status) []int {
	size, reported := 0, map[int]bool{}
	for _, l := range statuses {
		size = max(size, min(rank.MostRanks, max(l.Size, l.Rank+1)))
		reported[l.Rank] = true
	}
	var out []int
	for n := range size {
		if !reported[n] {
			out = append(out, n)
		}
	}
	return append(out, measure.Where(p.Ranks, func(n int) bool { return n >= size })...)
}

// judgeJob is the refusal of a job that is no measurement, nil for one that is. The first rank that failed is the
// reason: a launcher ends the others.
func (p Plan) judgeJob(index int, r Run, statuses []rank.Status, room int64) error {
	where := p.where(index, r)
	for i := range statuses {
		if err := statuses[i].TooMany(where); err != nil {
			return err
		}
	}
	culprit, lost, told := failures(statuses)
	absent := p.absent(statuses)
	switch {
	case r.Error != "":
		return p.programError(r, where)
	case culprit != nil:
		return p.rankError(culprit, where)
	case r.failed() && room < leastRoom:
		return gatherFull(where)
	case r.failed() && strings.Contains(r.Output, rank.NotHere):
		return model.Refuse(model.Gather,
			fmt.Sprintf("choose one on a file system that all hosts mount, and see that they do: srun "+
				"--ntasks-per-node=1 ls -d %s", p.Gather),
			"a host of the job does not see the gather directory %s", where)
	case r.TimedOut:
		return p.programError(r, where)
	case len(statuses) == 0 && !r.failed():
		return model.Refuse(model.NoRanks, "put nsgate rank -- in front of the program inside the launcher's command, "+
			"or name the launcher in the policy file",
			"no rank was recorded %s: the command succeeded, and nothing in it ran nsgate rank", where)
	case len(lost) > 0:
		return model.Refuse(model.RankMissing, "see what the launcher says of it, and measure again",
			"%s did not come to an end %s: the task or its host was ended from outside", ranks(lost), where)
	case len(told) > 0:
		return model.Refuse(model.RankMissing, "see why the job was ended: a time limit, or somebody who cancelled it",
			"%s ended at a signal that the launcher passed on %s", ranks(told), where)
	case len(statuses) > 0 && len(absent) > 0:
		return model.Refuse(model.RankMissing,
			"see that the launcher starts nsgate rank for every rank, and that each host sees the gather directory",
			"%s left nothing %s: nothing was heard from there", ranks(absent), where)
	case r.failed():
		return p.programError(r, where)
	}
	return nil
}

// failures are the rank that failed first, those that never reported their end, and those that a signal of the launcher
// ended.
func failures(statuses []rank.Status) (first *rank.Status, lost, told []int) {
	for i := range statuses {
		switch l := &statuses[i]; {
		case !l.Done:
			lost = append(lost, l.Rank)
		case l.Failed() && l.Told:
			told = append(told, l.Rank)
		case l.Failed() && (first == nil || l.End.Before(first.End)):
			first = l
		}
	}
	return first, lost, told
}

// rankError says what became of a rank that failed.
func (p Plan) rankError(l *rank.Status, where string) error {
	const byItself = "run the job by itself first, and make every rank exit with 0"
	name := ranks([]int{l.Rank})
	switch {
	case l.Failure != "" && l.Next != "":
		return model.Refuse(model.RankUnrecorded, l.Next, "%s was not recorded %s: %s", name, where, l.Failure)
	case l.Failure != "":
		return model.Refuse(model.RankUnrecorded,
			fmt.Sprintf("see that %s works on the host of that rank: srun nsgate doctor", p.Profiler.Tool().Name),
			"%s was not recorded %s: %s", name, where, l.Failure)
	case l.Signal == syscall.SIGKILL.String():
		return model.Refuse(model.WorkloadFailed,
			"see the log of its host's kernel or the scheduler, and give the job more memory",
			"%s was killed (SIGKILL), often for want of memory, %s", name, where)
	case l.Signal != "":
		return model.Refuse(model.WorkloadFailed, byItself, "%s was ended by a signal (%s) %s", name, l.Signal, where)
	}
	return model.Refuse(model.WorkloadFailed, byItself, "%s exited with %d %s", name, l.ExitCode, where)
}

// ranks names ranks: "rank 2", "ranks 2 and 3", "ranks 0, 1, 2 and 13 more".
func ranks(numbers []int) string {
	names := measure.Map(numbers, strconv.Itoa)
	const most = 8
	if more := len(names) - most; more > 0 {
		names = append(names[:most], fmt.Sprintf("%d more", more))
	}
	last := len(names) - 1
	if last == 0 {
		return "rank " + names[0]
	}
	return "ranks " + strings.Join(names[:last], ", ") + " and " + names[last]
}

func gatherFull(where string) error {
	return model.Refuse(model.NoRoom, "make room there, or choose another directory that all hosts see",
		"no room is left in the gather directory %s", where)
}

const gatheredMode = "--gathered"

func init() { confine.Register(gatheredMode, exports.read) }

// gatheredExport is the export of a session, or the export or fragment of a rank, which its host has written to the
// gather directory.
type gatheredExport struct {
	File, Name string // Name is "" of a session
	Fragment   bool
	Run, Rank  int
}

func (x gatheredExport) what() string {
	return "the profile" + result.Given(x.Name, " of ", x.Name)
}

// exports are the gathered exports that a profiler wrote.
type exports struct {
	Profiler string
	Files    []gatheredExport
}

// readJobs reads the exports of the ranks of all jobs in a confined child, because any process that writes to the
// gather directory can have made them, and removes them.
func (p Plan) readJobs(ctx context.Context, private *proc.Private, runs []Run, note func(Event)) ([][]model.Trace,
	error) {
	note(Event{Stage: Reading})
	asked := exports{Profiler: p.Profiler.Tool().Name}
	for i := range runs {
		if runs[i].Unprofiled {
			continue
		}
		statuses, err := rank.Gathered(private.Joined, jobOf(i))
		if err != nil {
			return nil, fmt.Errorf("the gather directory: %w", err)
		}
		for _, l := range statuses {
			if l.Profiled {
				x := gatheredExport{File: rank.File(private.Joined, jobOf(i), l.Rank, rank.ExportFile),
					Run: i, Rank: l.Rank, Name: fmt.Sprintf("rank %d of run %d of %d", l.Rank, i+1, len(runs))}
				fragment := rank.File(private.Joined, jobOf(i), l.Rank, rank.FragmentFile)
				if _, err := os.Lstat(fragment); err == nil {
					x.File, x.Fragment = fragment, true
				}
				asked.Files = append(asked.Files, x)
			}
		}
	}
	traces := make([][]model.Trace, len(runs))
	err := asked.ask(ctx, func(x gatheredExport, of []model.Trace) {
		for _, t := range of {
			t.Job, t.Rank, t.Source = fmt.Sprintf("run %d of %d", x.Run+1, len(runs)), x.Rank, x.Name
			traces[x.Run] = append(traces[x.Run], t)
		}
		os.Remove(x.File)
	})
	if err != nil {
		return nil, causeOr(ctx, err)
	}
	return traces, nil
}

// ask reads exports in a confined child, and hands on the traces of one after the other.
func (x exports) ask(ctx context.Context, each func(gatheredExport, []model.Trace)) error {
	files := measure.Map(x.Files, func(f gatheredExport) string { return f.File })
	next := 0
	err := confine.Ask(ctx, gatheredMode, confine.For(files...), x, func(of []model.Trace) error {
		each(x.Files[next], of)
		next++
		return nil
	})
	if err == nil {
		return nil
	}
	return confine.Refused(err, x.Files[min(next, len(x.Files)-1)].what())
}

// read sends the traces of one export after the other.
func (x exports) read(ctx context.Context, send func([]model.Trace) error) error {
	by := tools.Profiler(x.Profiler)
	if by == nil {
		return fmt.Errorf("this nsgate knows no profiler %q", x.Profiler)
	}
	for _, f := range x.Files {
		read := func() ([]model.Trace, error) { return by.Read(ctx, f.File, f.what()) }
		if f.Fragment {
			read = func() ([]model.Trace, error) { return rank.ReadFragment(f.File, f.what()) }
		}
		traces, err := read()
		if err == nil {
			err = send(traces)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
