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
	runs     int
	timeout  time.Duration
	from     string
	keep     string
	trace    []string
	memory   bool
	busy     bool
	dryRun   bool
}

func (m *measureFlags) bind(fs *pflag.FlagSet) {
	fs.StringVar(&m.workload, "workload", "", "name of the workload, as in nsgate.toml and in the baseline")
	fs.StringVar(&m.baseline, "baseline", defaultBaseline, "directory of the committed baselines")
	fs.IntVar(&m.runs, "runs", 0, fmt.Sprintf("fresh processes to measure (default %d)", defaultRuns))
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
	name    string
	command []string // with its launcher; nil with --from
	dir     string
	runs    int
	timeout time.Duration
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
	j := &job{name: name, command: args.workload, runs: m.runs, timeout: m.timeout}
	if w, ok := p.Workload(name); ok {
		if j.command == nil {
			j.command, j.dir = w.Command, w.Dir
			if j.dir != "" && p.File != "" {
				j.dir = filepath.Join(filepath.Dir(p.File), j.dir)
			}
		}
		if j.command != nil {
			j.command = append(slices.Clone(w.Launcher), j.command...)
		}
		if j.runs == 0 {
			j.runs = w.Runs
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
	if j.runs == 0 {
		j.runs = defaultRuns
	}
	if j.runs < 1 || j.runs > 1000 {
		return nil, usageError("--runs: %d is not between 1 and 1000", j.runs)
	}
	if m.from != "" {
		if args.workload != nil {
			return nil, usageError("--from judges finished profiles: leave out the workload after --")
		}
		j.command = nil
		return j, nil
	}
	if j.command == nil {
		return nil, usageError("no workload: give its command after --, or a [[workload]] in %s", policyFile)
	}
	return j, nil
}

// plan is the session that measures a job.
func (m *measureFlags) plan(j *job) collect.Plan {
	return collect.Plan{
		Command: j.command, Dir: j.dir, Runs: j.runs, Timeout: j.timeout, Nsys: m.nsys,
		TraceArgs: m.trace, MemoryUsage: m.memory, AllowBusy: m.busy, KeepProfiles: m.keep,
	}
}

// printPlan is --dry-run.
func (m *measureFlags) printPlan(e *env, j *job) error {
	if m.from != "" {
		return usageError("--dry-run has nothing to show with --from")
	}
	for _, line := range m.plan(j).CommandLines() {
		words := make([]string, len(line))
		for i, w := range line {
			words[i] = quote(w)
		}
		fmt.Fprintln(e.Out, strings.Join(words, " "))
	}
	var workload []string
	for _, w := range j.command {
		workload = append(workload, quote(w))
	}
	fmt.Fprintf(e.Out, "# the runner starts the workload %d times: %s\n", j.runs, strings.Join(workload, " "))
	return nil
}

// measure runs the job, or reads the profiles of --from, and cuts what it got like the base, if there is one.
func (m *measureFlags) measure(ctx context.Context, e *env, j *job, base []measure.Session, quiet bool) ([]measure.Session, []string, error) {
	in := &input{}
	var warnings []string
	var result *collect.Result
	var err error
	if m.from != "" {
		in, err = m.load(ctx, m.from)
	} else {
		result, err = m.collect(ctx, e, j, quiet)
	}
	if err != nil {
		return nil, nil, err
	}
	if result != nil {
		warnings = result.Warnings
		for _, run := range result.Traces {
			in.traces = append(in.traces, run...)
		}
	}
	if err := m.sessions(&input{sessions: base}, in); err != nil {
		return nil, nil, err
	}
	for i := range in.sessions {
		s := &in.sessions[i]
		if s.Commit == "" {
			s.Commit = commit(ctx)
		}
		if result == nil {
			continue
		}
		s.ClockMHz = result.GPU.ClockMHz
		if s.Driver == "" && len(result.GPU.GPUs) > 0 {
			s.Driver = result.GPU.GPUs[0].Driver
		}
	}
	return in.sessions, warnings, nil
}

// collect runs the job with progress on standard error. The output of a workload that failed is shown there.
func (m *measureFlags) collect(ctx context.Context, e *env, j *job, quiet bool) (*collect.Result, error) {
	show := newProgress(e, quiet)
	result, err := collect.Collect(ctx, m.plan(j), show.event)
	show.done()
	var failed *collect.WorkloadError
	if errors.As(err, &failed) {
		e.showOutput(fmt.Sprintf("output of run %d of %d", failed.Index, failed.Runs), failed.Run.Output)
	}
	return result, err
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
