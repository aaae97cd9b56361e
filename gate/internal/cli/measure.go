package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/filter"
	"github.com/nsgate/nsgate/gate/internal/read/profile"
	"github.com/nsgate/nsgate/gate/internal/reduce/trace"
	"github.com/nsgate/nsgate/gate/internal/run"
	"github.com/nsgate/nsgate/gate/internal/run/tools"
	"github.com/nsgate/nsgate/thresholds"
)

// rule is how traces are cut by the flags alone.
func (v *given) rule() (profile.Rule, error) {
	var w thresholds.Workload
	err := v.lay(cutNames, w.Set)
	return profile.Rule{Warmup: w.Warmup, Step: w.Step}, err
}

// filtered is the option of a command whose files the filter of the user may read.
type filtered struct {
	rows string `flag:"rows,single"` // filter of jq, or its file
}

// filterOf is the text of a filter, which may be the name of a file relative to a directory; "" for none.
func filterOf(dir, text string) (string, error) {
	if filter.IsFile(text) {
		file := measure.Either(filepath.IsAbs(text), text, filepath.Join(dir, text))
		data, err := input.Read(file, filter.MaxText)
		if err != nil {
			return "", err
		}
		text = string(data)
		if filter.Check(text) != nil {
			return "", fmt.Errorf("%s: %w", file, filter.Check(text))
		}
	}
	if text == "" {
		return "", nil
	}
	return text, filter.Check(text)
}

// rowsOf is the filter that gives the rows of a workload's results, "" for none.
func rowsOf(p *thresholds.Policy, w *thresholds.Workload) (string, error) {
	rows, err := filterOf(filepath.Dir(p.File), w.Rows())
	if err != nil {
		err = fmt.Errorf("%s: rows: %w", w.Results[0].Places["rows"], err)
	}
	return rows, err
}

// running are the options of a command that measures workloads.
type running struct {
	stored
	profiling
	workload     words   `flag:"workload"`
	from         string  `flag:"from,single"`
	runs         runPlan `flag:"runs"`
	unprofiled   int     `flag:"unprofiled"`
	memoryUsage  bool    `flag:"memory-usage"`
	gpuMetrics   bool    `flag:"gpu-metrics"`
	allowBusy    bool    `flag:"allow-busy"`
	keepProfiles string  `flag:"keep-profiles"`
	trial
}

// job is a workload that is about to be measured.
type job struct {
	app.Job
	set      thresholds.Workload // its settings: the flags over the policy file
	build    app.Build           // with its launcher; no command with --from
	launcher []string            // in front of a command where the profiler runs around both
	rows     string              // filter of jq of its results, "" for the format of a harness
	looks    []int               // numbers of runs after which to judge
}

// resolve returns the workloads to measure and their policies: the command after "--", or those of the policy file.
func (v *running) resolve(e *env, workload []string) ([]*job, error) {
	p, err := v.load()
	if err != nil {
		return nil, err
	}
	if v.finished() && workload != nil {
		return nil, usageError("--from judges finished profiles: leave out the workload after --")
	}
	chosen, err := v.choose(p, v.workload, v.finished() || workload != nil)
	if err != nil {
		return nil, err
	}
	shown := newProgress(e, v.is("quiet"))
	shown.rounds = v.is("watch")
	var jobs []*job
	for _, w := range chosen {
		j, err := v.job(e.ctx, p, w, workload, shown)
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, j)
	}
	profiled := func(j *job) bool { return !j.Way().Unprofiled || j.Way().Rows }
	if !v.count && !slices.ContainsFunc(jobs, profiled) {
		return jobs, v.idle(e, []string{"unprofiled"})
	}
	return jobs, nil
}

func (v *running) single(e *env, workload []string) (*job, error) {
	jobs, err := v.resolve(e, workload)
	if err != nil {
		return nil, err
	}
	if len(jobs) > 1 {
		of := measure.Map(jobs, func(j *job) string { return j.Workload })
		return nil, usageError("this is about one workload at a time: choose one with --workload (%s)",
			strings.Join(of, ", "))
	}
	return jobs[0], nil
}

// job is a workload of the policy file, or of this name alone, with the flags over its settings.
func (v *running) job(ctx context.Context, p *thresholds.Policy, w thresholds.Workload, command []string,
	shown *progress) (*job, error) {
	if err := v.lay(keyNames, w.Set); err != nil {
		return nil, err
	}
	written := w // as the file has it: the hash of the settings does not depend on the working directory
	w.Dir = filepath.Join(filepath.Dir(p.File), w.Dir)
	if w.Gather != "" && !filepath.IsAbs(w.Gather) && !v.fs.Changed("gather") {
		w.Gather = filepath.Join(filepath.Dir(p.File), w.Gather)
	}
	if w.Server != nil {
		w.Warmup = cmp.Or(w.Warmup, trace.Capture) // from the start of the client to its end
	}
	root, err := v.baselines(p)
	if err != nil {
		return nil, err
	}
	j := &job{set: w, Job: app.Job{Workload: w.Name, Root: root, Observe: shown.event, Live: &app.Live{},
		Policy: v.resolved(p, w.Name), Rule: profile.Rule{Warmup: w.Warmup, Step: w.Step},
		Code: app.CodeFiles{Dir: w.Dir, Patterns: w.Code, Where: w.Places["code"]}}}
	if j.rows, err = rowsOf(p, &w); err != nil {
		return nil, err
	}
	if !v.finished() {
		j.Live.Way = app.WayOf(&j.set, v.by())
		if j.build, err = buildOf(&w, command); err != nil {
			return nil, err
		}
	}
	if j.Baselines, err = app.ReadBaselines(ctx, j.Root, j.Workload); err != nil {
		return nil, err
	}
	j.looks = v.plan(j)
	if !j.Way().Live {
		j.looks = j.looks[:1]
		rule, err := v.rule()
		t := v.tools(p)
		t.Rows = j.rows
		j.Measurer = &app.Saved{Path: v.from, Tools: t, Rule: rule}
		return j, err
	}
	return j, v.live(ctx, j, written, shown)
}

// live makes the job one whose workload is run. written are its settings as the file and the flags give them.
func (v *running) live(ctx context.Context, j *job, written thresholds.Workload, shown *progress) (err error) {
	w := &j.set
	own := run.Options{Live: shown.live && !shown.quiet, Exe: v.exe, AllowBusy: v.allowBusy,
		KeepProfiles: v.keepProfiles}
	own.Args, own.MemoryUsage, own.GPUMetrics = v.traceArgs, v.memoryUsage, v.gpuMetrics
	own.Profiler, own.Ranks, own.Results = tools.Profiler(string(v.by())), w.Ranks, w.ResultFiles()
	own.Rows, own.Step, own.Warmup = j.rows, w.Step, w.Warmup
	own.MemoryUsage = own.MemoryUsage || j.Policy.Wants(measure.ByMemory) && j.Way().Timed
	if v.fs.Lookup("gpu-metrics") != nil && j.Way().Local && j.Way().Timed && !j.Way().Unprofiled {
		own.GPUMetrics = own.GPUMetrics || j.Policy.Wants(measure.BySampling)
	}
	own.Usual = j.Baselines.Longest()
	own.Timeout = max(w.Timeout, 0) // negative for none
	if w.Timeout == 0 {
		own.Timeout = j.Baselines.Timeout()
	}
	own.Outputs = measure.Map(w.Outputs, func(o thresholds.Output) measure.Output { return o.Output })
	if own.Starts, err = starts(w, j.Policy); err != nil {
		return err
	}
	if own.Gather, err = v.gather(j); err != nil {
		return err
	}
	if j.Way().Local {
		j.launcher, j.build.Command = w.Launcher, slices.Concat(w.Launcher, j.build.Command)
	} else {
		j.build.Launcher = w.Launcher
	}
	if s := w.Server; s != nil {
		if j.Way().Counts || v.count {
			return usageError("%s: a server is measured by time: leave out the counters, or [workload.server]", s.Where)
		}
		own.Server = run.Server{Ready: s.Ready, Timeout: max(s.Timeout, 0), Stop: stops[s.Stop]}
		j.build.Server = s.Command
	}
	*j.Live = app.Live{Options: own, Way: j.Way(), Head: j.build, Observe: j.Observe, Filter: w.Filter(),
		Limit: w.Timeout, MayLackSamples: !v.gpuMetrics}
	newest := j.Baselines.Near(ctx, j.Live).Newest()
	j.Live.NoNVTX, j.Live.Dump = newest.Mode == model.WithoutNVTX, len(newest.Operations) > 0
	j.Measurer = j.Live
	j.Code.Inputs.Patterns = w.Inputs
	if w.Inputs != nil {
		written.Command = j.build.Command
		more := []any{v.exe, v.unprofiled, own.MemoryUsage, own.Args, w.Starts}
		if err := v.really(func() error { return j.Code.Inputs.Begin(w.Dir, written, more) }); err != nil {
			j.Warn("the inputs of workload " + j.Workload + " are not known, and no check of it is skipped: " +
				err.Error())
		}
	}
	j.Live.Unprofiled, err = v.share(j, cmp.Or(v.runs.First, j.looks[0]))
	return err
}

// stops are the signals that stop a server, by their names in the policy.
var stops = map[string]syscall.Signal{"SIGINT": syscall.SIGINT, "SIGTERM": syscall.SIGTERM}

// starts is how many runs of a workload start at the same time, half of the CPUs unless the workload says so; one where
// a launcher starts it. The wall time of runs that start together is not measured, which a rule for it contradicts.
// Outputs may count the time that a run waits for its turn.
func starts(w *thresholds.Workload, p *thresholds.Resolved) (int, error) {
	// fewCPUs is the number of CPUs below which runs do not start at the same time unless the workload says so.
	const fewCPUs = 8
	at := slices.IndexFunc(p.Rules, func(r thresholds.Rule) bool {
		return r.Metric != "" && r.Severity != thresholds.Ignore &&
			(r.Metric.Match(measure.WallTime.Name) || w.Starts == 0 && r.Metric.Match(measure.Elapsed.Name))
	})
	cpus := runtime.GOMAXPROCS(0)
	switch {
	case w.Starts == 1 || len(w.Launcher) > 0:
		return 1, nil
	case w.Starts == 0 && (cpus < fewCPUs || at >= 0 || len(w.Outputs) > 0):
		return 1, nil
	case at >= 0:
		return 0, usageError("%s: the wall time of runs that start together is not measured, and the rule of %s is "+
			"for it: leave out one of them", w.Places["starts"], p.Rules[at].Where)
	case w.Starts == 0:
		return cpus / 2, nil
	}
	return w.Starts, nil
}

// buildOf is the build of a workload that is run: the command behind "--", or else its own.
func buildOf(w *thresholds.Workload, command []string) (b app.Build, err error) {
	switch {
	case command != nil:
		b.Command = command
	case w.Command != nil:
		b.Command = w.Command
		if w.Dir != "." {
			b.Dir = w.Dir
		}
	case w.Where != "":
		err = usageError("workload %q has no command (%s); give it after --, or finished profiles with --from", w.Name,
			w.Where)
	default:
		err = usageError("no workload: give its command after --, or a [[workload]] in %s", policyFile)
	}
	return b, err
}

// plan are the numbers of runs after which to judge. A budget applies to a check of times that are measured here.
func (v *running) plan(j *job) []int {
	w := &j.set
	policy := w.Runs
	if v.usual.First == v.usual.Most { // no check
		policy.First, v.runs.First = policy.Most, v.runs.Most
	}
	usual := cmp.Or(policy, v.usual, thresholds.FixedRuns(app.DefaultRuns))
	if v.by() == countFlag {
		usual = thresholds.FixedRuns(app.CounterRuns)
	}
	if v.fs.Lookup("budget") == nil || !j.Way().Timed {
		w.Budget = 0
	}
	if w.Budget > 0 {
		usual.Most = thresholds.MaxRuns
	}
	return looks(cmp.Or(v.runs.Runs, usual))
}

// share is the number of unprofiled runs for each profiled one; runs is the number of profiled ones.
func (v *running) share(j *job, runs int) (float64, error) {
	flag := source(v.fs, "unprofiled")
	reads := len(j.set.Outputs)+len(j.set.Results) > 0 || j.Policy.Wants(measure.ByWall)
	switch {
	case j.Way().Unprofiled && !reads:
		return 0, usageError("%s: runs without a profiler measure outputs and results, and workload %q has none: "+
			"add [[workload.output]] or [[workload.results]], or leave profile out", j.set.Places.Of("profile"),
			j.Workload)
	case v.unprofiled < 0 || v.unprofiled > thresholds.MaxRuns:
		return 0, usageError("%s: %d is not between 0 and %d", flag, v.unprofiled, thresholds.MaxRuns)
	case v.fs.Changed("unprofiled"):
		return float64(v.unprofiled) / float64(runs), nil
	case j.Way().Timed && reads:
		return 1, nil
	}
	return 0, nil
}

// gather is the directory for the recordings of ranks, made where missing; "" if the profiler runs around the workload.
func (v *running) gather(j *job) (dir string, err error) {
	w := &j.set
	switch {
	case j.Way().Local && (w.Ranks == nil || v.fs.Changed("ranks") && !v.onLine("ranks")):
		return "", nil
	case j.Way().Local:
		return "", usageError("--ranks chooses among the ranks of a job that is gathered: give --gather too")
	case j.Way().Served:
		return "", usageError("--gather records ranks: leave it out with [workload.server]")
	case j.Way().Counts:
		return "", usageError("counters are of one process alone: leave out --gather with %s", counting)
	case v.keepProfiles != "":
		return "", usageError("--keep-profiles keeps no reports of ranks, which lie on other hosts: nsgate rank " +
			"--gather keeps their exports")
	case v.gpuMetrics:
		return "", usageError("--gpu-metrics samples the GPUs of this host: leave it out with --gather")
	}
	err = v.really(func() error { return os.Mkdir(w.Gather, 0o700) })
	info, wrong := os.Stat(w.Gather)
	switch {
	case wrong != nil:
		return "", usageError("--gather: %v; name a directory on a file system that all hosts of the job see",
			cmp.Or(err, wrong))
	case !info.IsDir():
		return "", usageError("--gather: %s is no directory", w.Gather)
	}
	return filepath.Abs(w.Gather) // the ranks may start elsewhere
}
