package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/profile"
	"github.com/nsgate/nsgate/gate/internal/run"
	"github.com/nsgate/nsgate/gate/internal/terminal"
	"github.com/nsgate/nsgate/gate/internal/tools"
	"github.com/nsgate/nsgate/gate/internal/trace"
	"github.com/nsgate/nsgate/thresholds"
)

// sampleFlags say how traces are cut into steps, and which program exports them.
type sampleFlags struct {
	fs  *pflag.FlagSet
	exe string // of the profiler, "" for the one on the PATH
}

func (s *sampleFlags) bind(fs *pflag.FlagSet) {
	s.fs = fs
	fs.String("warmup", "", "what to skip: auto, a number of steps, or capture (only what lies between "+
		"cudaProfilerStart and cudaProfilerStop) (default auto)")
	fs.String("step", "", `NVTX range that the workload repeats; "none" counts by run (default: found by itself)`)
	bindProfiler(fs, &s.exe)
}

// rule is how traces are cut by the flags alone.
func (s *sampleFlags) rule() (profile.Rule, error) {
	var w thresholds.Workload
	err := settings(s.fs, &w)
	return profile.Rule{Warmup: w.Warmup, Step: w.Step}, err
}

// tools are the programs and metrics with which recordings are read.
func (s *sampleFlags) tools(p *thresholds.Policy) profile.Tools {
	return profile.Tools{Exe: s.exe, Metrics: p.RawMetrics()}
}

type measureFlags struct {
	sampleFlags
	app.Options
	policy     policyFlags
	workload   words
	baseline   string
	runs       runPlan
	usual      runPlan        // where neither --runs nor the policy says
	by         model.Profiler // "" for the usual one
	unprofiled int
	from       string
	dryRun     bool
	live       bool // progress is one line of a terminal
}

const baselineUsage = "directory of the committed baselines (default " + app.DefaultRoot + " beside nsgate.toml, else here)"

func (m *measureFlags) bind(fs *pflag.FlagSet) {
	fs.VarP(&m.workload, "workload", "w", "name of the workload, as in nsgate.toml and in the baseline, repeatable; * and ? are wildcards (default: all of nsgate.toml)")
	fs.Var((*single)(&m.baseline), "baseline", baselineUsage)
	fs.VarP(&m.runs, "runs", "n", fmt.Sprintf("fresh processes to measure; for check also LO..HI: go on to HI while undecided (default %s)", cmp.Or(m.usual, fixedRuns(app.DefaultRuns)).String()))
	fs.IntVar(&m.unprofiled, "unprofiled", 0, "runs without a profiler, interleaved with the others, in which outputs are read (default as many as --runs where the workload has an output, else none)")
	fs.String("timeout", "", "`time` that one run may take, such as 90s, or none (default 10 times the longest run of "+
		"the baseline, at least 5m; none where that is not known)")
	fs.String("starts", "", "`number` of runs that start at the same time, each held when it opens the GPU until its "+
		"turn comes (default 1: one start after the other)")
	m.sampleFlags.bind(fs)
	bindProfilerArgs(fs, &m.TraceArgs)
	fs.BoolVar(&m.MemoryUsage, "memory-usage", false, "trace allocations too and judge the peak of the device memory that is requested")
	fs.BoolVar(&m.AllowBusy, "allow-busy", false, "measure although something else uses the GPU")
	fs.StringVar(&m.KeepProfiles, "keep-profiles", "", "keep the raw report in this directory; it holds environment variables: never publish it")
	fs.String("gather", "", "directory that all hosts of a job see: the profiler runs around each rank, see nsgate rank")
	fs.String("ranks", "", "with --gather: profile these ranks only, such as 0,7 or 0-3 (default all)")
	fs.BoolVar(&m.dryRun, "dry-run", false, "print the exact commands and stop")
}

// bindFrom declares the flag of commands that take finished profiles instead of a workload.
func (m *measureFlags) bindFrom(fs *pflag.FlagSet) {
	fs.Var((*single)(&m.from), "from", "judge these profiles instead of running the workload: a file or a directory, as for compare")
}

// bindMetrics declares the flag of commands that can sample the GPU.
func (m *measureFlags) bindMetrics(fs *pflag.FlagSet) {
	fs.BoolVar(&m.GPUMetrics, "gpu-metrics", false, "sample the GPU's metrics too, in two further runs: SM, tensor cores, DRAM, PCIe, NVLink")
}

// job is a workload that is about to be measured.
type job struct {
	app.Job
	set      thresholds.Workload // its settings: the flags over the policy file
	build    app.Build           // with its launcher; no command with --from
	launcher []string            // in front of a command where the profiler runs around both
	looks    []int               // numbers of runs after which to judge
}

// resolve returns the workloads to measure and their policies: the command after "--", or those of the policy file.
func (m *measureFlags) resolve(e *env, workload []string, quiet bool) ([]*job, error) {
	p, err := m.policy.load()
	if err != nil {
		return nil, err
	}
	switch {
	case m.from != "" && workload != nil:
		return nil, usageError("--from judges finished profiles: leave out the workload after --")
	case m.from != "" && m.GPUMetrics:
		return nil, usageError("--gpu-metrics runs the workload, --from does not: what the profiles hold of them is read anyway")
	case m.from != "" && m.dryRun:
		return nil, usageError("--dry-run has nothing to show with --from")
	}
	chosen, err := m.choose(p, workload != nil || m.from != "")
	if err != nil {
		return nil, err
	}
	shown := newProgress(e, quiet)
	progress := shown.event
	m.live = shown.live && !quiet
	var jobs []*job
	for _, w := range chosen {
		j, err := m.job(e.ctx, p, w, workload, progress)
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, j)
	}
	return jobs, nil
}

// single is resolve of a command that takes one workload.
func (m *measureFlags) single(e *env, workload []string, quiet bool) (*job, error) {
	jobs, err := m.resolve(e, workload, quiet)
	if err != nil {
		return nil, err
	}
	if len(jobs) > 1 {
		of := mapped(jobs, func(j *job) string { return j.Workload })
		return nil, usageError("this is about one workload at a time: choose one with --workload (%s)", strings.Join(of, ", "))
	}
	return jobs[0], nil
}

// job is a workload of the policy file, or of this name alone, with the flags over its settings.
func (m *measureFlags) job(ctx context.Context, p *thresholds.Policy, w thresholds.Workload, command []string,
	progress func(app.Event)) (*job, error) {
	written := w
	w.Dir = filepath.Join(policyDir(p.File), w.Dir)
	if w.Server != nil {
		w.Warmup = cmp.Or(w.Warmup, trace.Capture) // from the start of the client to its end
	}
	if w.Gather != "" && !filepath.IsAbs(w.Gather) {
		w.Gather = filepath.Join(policyDir(p.File), w.Gather)
	}
	if err := cmp.Or(settings(m.fs, &w), settings(m.fs, &written)); err != nil {
		return nil, err
	}
	j := &job{set: w, Job: app.Job{Workload: w.Name, Root: baselineRoot(m.baseline, p.File), Observe: progress,
		Policy: p.For(w.Name),
		Rule:   profile.Rule{Warmup: w.Warmup, Step: w.Step},
		Code:   app.CodeFiles{Dir: w.Dir, Patterns: w.Code, Where: w.Places["code"]}}}
	var err error
	if j.build, err = m.build(&w, command); err != nil {
		return nil, err
	}
	if j.Baselines, err = app.ReadBaselines(ctx, j.Root, j.Workload); err != nil {
		return nil, err
	}
	if j.looks, err = m.plan(&j.set); err != nil {
		return nil, err
	}
	if m.from != "" {
		j.looks = j.looks[:1]
		j.Measurer = &app.Saved{Path: m.from, Tools: m.tools(p)}
		return j, nil
	}
	own := m.Options
	own.Profiler, own.Exe = tools.Profiler(string(m.by)), m.exe
	if own.Timeout = max(w.Timeout, 0); w.Timeout == 0 { // that of none is negative
		own.Timeout = j.Baselines.Timeout()
	}
	own.NoNVTX, own.Usual, own.Live = j.Baselines.NoNVTX(), j.Baselines.Longest(), m.live
	if own.Starts, err = starts(&w, j.Policy); err != nil {
		return nil, err
	}
	if own.Gather, err = m.gather(&w); err != nil {
		return nil, err
	}
	own.Ranks = w.Ranks
	if own.Gather != "" {
		j.build.Launcher = w.Launcher
	} else {
		j.launcher, j.build.Command = w.Launcher, slices.Concat(w.Launcher, j.build.Command)
	}
	for _, o := range w.Outputs {
		own.Outputs = append(own.Outputs, o.Output)
	}
	own.Results = w.ResultFiles()
	if s := w.Server; s != nil {
		if m.by.ByLaunch() {
			return nil, timeOnly(s.Where)
		}
		j.build.Server = s.Command
		own.Server = app.Server{Ready: s.Ready, Timeout: max(s.Timeout, 0), Stop: stopSignal(s.Stop)}
	}
	j.Live = &app.Live{Options: own, Head: j.build, Observe: progress, NoProfiler: !w.Profiled() && !m.by.ByLaunch(),
		ExplainRows: w.Profile == "explain" && !w.Profiled(), Filter: w.Filter()}
	j.Measurer = j.Live
	if j.Code.Inputs.Patterns = w.Inputs; w.Inputs != nil && !m.dryRun {
		written.Command = j.build.Command
		m.begin(j, written, own)
	}
	j.Live.Unprofiled, err = m.share(&w, cmp.Or(m.runs.first, j.looks[0]))
	return j, err
}

// begin hashes the inputs of a job before it is measured. written are its settings as the file and the flags give them.
func (m *measureFlags) begin(j *job, written thresholds.Workload, own app.Options) {
	more := []any{m.exe, m.unprofiled, own.MemoryUsage, own.TraceArgs, own.Starts}
	if err := j.Code.Inputs.Begin(j.set.Dir, written, more); err != nil {
		j.Observe(app.Event{Stage: run.Warning, Text: "the inputs of workload " + j.Workload +
			" are not known, and no check of it is skipped: " + err.Error()})
	}
}

// stopSignal is the signal that stops a server.
func stopSignal(name string) syscall.Signal {
	if name == "SIGTERM" {
		return syscall.SIGTERM
	}
	return syscall.SIGINT
}

// timeOnly says that launches of a server are not profiled one by one.
func timeOnly(where string) error {
	return usageError("%s: a server is measured by time: leave out the counters, or [workload.server]", where)
}

// starts is how many runs of a workload start at the same time: one where a launcher starts it. The wall time of more
// is not measured, which a rule for it contradicts.
func starts(w *thresholds.Workload, p *thresholds.Policy) (int, error) {
	if w.Starts <= 1 || len(w.Launcher) > 0 {
		return 1, nil
	}
	for _, r := range p.Rules {
		if r.Metric != "" && r.Severity != thresholds.Ignore && r.Metric.Match(measure.WallTime.Name) {
			return 0, usageError("%s: the wall time of runs that start together is not measured, and the rule of %s is for "+
				"it: leave out one of them",
				w.Places["starts"], r.Where)
		}
	}
	return w.Starts, nil
}

// build is the command of a workload and where it runs, none with --from.
func (m *measureFlags) build(w *thresholds.Workload, command []string) (b app.Build, err error) {
	switch {
	case command != nil:
		b.Command = command
	case m.from != "":
	case w.Command != nil:
		if b.Command = w.Command; w.Dir != "." {
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
func (m *measureFlags) plan(w *thresholds.Workload) ([]int, error) {
	usual := cmp.Or(fixedRuns(w.Runs), m.usual, fixedRuns(app.DefaultRuns))
	if m.by.ByLaunch() {
		usual = fixedRuns(app.CounterRuns)
	}
	flag := m.fs.Lookup("budget")
	timed := m.from == "" && !m.by.ByLaunch()
	if flag != nil && flag.Changed && !timed {
		return nil, usageError("--budget is for runs whose times are measured: leave it out with --from and %s", counting)
	}
	if flag == nil || !timed {
		w.Budget = 0
	}
	if w.Budget > 0 {
		usual.most = maxRuns
	}
	return cmp.Or(m.runs, usual).looks(), nil
}

// share is the number of unprofiled runs for each profiled one; runs is the number of profiled ones.
func (m *measureFlags) share(w *thresholds.Workload, runs int) (float64, error) {
	switch flag := source(m.fs, "unprofiled"); {
	case m.unprofiled < 0 || m.unprofiled > maxRuns:
		return 0, usageError("%s: %d is not between 0 and %d", flag, m.unprofiled, maxRuns)
	case m.unprofiled > 0 && m.by.ByLaunch():
		return 0, usageError("%s takes runs beside the profiled ones: leave it out with %s", flag, counting)
	case m.fs.Changed("unprofiled"):
		return float64(m.unprofiled) / float64(runs), nil
	case len(w.Outputs)+len(w.Results) > 0 && !m.by.ByLaunch():
		return 1, nil
	}
	return 0, nil
}

// gather is the directory for the recordings of ranks, which is made where it is missing; "" if the profiler runs
// around the workload.
func (m *measureFlags) gather(w *thresholds.Workload) (dir string, err error) {
	switch {
	case w.Gather == "" && w.Ranks == nil:
		return "", nil
	case w.Gather == "":
		return "", usageError("--ranks chooses among the ranks of a job that is gathered: give --gather too")
	case w.Server != nil:
		return "", usageError("--gather records ranks: leave it out with [workload.server]")
	case m.by.ByLaunch():
		return "", usageError("counters are of one process alone: leave out --gather with %s", counting)
	case m.KeepProfiles != "":
		return "", usageError("--keep-profiles keeps no reports of ranks, which lie on other hosts: nsgate rank --gather " +
			"keeps their exports")
	case m.GPUMetrics:
		return "", usageError("--gpu-metrics samples the GPUs of this host: leave it out with --gather")
	}
	if !m.dryRun {
		err = os.Mkdir(w.Gather, 0o700)
	}
	switch info, wrong := os.Stat(w.Gather); {
	case wrong != nil:
		return "", usageError("--gather: %v; name a directory on a file system that all hosts of the job see",
			cmp.Or(err, wrong))
	case !info.IsDir():
		return "", usageError("--gather: %s is no directory", w.Gather)
	}
	return filepath.Abs(w.Gather) // the ranks may start elsewhere
}

// fixed refuses --runs LO..HI for a command with a fixed number of runs.
func (m *measureFlags) fixed(j *job, what string) error {
	if len(j.looks) > 1 {
		return usageError("--runs: a %s has a fixed number of runs, not %s", what, m.runs.String())
	}
	return nil
}

// printCommands is --dry-run of a workload, which several ones name.
func printCommands(e *env, several bool, workload string, lines []string) error {
	if several {
		fmt.Fprintln(e.Out, "# workload", workload)
	}
	_, err := fmt.Fprintln(e.Out.As(terminal.Data), strings.Join(lines, "\n"))
	return err
}
