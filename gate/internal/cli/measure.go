package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/profile"
	"github.com/nsgate/nsgate/gate/internal/terminal"
	"github.com/nsgate/nsgate/gate/internal/tools"
	"github.com/nsgate/nsgate/thresholds"
)

// sampleFlags say how traces are cut into steps, and which nsys exports them.
type sampleFlags struct {
	warmup, step, nsys string
}

func (s *sampleFlags) bind(fs *pflag.FlagSet) {
	fs.StringVar(&s.warmup, "warmup", "", "what to skip: auto, a number of steps, or capture (only what lies between cudaProfilerStart and cudaProfilerStop) (default auto)")
	fs.StringVar(&s.step, "step", "", `NVTX range that the workload repeats; "none" counts by run (default: found by itself)`)
	fs.StringVar(&s.nsys, "nsys", "nsys", "the nsys executable")
}

func (s *sampleFlags) rule() (profile.Rule, error) {
	r := profile.Rule{Warmup: s.warmup, Step: s.step}
	if err := r.Check(); err != nil {
		return r, usageError("--warmup: %v", err)
	}
	return r, nil
}

type measureFlags struct {
	sampleFlags
	app.Options
	fs         *pflag.FlagSet
	workload   words
	baseline   string
	runs       runPlan
	usual      runPlan // where neither --runs nor the policy says
	unprofiled int
	timeout    string
	budget     string
	from       string
	ranks      string
	dryRun     bool
}

const baselineUsage = "directory of the committed baselines (default " + app.DefaultRoot + " beside nsgate.toml, else here)"

func (m *measureFlags) bind(fs *pflag.FlagSet) {
	m.fs = fs
	fs.VarP(&m.workload, "workload", "w", "name of the workload, as in nsgate.toml and in the baseline, repeatable; * and ? are wildcards (default: all of nsgate.toml)")
	fs.Var((*single)(&m.baseline), "baseline", baselineUsage)
	fs.VarP(&m.runs, "runs", "n", fmt.Sprintf("fresh processes to measure; for check also LO..HI: go on to HI while undecided (default %s)", cmp.Or(m.usual, fixedRuns(app.DefaultRuns)).String()))
	fs.IntVar(&m.unprofiled, "unprofiled", 0, "runs without a profiler, interleaved with the others, in which outputs are read (default as many as --runs where the workload has an output, else none)")
	fs.StringVar(&m.timeout, "timeout", "", "`time` that one run may take, such as 90s, or none (default 10 times the longest run of the baseline, at least 5m; none where that is not known)")
	m.sampleFlags.bind(fs)
	fs.StringArrayVar(&m.TraceArgs, "nsys-arg", nil, "further argument of nsys profile, repeatable: --nsys-arg=--nvtx-domain-exclude=TSL")
	fs.BoolVar(&m.MemoryUsage, "memory-usage", false, "trace allocations too and judge the peak of the device memory that is requested")
	fs.BoolVar(&m.AllowBusy, "allow-busy", false, "measure although something else uses the GPU")
	fs.StringVar(&m.KeepProfiles, "keep-profiles", "", "keep the raw report in this directory; it holds environment variables: never publish it")
	fs.StringVar(&m.Gather, "gather", "", "directory that all hosts of a job see: nsys runs around each rank, see nsgate rank")
	fs.StringVar(&m.ranks, "ranks", "", "with --gather: profile these ranks only, such as 0,7 or 0-3 (default all)")
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

// share is the number of unprofiled runs for each profiled one; runs is the number of profiled ones.
func (m *measureFlags) share(w *thresholds.Workload, by model.Profiler, runs int) (float64, error) {
	switch flag := source(m.fs, "unprofiled"); {
	case m.unprofiled < 0 || m.unprofiled > maxRuns:
		return 0, usageError("%s: %d is not between 0 and %d", flag, m.unprofiled, maxRuns)
	case m.unprofiled > 0 && by.ByLaunch():
		return 0, usageError("%s takes runs beside those of nsys: leave it out with --profiler ncu", flag)
	case m.fs.Changed("unprofiled"):
		return float64(m.unprofiled) / float64(runs), nil
	case len(w.Outputs) > 0 && !by.ByLaunch():
		return 1, nil
	}
	return 0, nil
}

// job is a workload that is about to be measured.
type job struct {
	app.Job
	build    app.Build // with its launcher; no command with --from
	launcher []string  // in front of a command where the profiler runs around both
	gates    int       // runs a side that the policy file gives it, 0 for none
	looks    []int     // numbers of runs after which to judge
	budget   time.Duration
}

// resolve finds out what to measure, and by what policy: what follows "--", or workloads of the policy file. What the
// file says of a workload fills in for flags that were not given.
func (m *measureFlags) resolve(e *env, policy *policyFlags, workload []string, by model.Profiler, quiet bool) ([]*job, error) {
	p, err := policy.load()
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
	chosen, err := m.choose(p, workload)
	if err != nil {
		return nil, err
	}
	progress := newProgress(e, quiet).event
	var jobs []*job
	for i := range chosen {
		j, err := m.job(e.ctx, p, &chosen[i], workload, by, progress)
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, j)
	}
	return jobs, nil
}

// single is resolve of a command that takes one workload.
func (m *measureFlags) single(e *env, policy *policyFlags, workload []string, by model.Profiler, quiet bool) (*job, error) {
	jobs, err := m.resolve(e, policy, workload, by, quiet)
	if err != nil {
		return nil, err
	}
	if len(jobs) > 1 {
		of := mapped(jobs, func(j *job) string { return j.Workload })
		return nil, usageError("this is about one workload at a time: choose one with --workload (%s)", strings.Join(of, ", "))
	}
	return jobs[0], nil
}

func (m *measureFlags) job(ctx context.Context, p *thresholds.Policy, w *thresholds.Workload, command []string, by model.Profiler, progress func(app.Event)) (*job, error) {
	if err := thresholds.CheckName(w.Name); err != nil {
		return nil, usageError("%s: %v", source(m.fs, "workload"), err)
	}
	j := &job{gates: w.Runs, Job: app.Job{Workload: w.Name, Root: baselineRoot(m.baseline, p.File), Observe: progress, Policy: p.For(w.Name),
		Code: app.CodeFiles{Dir: filepath.Join(policyDir(p.File), w.Dir), Patterns: w.Code, Where: w.Places["code"]}}}
	var err error
	if j.Rule, err = (&sampleFlags{warmup: cmp.Or(m.warmup, w.Warmup), step: cmp.Or(m.step, w.Step)}).rule(); err != nil {
		return nil, err
	}
	if err := m.build(j, p, w, command); err != nil {
		return nil, err
	}
	if j.Baselines, err = app.ReadBaselines(ctx, j.Root, j.Workload); err != nil {
		return nil, err
	}
	own := m.Options
	if own.Timeout, err = m.limit(w, j.Baselines); err != nil {
		return nil, err
	}
	if own.Gather, own.Ranks, err = m.gathers(p, w, by); err != nil {
		return nil, err
	}
	switch {
	case j.build.Command != nil && own.Gather != "":
		j.build.Launcher = w.Launcher
	case j.build.Command != nil:
		j.launcher = w.Launcher
		j.build.Command = slices.Concat(w.Launcher, j.build.Command)
	}
	usual := cmp.Or(fixedRuns(w.Runs), m.usual, fixedRuns(app.DefaultRuns))
	if by.ByLaunch() {
		usual = fixedRuns(app.CounterRuns)
	}
	if j.budget, err = m.within(w, by); err != nil {
		return nil, err
	}
	if j.budget > 0 {
		usual.most = maxRuns
	}
	j.looks = cmp.Or(m.runs, usual).looks()
	if m.from != "" {
		j.looks = j.looks[:1]
		j.Measurer = &app.Saved{Path: m.from, Tools: profile.Tools{Nsys: m.nsys, Metrics: p.NcuMetrics()}}
		return j, nil
	}
	own.Profiler = tools.Profiler(string(by))
	if m.fs.Changed("nsys") {
		own.Exe = m.nsys
	}
	for _, o := range w.Outputs {
		own.Outputs = append(own.Outputs, o.Output)
	}
	j.Live = &app.Live{Options: own, Head: j.build, Observe: progress}
	j.Measurer = j.Live
	j.Live.Unprofiled, err = m.share(w, by, cmp.Or(m.runs.first, j.looks[0]))
	return j, err
}

// build finds the command of a job and where it runs.
func (m *measureFlags) build(j *job, p *thresholds.Policy, w *thresholds.Workload, command []string) error {
	switch {
	case command != nil:
		j.build.Command = command
	case m.from == "" && w.Command != nil:
		j.build = app.Build{Command: w.Command, Dir: w.Dir}
		if at := filepath.Join(policyDir(p.File), w.Dir); at != "." {
			j.build.Dir = at
		}
	case m.from == "" && w.Where != "":
		return usageError("workload %q has no command (%s); give it after --, or finished profiles with --from", w.Name, w.Where)
	case m.from == "":
		return usageError("no workload: give its command after --, or a [[workload]] in %s", policyFile)
	}
	return nil
}

// gathers is the directory for the recordings of ranks, "" if the profiler runs around the workload, and the ranks that record.
func (m *measureFlags) gathers(p *thresholds.Policy, w *thresholds.Workload, by model.Profiler) (dir string, ranks []int, err error) {
	if dir = w.Gather; dir != "" && p.File != "" && !filepath.IsAbs(dir) {
		dir = filepath.Join(filepath.Dir(p.File), dir)
	}
	dir = cmp.Or(m.Gather, dir)
	if ranks, err = thresholds.ParseRanks(cmp.Or(m.ranks, w.Ranks)); err != nil {
		return "", nil, usageError("--ranks: %v", err)
	}
	switch {
	case m.from != "" || dir == "" && ranks == nil:
		return "", nil, nil
	case dir == "":
		return "", nil, usageError("--ranks chooses among the ranks of a job that is gathered: give --gather too")
	case by.ByLaunch():
		return "", nil, usageError("ncu profiles one process alone: leave out --gather with --profiler ncu")
	case m.KeepProfiles != "":
		return "", nil, usageError("--keep-profiles keeps no reports of ranks, which lie on other hosts: nsgate rank --gather keeps their exports")
	case m.GPUMetrics:
		return "", nil, usageError("--gpu-metrics samples the GPUs of this host: leave it out with --gather")
	}
	if !m.dryRun {
		err = os.Mkdir(dir, 0o700)
	}
	switch info, wrong := os.Stat(dir); {
	case wrong != nil:
		return "", nil, usageError("--gather: %v; name a directory on a file system that all hosts of the job see", cmp.Or(err, wrong))
	case !info.IsDir():
		return "", nil, usageError("--gather: %s is no directory", dir)
	}
	dir, err = filepath.Abs(dir) // the ranks may start elsewhere
	return dir, ranks, err
}

// limit is the time that one run may take, 0 for no limit: the flag, else the policy file, else what the baseline gives.
func (m *measureFlags) limit(w *thresholds.Workload, baselines app.Baselines) (time.Duration, error) {
	given := w.Timeout
	if m.timeout != "" {
		var err error
		if given, err = thresholds.ParseTimeout(m.timeout); err != nil {
			return 0, usageError("%s: %v", source(m.fs, "timeout"), err)
		}
	}
	if given == 0 {
		return baselines.Timeout(), nil
	}
	return max(given, 0), nil // none is negative
}

// within is the time that the runs of a check may take, 0 for any: the flag, else the policy file.
func (m *measureFlags) within(w *thresholds.Workload, by model.Profiler) (time.Duration, error) {
	given := w.Budget
	if m.budget != "" {
		var err error
		if given, err = thresholds.ParseTimeout(m.budget); err != nil {
			return 0, usageError("%s: %v", source(m.fs, "budget"), err)
		}
		if m.from != "" || by.ByLaunch() {
			return 0, usageError("--budget is for runs under nsys: leave it out with --from and --profiler ncu")
		}
	}
	if m.from != "" || by.ByLaunch() || m.usual == (runPlan{}) {
		return 0, nil // only a check has one
	}
	return max(given, 0), nil
}

// fixed refuses --runs LO..HI for a command with a fixed number of runs.
func (m *measureFlags) fixed(j *job, what string) error {
	if len(j.looks) > 1 {
		return usageError("--runs: a %s has a fixed number of runs, not %s", what, m.runs.String())
	}
	return nil
}

// printCommands is --dry-run.
func printCommands(e *env, lines []string) error {
	_, err := fmt.Fprintln(e.Out.As(terminal.Data), strings.Join(lines, "\n"))
	return err
}

// choose finds the workloads that are meant: those of the policy file that --workload names, by patterns too, else all that can
// be run. One that the file lacks has no command, and the name that was given, "default" where none was.
func (m *measureFlags) choose(p *thresholds.Policy, command []string) ([]thresholds.Workload, error) {
	single := command != nil || m.from != ""
	if len(m.workload) == 0 {
		runnable := slices.DeleteFunc(slices.Clone(p.Workloads), func(w thresholds.Workload) bool { return w.Command == nil })
		switch {
		case command != nil || len(p.Workloads) == 0:
			return []thresholds.Workload{{Name: "default"}}, nil
		case len(p.Workloads) == 1:
			return p.Workloads, nil
		case m.from != "" || len(runnable) == 0:
			return nil, usageError("%s has several workloads: name that of these profiles with --workload (%s)", p.File, names(p.Workloads))
		}
		return runnable, nil
	}
	var chosen []thresholds.Workload
	for _, pattern := range m.workload {
		found := false
		for _, w := range p.Workloads {
			if !thresholds.Glob(pattern).Match(w.Name) {
				continue
			}
			found = true
			if !slices.ContainsFunc(chosen, func(c thresholds.Workload) bool { return c.Name == w.Name }) {
				chosen = append(chosen, w)
			}
		}
		switch {
		case found:
		case single && !strings.ContainsAny(pattern, "*?"):
			chosen = append(chosen, thresholds.Workload{Name: pattern})
		case len(p.Workloads) == 0:
			return nil, usageError("no workload %q: there is no %s that names any; give its command after --", pattern, policyFile)
		default:
			return nil, usageError("no workload %q in %s; %sit has %s; the command of another goes after --", pattern, p.File,
				meant("", pattern, strings.Split(names(p.Workloads), ", ")), names(p.Workloads))
		}
	}
	if single && len(chosen) > 1 {
		return nil, usageError("--workload names several workloads (%s), and what is given is of one", names(chosen))
	}
	return chosen, nil
}

func names(workloads []thresholds.Workload) string {
	return strings.Join(mapped(workloads, func(w thresholds.Workload) string { return w.Name }), ", ")
}
