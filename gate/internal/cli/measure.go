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
	"github.com/nsgate/nsgate/thresholds"
)

// sampleFlags say how traces are cut, and what reads them.
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

// measureFlags say what to run and how.
type measureFlags struct {
	sampleFlags
	workload words
	baseline string
	runs     runPlan
	bare     int
	timeout  timeLimit
	from     string
	keep     string
	trace    []string
	memory   bool
	metrics  bool
	busy     bool
	dryRun   bool
	gather   string
	ranks    string
	fs       *pflag.FlagSet
}

func (m *measureFlags) bind(fs *pflag.FlagSet) {
	fs.VarP(&m.workload, "workload", "w", "name of the workload, as in nsgate.toml and in the baseline, repeatable; * and ? are wildcards (default: all of nsgate.toml)")
	fs.Var((*once)(&m.baseline), "baseline", "directory of the committed baselines (default .nsgate beside nsgate.toml, else here)")
	fs.VarP(&m.runs, "runs", "n", fmt.Sprintf("fresh processes to measure; for check also LO..HI: go on to HI while undecided (default %d)", app.DefaultRuns))
	m.fs = fs
	fs.IntVar(&m.bare, "bare", 0, "runs without a profiler, by turns with the others, in which outputs are read (default as many as --runs where the workload has an output, else none)")
	fs.Var(&m.timeout, "timeout", "time that one run may take, such as 90s, or none (default 10 times the longest run of the baseline, at least 5m; none where that is not known)")
	fs.Var((*once)(&m.from), "from", "judge these profiles instead of running the workload: a file or a directory, as for compare")
	m.sampleFlags.bind(fs)
	fs.StringArrayVar(&m.trace, "nsys-arg", nil, "further argument of nsys profile, repeatable: --nsys-arg=--nvtx-domain-exclude=TSL")
	fs.BoolVar(&m.memory, "memory-usage", false, "trace allocations too and judge the peak of the device memory that is requested")
	fs.BoolVar(&m.busy, "allow-busy", false, "measure although something else uses the GPU")
	fs.StringVar(&m.keep, "keep-profiles", "", "keep the raw report in this directory; it holds environment variables: never publish it")
	fs.StringVar(&m.gather, "gather", "", "directory that all hosts of a job see: nsys runs around each rank, see nsgate rank")
	fs.StringVar(&m.ranks, "ranks", "", "with --gather: profile these ranks only, such as 0,7 or 0-3 (default all)")
	fs.BoolVar(&m.dryRun, "dry-run", false, "print the exact commands and stop")
}

// untraced is how many untraced runs there are for each traced one, of which there are so many.
func (m *measureFlags) untraced(w *thresholds.Workload, by model.Profiler, runs int) (float64, error) {
	switch given := m.fs.Changed("bare"); {
	case m.bare < 0 || m.bare > maxRuns:
		return 0, usageError("--bare: %d is not between 0 and %d", m.bare, maxRuns)
	case m.bare > 0 && by.ByLaunch():
		return 0, usageError("--bare takes runs beside those of nsys: leave it out with --profiler ncu")
	case given:
		return float64(m.bare) / float64(runs), nil
	case len(w.Outputs) > 0 && !by.ByLaunch():
		return 1, nil
	}
	return 0, nil
}

// bindMetrics binds what calibrate has no use for.
func (m *measureFlags) bindMetrics(fs *pflag.FlagSet) {
	fs.BoolVar(&m.metrics, "gpu-metrics", false, "sample the GPU's metrics too, in two further runs: SM, tensor cores, DRAM, PCIe, NVLink")
}

// job is a workload that is about to be measured.
type job struct {
	name      string
	root      string // of the baselines
	baselines app.Baselines
	policy    *thresholds.Policy
	build     app.Build // with its launcher; no command with --from
	launcher  []string  // in front of a command where nsys runs around both
	gates     int       // runs a side that the policy file gives it, 0 for none
	looks     []int     // numbers of runs after which to judge
	rule      profile.Rule
	progress  func(app.Event)
	measurer  app.Measurer
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
	case m.from != "" && m.metrics:
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
		j, err := m.job(p, &chosen[i], workload, by, progress)
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
		var of []string
		for _, j := range jobs {
			of = append(of, j.name)
		}
		return nil, usageError("this is about one workload at a time: choose one with --workload (%s)", strings.Join(of, ", "))
	}
	return jobs[0], nil
}

// job is what to do with one workload of a policy.
func (m *measureFlags) job(p *thresholds.Policy, w *thresholds.Workload, command []string, by model.Profiler, progress func(app.Event)) (*job, error) {
	j := &job{name: w.Name, root: kept(m.baseline, p.File), gates: w.Runs, progress: progress, policy: p.For(w.Name)}
	var err error
	j.rule, err = (&sampleFlags{warmup: cmp.Or(m.warmup, w.Warmup), step: cmp.Or(m.step, w.Step)}).rule()
	switch {
	case err != nil:
		return nil, err
	case command != nil:
		j.build.Command = command
	case m.from == "" && w.Command != nil:
		j.build = app.Build{Command: w.Command, Dir: w.Dir}
		if at := filepath.Join(home(p.File), w.Dir); at != "." {
			j.build.Dir = at
		}
	case m.from == "" && w.Where != "":
		return nil, usageError("workload %q has no command (%s); give it after --, or finished profiles with --from", w.Name, w.Where)
	case m.from == "":
		return nil, usageError("no workload: give its command after --, or a [[workload]] in %s", policyFile)
	}
	if j.baselines, err = app.ReadBaselines(j.root, j.name); err != nil {
		return nil, err
	}
	gather, ranks, err := m.gathers(p, w, by)
	switch {
	case err != nil:
		return nil, err
	case j.build.Command != nil && gather != "":
		j.build.Launcher = w.Launcher
	case j.build.Command != nil:
		j.launcher = w.Launcher
		j.build.Command = slices.Concat(w.Launcher, j.build.Command)
	}
	usual := cmp.Or(w.Runs, app.DefaultRuns)
	if by.ByLaunch() {
		usual = app.CounterRuns
	}
	j.looks = cmp.Or(m.runs, runPlan{usual, usual}).looks()
	if m.from != "" {
		j.looks = j.looks[:1]
		j.measurer = &app.Finished{Path: m.from, Tools: profile.Tools{Nsys: m.nsys}}
		return j, nil
	}
	bare, err := m.untraced(w, by, cmp.Or(m.runs.first, j.looks[0]))
	if err != nil {
		return nil, err
	}
	machine := &app.Machine{
		Head: j.build, Timeout: m.limit(w, j.baselines), Nsys: m.nsys, Args: m.trace, MemoryUsage: m.memory, GPUMetrics: m.metrics, AllowBusy: m.busy,
		KeepProfiles: m.keep, Observe: j.progress, Bare: bare, Gather: gather, Ranks: ranks,
	}
	for _, o := range w.Outputs {
		machine.Outputs = append(machine.Outputs, o.Output)
	}
	j.measurer = machine
	return j, nil
}

// gathers is where a job of several hosts leaves what its ranks record, and which of them do; "" where nsys runs around the workload.
func (m *measureFlags) gathers(p *thresholds.Policy, w *thresholds.Workload, by model.Profiler) (dir string, ranks []int, err error) {
	if dir = w.Gather; dir != "" && p.File != "" && !filepath.IsAbs(dir) {
		dir = filepath.Join(filepath.Dir(p.File), dir)
	}
	dir = cmp.Or(m.gather, dir)
	if ranks, err = thresholds.ParseRanks(cmp.Or(m.ranks, w.Ranks)); err != nil {
		return "", nil, usageError("--ranks: %v", err)
	}
	switch info, err := os.Stat(dir); {
	case m.from != "" || dir == "" && ranks == nil:
		return "", nil, nil
	case dir == "":
		return "", nil, usageError("--ranks chooses among the ranks of a job that is gathered: give --gather too")
	case by.ByLaunch():
		return "", nil, usageError("ncu profiles one process alone: leave out --gather with --profiler ncu")
	case m.keep != "":
		return "", nil, usageError("--keep-profiles keeps no reports of ranks, which lie on other hosts: nsgate rank --gather keeps their exports")
	case m.metrics:
		return "", nil, usageError("--gpu-metrics samples the GPUs of this host: leave it out with --gather")
	case err != nil:
		return "", nil, usageError("--gather: %v; make it on a file system that all hosts of the job see", err)
	case !info.IsDir():
		return "", nil, usageError("--gather: %s is no directory", dir)
	}
	dir, err = filepath.Abs(dir) // the ranks may start elsewhere
	return dir, ranks, err
}

// limit is the time that one run may take, 0 for no limit: what was given, else what the baseline makes of it.
func (m *measureFlags) limit(w *thresholds.Workload, baselines app.Baselines) time.Duration {
	switch given := cmp.Or(time.Duration(m.timeout), w.Timeout); {
	case given == thresholds.NoTimeout:
		return 0
	case given > 0:
		return given
	}
	return baselines.Timeout()
}

// fixed refuses --runs LO..HI for what has one number of runs.
func (m *measureFlags) fixed(j *job, what string) error {
	if len(j.looks) > 1 {
		return usageError("--runs: a %s has a fixed number of runs, not %s", what, m.runs.String())
	}
	return nil
}

// printCommands is --dry-run.
func printCommands(e *env, commands []app.Command) error {
	for _, c := range commands {
		line := thresholds.JoinCommand(c.Words)
		if c.Remark != "" {
			if line != "" {
				line += "  "
			}
			line += "# " + c.Remark
		}
		if len(c.Last) > 0 {
			line += " " + thresholds.JoinCommand(c.Last)
		}
		fmt.Fprintln(e.Out, line)
	}
	return nil
}

// counterFlags say what to profile with Nsight Compute.
type counterFlags struct{ app.Counters }

func (f *counterFlags) bind(fs *pflag.FlagSet) {
	fs.StringArrayVar(&f.Kernels, "kernel", nil, "for ncu: profile and judge this kernel only, by its short name, repeatable (default those of the baseline)")
	fs.IntVar(&f.Skip, "launch-skip", app.CounterSkip, "for ncu: let the first launches of each kernel and geometry by")
	fs.IntVar(&f.Count, "launch-count", app.CounterCount, "for ncu: profile so many launches of each kernel and geometry")
	fs.StringVar(&f.Range, "nvtx-range", "", `for ncu: only launches within this NVTX range, as ncu's --nvtx-include has it ("step/")`)
}

func (f *counterFlags) check(counted bool) error {
	switch {
	case f.Skip < 0:
		return usageError("--launch-skip: %d is negative", f.Skip)
	case f.Count < 1:
		return usageError("--launch-count: at least one launch is profiled, not %d", f.Count)
	case len(f.Kernels) > 0 && !counted:
		return usageError("--kernel says what ncu profiles; add --profiler ncu, or --ncu to record")
	case slices.Contains(f.Kernels, ""):
		return usageError("--kernel is empty; leave it out to profile what the baseline has")
	}
	return nil
}

// baseFlags name another build of the workload, to be measured beside the head.
type baseFlags struct {
	command, ref, build string
	paired              bool
	fs                  *pflag.FlagSet
}

func (b *baseFlags) bind(fs *pflag.FlagSet) {
	fs.Var((*once)(&b.command), "base-cmd", "command of a base build to measure by turns with the head (default: the workload's own)")
	fs.Var((*once)(&b.ref), "base-ref", "git revision of a base build: checked out in a temporary worktree, and the workload run there")
	fs.StringVar(&b.build, "build", "", "shell command that builds the worktree of --base-ref, run where nsgate runs here")
	fs.BoolVar(&b.paired, "paired", false, "measure the base build at once, whatever the committed baseline says")
	b.fs = fs
}

// resolve finds out what the base build of a job is, nil for none. It changes nothing yet.
func (b *baseFlags) resolve(ctx context.Context, e *env, from string, j *job) (*app.Base, error) {
	for _, name := range []string{"base-cmd", "base-ref", "build"} {
		if f := b.fs.Lookup(name); f.Changed && strings.TrimSpace(f.Value.String()) == "" {
			return nil, usageError("--%s is empty; leave it out, or say which base is meant", name)
		}
	}
	switch {
	case b.build != "" && b.ref == "":
		return nil, usageError("--build builds the worktree of --base-ref, which is missing")
	case b.command == "" && b.ref == "" && b.paired:
		return nil, usageError("--paired needs a base build: --base-ref or --base-cmd")
	case b.command == "" && b.ref == "":
		return nil, nil
	case from != "":
		return nil, usageError("--from judges finished profiles: there is no head to measure a base build beside")
	}
	base := &app.Base{Build: j.build, Script: b.build}
	if b.command != "" {
		words, err := thresholds.SplitCommand(b.command)
		if err != nil {
			return nil, usageError("--base-cmd: %v", err)
		}
		base.Build.Command = slices.Concat(j.launcher, words)
	}
	if b.ref == "" {
		return base, nil
	}
	if err := base.At(ctx, b.ref); err != nil {
		return nil, usageError("--base-ref: %v", err)
	}
	if err := base.Separate(e.getenv); err != nil {
		return nil, usageError("%w, or give the base's own command with --base-cmd", err)
	}
	return base, nil
}
