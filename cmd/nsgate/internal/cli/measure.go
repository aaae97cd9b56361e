package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/gate/baseline"
	"github.com/nsgate/nsgate/gate/collect"
	"github.com/nsgate/nsgate/gate/measure"
	"github.com/nsgate/nsgate/thresholds"
)

// defaultRuns is how many fresh processes a session has.
const defaultRuns = 5

// defaultBaseline is where baselines are kept, below the working directory.
const defaultBaseline = ".nsgate"

// measureFlags say what to run and how.
type measureFlags struct {
	sampleFlags
	workload string
	baseline string
	runs     runPlan
	timeout  time.Duration
	from     string
	keep     string
	trace    []string
	memory   bool
	busy     bool
	dryRun   bool
	// repeated is the warning that nsys needed an argument that trace has held since; nil where it did not.
	repeated []string
	profiler string // "nsys", "ncu"; "" where the command has no choice
}

func (m *measureFlags) bind(fs *pflag.FlagSet) {
	fs.StringVar(&m.workload, "workload", "", "name of the workload, as in nsgate.toml and in the baseline")
	fs.StringVar(&m.baseline, "baseline", defaultBaseline, "directory of the committed baselines")
	fs.Var(&m.runs, "runs", fmt.Sprintf("fresh processes to measure; for check also LO..HI: go on to HI while undecided (default %d)", defaultRuns))
	fs.DurationVar(&m.timeout, "timeout", 0, "time that one run may take, such as 90s (default none)")
	fs.StringVar(&m.from, "from", "", "judge these profiles instead of running the workload: a file or a directory, as for compare")
	m.sampleFlags.bind(fs)
	fs.StringArrayVar(&m.trace, "nsys-arg", nil, "further argument of nsys profile, repeatable: --nsys-arg=--nvtx-domain-exclude=TSL")
	fs.BoolVar(&m.memory, "memory-usage", false, "trace allocations too and judge the peak of device memory")
	fs.BoolVar(&m.busy, "allow-busy", false, "measure although something else uses the GPU")
	fs.StringVar(&m.keep, "keep-profiles", "", "keep the raw report in this directory; it holds environment variables: never publish it")
	fs.BoolVar(&m.dryRun, "dry-run", false, "print the exact commands and stop")
}

// job is a workload that is about to be measured.
type job struct {
	name     string
	command  []string // with its launcher; nil with --from
	launcher []string
	dir      string
	runs     int   // of the first look
	looks    []int // the numbers of runs after which to judge
	timeout  time.Duration
	// counters says what to profile with ncu, nil for nsys.
	counters *collect.NcuPlan
}

// resolve finds out what to measure: what follows "--", or a workload of the policy file. What the file says of the
// workload fills in for flags that were not given.
func (m *measureFlags) resolve(p *thresholds.Policy, args arguments) (*job, error) {
	if len(args.own) > 0 {
		return nil, usageError("unexpected argument %q; put the workload after --", args.own[0])
	}
	name := m.workload
	if name == "" && args.workload == nil && len(p.Workloads) > 0 {
		if len(p.Workloads) > 1 {
			var names []string
			for _, w := range p.Workloads {
				names = append(names, w.Name)
			}
			return nil, usageError("%s has several workloads: choose one with --workload (%s)", p.File, strings.Join(names, ", "))
		}
		name = p.Workloads[0].Name
	}
	j := &job{name: name, command: args.workload, timeout: m.timeout}
	runs := m.runs
	if w, ok := p.Workload(name); ok {
		if j.command == nil {
			j.command, j.dir = w.Command, w.Dir
			if j.dir != "" && p.File != "" {
				j.dir = filepath.Join(filepath.Dir(p.File), j.dir)
			}
		}
		if j.command != nil {
			j.launcher = w.Launcher
			j.command = append(slices.Clone(w.Launcher), j.command...)
		}
		if runs == (runPlan{}) && m.profiler != "ncu" {
			runs = runPlan{w.Runs, w.Runs}
		}
		if j.timeout == 0 {
			j.timeout = w.Timeout
		}
		if m.warmup == "" {
			m.warmup = w.Warmup
		}
		if m.step == "" {
			m.step = w.Step
		}
	} else if m.workload != "" && j.command == nil && m.from == "" {
		return nil, usageError("no workload %q in the policy file; give its command after --", m.workload)
	}
	if j.name == "" {
		j.name = "default"
	}
	if runs == (runPlan{}) {
		runs = runPlan{defaultRuns, defaultRuns}
		if m.profiler == "ncu" {
			runs = runPlan{ncuRuns, ncuRuns}
		}
	}
	j.runs, j.looks = runs.first, runs.looks()
	if m.from != "" {
		if args.workload != nil {
			return nil, usageError("--from judges finished profiles: leave out the workload after --")
		}
		j.command, j.looks = nil, j.looks[:1]
		return j, nil
	}
	if j.command == nil {
		return nil, usageError("no workload: give its command after --, or a [[workload]] in %s", policyFile)
	}
	return j, nil
}

// plan is the session that measures a job, beside a base build where there is one.
func (m *measureFlags) plan(j *job, runs int, base *collect.Build) collect.Plan {
	return collect.Plan{
		Head: collect.Build{Command: j.command, Dir: j.dir}, Base: base, Runs: runs, Timeout: j.timeout, Nsys: m.nsys,
		TraceArgs: m.trace, MemoryUsage: m.memory, AllowBusy: m.busy, KeepProfiles: m.keep,
	}
}

// printPlan is --dry-run of one measurement.
func (m *measureFlags) printPlan(e *env, j *job, looks []int, base *collect.Build) error {
	if m.from != "" {
		return usageError("--dry-run has nothing to show with --from")
	}
	plan := m.plan(j, looks[0], base)
	if j.counters != nil {
		fmt.Fprintln(e.Out, quoteAll(j.counters.CommandLine()))
		fmt.Fprintf(e.Out, "# %d times, each a fresh process; DIR is a private directory\n", looks[0])
		if base != nil {
			counters := *j.counters
			counters.Build = *base
			fmt.Fprintln(e.Out, "# by turns with the base:")
			fmt.Fprintln(e.Out, quoteAll(counters.CommandLine()))
		}
		return nil
	}
	for _, line := range plan.CommandLines() {
		fmt.Fprintln(e.Out, quoteAll(line))
	}
	if base == nil {
		fmt.Fprintf(e.Out, "# the runner starts the workload %d times: %s\n", plan.Runs, quoteAll(j.command))
	} else {
		fmt.Fprintf(e.Out, "# the runner starts both builds %d times: %s\n", plan.Runs, strings.Join(plan.Order(), " "))
		fmt.Fprintf(e.Out, "# base: %s\n# head: %s\n", quoteAll(base.Command), quoteAll(j.command))
	}
	for _, n := range looks[1:] {
		fmt.Fprintf(e.Out, "# while a comparison is undecided: the same again, up to %d times in all\n", n)
	}
	return nil
}

func quoteAll(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quote(w)
	}
	return strings.Join(quoted, " ")
}

// measured is what was measured so far.
type measured struct {
	base, head input // base is empty unless a base build is measured beside the head
	baseCommit string
	counted    measure.Environment // of what ncu measured here
	warnings   []string
}

// warn adds warnings, each once.
func (to *measured) warn(warnings []string) {
	for _, w := range warnings {
		if !slices.Contains(to.warnings, w) {
			to.warnings = append(to.warnings, w)
		}
	}
}

// take runs the job a number of times, beside the base build where there is one, or reads the profiles of --from, and
// adds what it got.
func (m *measureFlags) take(ctx context.Context, e *env, j *job, runs int, base *collect.Build, quiet bool, to *measured) error {
	if m.from != "" {
		in, err := m.load(ctx, m.from)
		if err == nil {
			to.head = *in
			to.warn(in.warnings)
		}
		return err
	}
	if j.counters != nil {
		return m.count(ctx, e, *j.counters, runs, base, quiet, to)
	}
	show := newProgress(e, quiet)
	result, err := collect.Collect(ctx, m.plan(j, runs, base), show.event)
	show.done()
	var failed *collect.WorkloadError
	if errors.As(err, &failed) {
		e.showOutput(fmt.Sprintf("output of run %d of %d", failed.Index, failed.Runs), failed.Run.Output)
	}
	if err != nil {
		return err
	}
	b, h := result.Split()
	to.base.traces = append(to.base.traces, b...)
	to.head.traces = append(to.head.traces, h...)
	if result.Repeated != "" { // once is enough: what follows is measured as worked here
		m.trace, m.repeated = result.TraceArgs, []string{result.Repeated}
	}
	to.warn(m.repeated)
	to.warn(result.Warnings)
	return nil
}

// cut makes sessions of what was measured, all of it cut alike and like the finished sessions, if there are some.
func (m *measureFlags) cut(ctx context.Context, like []measure.Session, from *measured) (base, head []measure.Session, err error) {
	b, h := from.base, from.head
	if err := m.sessions(&input{sessions: like}, &b, &h); err != nil {
		return nil, nil, err
	}
	for i := range b.sessions {
		b.sessions[i].Commit = from.baseCommit
		placed(&b.sessions[i], from.counted)
	}
	for i := range h.sessions {
		placed(&h.sessions[i], from.counted)
		if s := &h.sessions[i]; s.Commit == "" {
			s.Commit = commit(ctx)
		}
	}
	return b.sessions, h.sessions, nil
}

// commit is the commit that is checked out, "" where git does not say.
func commit(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "git", "rev-parse", "--verify", "--quiet", "HEAD").Output()
	id := strings.TrimSpace(string(out))
	if err != nil || len(id) < 12 || strings.Trim(id, "0123456789abcdef") != "" {
		return ""
	}
	return id[:12]
}

// baselines reads the sessions of every GPU model that a workload has a baseline of.
func (m *measureFlags) baselines(workload string) (map[string][]measure.Session, error) {
	root := filepath.Dir(baseline.Dir(m.baseline, workload, "x"))
	entries, err := os.ReadDir(root)
	if err != nil && !missing(err) {
		return nil, err
	}
	out := map[string][]measure.Session{}
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		dir := filepath.Join(root, entry.Name())
		sessions, err := baseline.Read(dir)
		switch {
		case missing(err):
		case err != nil:
			return nil, err
		default:
			out[dir] = sessions
		}
	}
	return out, nil
}
