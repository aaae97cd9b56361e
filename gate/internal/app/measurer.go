package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/run"
	"github.com/nsgate/nsgate/gate/internal/run/profiler"
	"github.com/nsgate/nsgate/gate/internal/run/tools"
	"github.com/nsgate/nsgate/thresholds"
)

// Build is one build of the workload.
type Build = run.Build

// Measurer takes runs of a workload: with the profilers of this machine ([Live]) or from saved profiles ([Saved]).
type Measurer interface {
	// Measure takes so many further runs, each a fresh process, of the head, and interleaved with it of base where that
	// is not nil. It may be called again for more. A measurement that must not be judged is a *model.Refusal.
	Measure(ctx context.Context, runs int, base *Build) (*Measurement, error)
}

// Live is a Measurer with the profilers of this machine. Only one may measure at a time in a process.
type Live struct {
	// Options are the choices of a user. With GPUMetrics the GPU's metrics are sampled in runs of their own,
	// [GPUMetricRuns] of each build beside the first runs that are measured: sampling disturbs.
	run.Options
	Head Build
	// Unprofiled is how many unprofiled runs to take for each profiled one, interleaved with them: 1 for as many.
	Unprofiled float64
	Way        Way
	Filter     []string // of [filterOf]
	// Bounds are the rules that bound counters of kernels: one run of the head is counted for them.
	Bounds []thresholds.Rule
	// Selection says which launches are counted: of all kernels where it names none. The build, timeout and busy GPU
	// are those of Head and Options.
	Selection      profiler.Selection
	MayLackSamples bool // it is a warning that the GPU's metrics cannot be sampled
	// Limit is the time that the user gives a run, also under the counter; 0 for the defaults, negative for none.
	Limit   time.Duration
	Partial bool        // that of [run.Plan]
	Observe func(Event) // told how it goes, nil for nobody

	// Dump has a run of each build name the operations of its kernels: what is compared with it names them too. NoDump
	// spares a check the run for it: its baseline names none.
	Dump     bool
	NoDump   bool
	spent    result.Spent
	only     wanted   // kinds of runs that the next measurement is for; both where none is
	repeated string   // the warning that a session was measured twice because the profiler lost events
	models   []string // see [Live.Models]
	first    bool
	counted  bool // the counters that the policy bounds
	// sampledHead and sampledBoth say that the GPU's metrics were sampled: of the head alone, and of both builds.
	sampledHead, sampledBoth bool
}

// GPUMetricRuns is how many runs of a build sample the GPU's metrics: the fewest that break a bound for certain.
const GPUMetricRuns = 2

// Defaults of a session of counters, which replays each launch dozens of times. Few runs do: most metrics are counts.
const (
	CounterRuns    = 3
	counterTimeout = 10 * time.Minute
)

// Measure runs the builds under the profiler and reads what it recorded. Nothing is left: no process, no file.
func (m *Live) Measure(ctx context.Context, runs int, base *Build) (*Measurement, error) {
	if m.Way.Counts {
		return m.count(ctx, runs, base)
	}
	out := &Measurement{here: sync.OnceValues(func() (string, error) { return commit(ctx) })}
	var asking sync.WaitGroup
	asking.Go(func() { _, _ = out.here() }) // while the profiler starts
	defer asking.Wait()
	p := m.plan(runs, base)
	result, err := run.Session(ctx, p, m.Observe)
	failed := (*run.WorkloadError)(nil)
	if p.Dump.XLA && errors.As(err, &failed) && failed.Index <= 2 && ctx.Err() == nil {
		p.Dump.XLA = false // a program may fail where XLA dumps its programs
		if result, err = run.Session(ctx, p, m.Observe); err == nil {
			m.Dump, m.NoDump = false, true
			out.warn(run.Dump{XLA: true}.NamesAlone(failed))
		}
	}
	if result, err = m.ended(result, err); err != nil {
		return nil, err
	}
	out.Base.Traces, out.Head.Traces = result.Split()
	out.operations = result.Operations
	m.dump(ctx, base, out)
	out.Base.Unprofiled, out.Head.Unprofiled = result.Base, result.Head
	for _, run := range result.Runs {
		out.Longest = max(out.Longest, run.Duration)
		if !run.Base {
			out.printed = append(out.printed, run.Output)
		}
	}
	out.Base.Outputs, out.Head.Outputs = m.Outputs, m.Outputs
	out.Base.Place, out.Head.Place = result.Place, result.Place
	if base == nil {
		out.command = m.Head.Hash()
	}
	// Later measurements begin with the options that worked.
	m.Starts = result.Starts
	m.AllDomains, m.NoNVTX, m.Forks = result.Recorded.AllDomains, result.Recorded.NoNVTX, result.Recorded.Forks
	m.repeated = cmp.Or(m.repeated, result.Repeated)
	if m.repeated != "" {
		out.Warnings = append(out.Warnings, m.repeated)
	}
	out.warn(result.Undumped)
	out.loaded = result.Loaded
	out.Warnings = append(append(out.Warnings, result.Warnings...), model.Doubts(slices.Concat(result.Traces...))...)
	for _, s := range result.GPU.Slowdowns {
		if s.Unsound() {
			out.Throttled = cmp.Or(out.Throttled, s.String())
		} else {
			out.slowed = append(out.slowed, s.String())
		}
	}
	if err := m.countBeside(ctx, out); err != nil {
		return nil, err
	}
	sampled := measure.Either(base != nil, &m.sampledBoth, &m.sampledHead)
	if m.GPUMetrics && !*sampled && ctx.Err() == nil {
		*sampled = true
		if err := m.sample(ctx, base, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// dump runs the builds once more for the operations behind kernels of XLA, where no session has dumped them yet. The
// next session dumps in one of its runs.
func (m *Live) dump(ctx context.Context, base *Build, out *Measurement) {
	if m.Dump || m.NoDump || !m.Way.Alone || !fused(out.Head.Traces) {
		return
	}
	m.Dump = true
	tell(m.Observe, Event{Stage: run.Begun, Text: "running once more for the operations behind kernels of XLA"})
	p := m.plan(1, base)
	p.Runs, p.Unprofiled, p.Outputs, p.Results = 0, 1, nil, nil
	own, err := m.ended(run.Session(ctx, p, nil))
	if err != nil {
		out.warn(run.Dump{XLA: true}.NamesAlone(err))
		return
	}
	out.operations = own.Operations
	out.warn(own.Undumped)
}

// warn adds a warning, none for nil.
func (m *Measurement) warn(err error) {
	if err != nil {
		m.Warnings = append(m.Warnings, err.Error())
	}
}

// sample adds runs in which the GPU's metrics are sampled.
func (m *Live) sample(ctx context.Context, base *Build, out *Measurement) error {
	result, err := m.ended(run.Session(ctx, m.sampling(base), m.Observe))
	if r := (*model.Refusal)(nil); m.MayLackSamples && errors.As(err, &r) && r.Kind == model.NoGPUMetrics {
		out.Warnings = append(out.Warnings, r.Reason)
		return nil
	}
	if err == nil {
		base, head := result.Split()
		out.Base.Traces, out.Head.Traces = append(out.Base.Traces, base...), append(out.Head.Traces, head...)
	}
	return err
}

// ended tells the observer of the end of a session, and notes its time.
func (m *Live) ended(result *run.Result, err error) (*run.Result, error) {
	tell(m.Observe, Event{Stage: run.Done})
	if err == nil {
		spend(&m.spent, result)
	}
	if failed := (*run.WorkloadError)(nil); errors.As(err, &failed) {
		of := fmt.Sprintf("run %d of %d", failed.Index, failed.Runs)
		if s := failed.Run.Server; s != nil {
			tell(m.Observe, Event{Stage: run.Failed, Text: "output of the server of " + of, Output: s.Output})
		}
		tell(m.Observe, Event{Stage: run.Failed, Text: "output of " + of, Output: failed.Run.Output})
	}
	return result, err
}

// fusion is the name of a kernel that XLA made.
var fusion = input.Pattern(`(?:^|_)fusion(?:_|$)|^wrapped_[a-z_]+$`)

// inductor is the name of a kernel that torch.compile made with Triton.
var inductor = input.Pattern(`^triton_[a-z]{2,4}_`)

// fused reports whether XLA made some of the kernels.
func fused(traces []model.Trace) bool {
	return slices.ContainsFunc(traces, func(t model.Trace) bool {
		return slices.ContainsFunc(t.Kernels,
			func(k model.KernelInfo) bool { return fusion().MatchString(k.Subject.Short()) })
	})
}

func (m *Live) sampling(base *Build) run.Plan {
	p := m.plan(GPUMetricRuns, base)
	p.GPUMetrics, p.MemoryUsage, p.Unprofiled, p.Outputs, p.Dump = true, false, 0, nil, run.Dump{}
	return p
}

// profiled records one run of each build beside those that are judged.
func (m *Live) profiled(ctx context.Context, base *Build, stacks bool, dump run.Dump) (*run.Result, error) {
	p := m.plan(1, base)
	p.Dump = measure.Either(m.Way.Alone, dump, run.Dump{})
	p.Runs, p.Stacks, p.MemoryUsage, p.KeepProfiles, p.Unprofiled, p.Outputs = 1, stacks, false, "", 0, nil
	return run.Session(ctx, p, nil)
}

// Of measures another build as the head.
func (m *Live) Of(head Build) *Live {
	one := *m
	one.Head = head
	return &one
}

// counting counts the launches of a selection.
func (m *Live) counting(s profiler.Selection) *Live {
	one := *m
	one.Way, one.Selection = Way{Live: true, Counts: true}, s
	return &one
}

// Models are the GPU models that a workload sees here, and whether the first is that of the GPU which it takes by
// itself; none if they are not known, if a workload gets a part of a GPU (MIG), or if none is run.
func (m *Live) Models(ctx context.Context) (models []string, first bool) {
	if m.models != nil || !m.Way.Live {
		return m.models, m.first
	}
	gpus, err := tools.GPUs().GPUs(ctx)
	if err != nil {
		return nil, false
	}
	gpus, first = tools.GPUs().Visible(gpus)
	for _, g := range gpus {
		if g.MIG {
			return nil, false
		}
		models = append(models, g.Name)
	}
	m.models, m.first = models, first
	return models, first
}

// wanted are kinds of runs.
type wanted struct{ profiled, unprofiled bool }

func (m *Live) plan(runs int, base *Build) run.Plan {
	p := run.Plan{Options: m.Options, Device: tools.GPUs(), Head: m.Head, Base: base, Runs: runs,
		Unprofiled: int(math.Round(float64(runs) * m.Unprofiled))}
	p.GPUMetrics, p.Partial, p.Dump.XLA = false, m.Partial, m.Dump && m.Way.Alone
	if m.Way.Unprofiled {
		p.Runs, p.Unprofiled = 0, runs
		return p
	}
	switch m.only {
	case wanted{profiled: true}:
		p.Unprofiled = 0
	case wanted{unprofiled: true}:
		p.Runs = 1
	}
	return p
}

func (m *Live) counterPlan() run.CounterPlan {
	return run.CounterPlan{Selection: m.Selection, Counter: tools.Counter, Build: m.Head, Device: tools.GPUs(),
		Timeout: cmp.Or(m.Limit, max(m.Timeout, counterTimeout)), AllowBusy: m.AllowBusy}
}

// Commands are the shell lines, with comments, of Measure for looks; DIR and XXXXXX are names that are chosen later.
func (m *Live) Commands(looks []int, base *Build) []string {
	if m.Way.Counts {
		plan := m.counterPlan()
		out := []string{thresholds.JoinCommand(plan.CommandLine()),
			fmt.Sprintf("# %d times, each a fresh process; DIR is a private directory", looks[0])}
		if base != nil {
			plan.Build = *base
			out = append(out, "# interleaved with the base:", thresholds.JoinCommand(plan.CommandLine()))
		}
		return out
	}
	plan := m.plan(looks[0], base)
	out := shell(plan.CommandLines())
	order := strings.Join(plan.Order(), " ")
	each := measure.Either(plan.Timeout > 0, fmt.Sprintf(", each for at most %s", plan.Timeout), "")
	switch {
	case !m.Way.Local:
		out = append(out, fmt.Sprintf("# %d times, each a job: %s; its ranks start %s themselves", len(plan.Order()),
			order, plan.Profiler.Tool().Name))
	case base != nil:
		out = append(out, fmt.Sprintf("# the runner starts both builds %d times%s: %s", plan.Runs+plan.Unprofiled, each,
			order),
			"# base: "+thresholds.JoinCommand(base.Command), "# head: "+thresholds.JoinCommand(m.Head.Command))
	default:
		times, without := plan.Runs, " without "+plan.Profiler.Tool().Name
		switch {
		case plan.Runs == 0:
			times, each = plan.Unprofiled, without+each
		case plan.Unprofiled > 0:
			each = fmt.Sprintf(", interleaved %s", measure.Count(plan.Unprofiled, "time")) + without + each
		}
		out = append(out, fmt.Sprintf("# the runner starts the workload %d times%s: %s", times, each,
			thresholds.JoinCommand(m.Head.Command)))
	}
	if m.Head.Served() {
		out = append(out, "# a run starts when its server is ready: "+thresholds.JoinCommand(m.Head.Server))
	}
	if base.Served() {
		out = append(out, "# the server of the base: "+thresholds.JoinCommand(base.Server))
	}
	for _, r := range m.Bounds {
		out = append(out, fmt.Sprintf("# then %s once, for the counter that %s bounds", tools.Counter.Tool().Name,
			r.Where))
	}
	if m.GPUMetrics {
		plan := m.sampling(base)
		out = append(out, fmt.Sprintf("# then for the GPU's metrics, %d times:", plan.Runs))
		out = append(out, shell(plan.CommandLines())...)
	}
	for _, n := range looks[1:] {
		out = append(out, fmt.Sprintf("# while a comparison is undecided: the same again, up to %d times in all", n))
	}
	return out
}

func shell(commands [][]string) []string { return measure.Map(commands, thresholds.JoinCommand) }

func (m *Live) count(ctx context.Context, runs int, base *Build) (*Measurement, error) {
	c, err := run.Count(ctx, m.counterPlan(), base, runs, func(isBase bool, index, of int) {
		side := measure.Either(base != nil, " (head)", "")
		if isBase {
			side = " (base)"
		}
		text := fmt.Sprintf("run %d of %d under %s%s", index+1, of, tools.Counter.Tool().Name, side)
		tell(m.Observe, Event{Stage: run.Begun, Text: text})
	})
	if err != nil {
		return nil, err
	}
	out := &Measurement{Place: c.Environment, Warnings: c.Warnings}
	out.Base.Counters, out.Head.Counters = c.Base, c.Head
	return out, nil
}

// countBeside counts the kernels that [Live.Bounds] are about in one run of the head; a refusal is a warning.
func (m *Live) countBeside(ctx context.Context, out *Measurement) error {
	own := *m
	own.Selection.Kernels = slices.Clone(m.Selection.Kernels)
	for i := range out.Head.Traces {
		for _, k := range out.Head.Traces[i].Kernels {
			bounded := slices.ContainsFunc(m.Bounds, func(r thresholds.Rule) bool { return r.Selects(k.Subject, nil) })
			if bounded && !slices.Contains(own.Selection.Kernels, k.Subject.Short()) {
				own.Selection.Kernels = append(own.Selection.Kernels, k.Subject.Short())
			}
		}
	}
	if m.counted || len(own.Selection.Kernels) == 0 || ctx.Err() != nil {
		return nil
	}
	m.counted = true
	counted, err := own.count(ctx, 1, nil)
	if refusal := (*model.Refusal)(nil); errors.As(err, &refusal) {
		out.Warnings = append(out.Warnings, refusal.Reason)
		return nil
	} else if err != nil {
		return err
	}
	for _, r := range m.Bounds {
		metric, _ := r.InFull()
		out.Head.Beside = append(out.Head.Beside, metric)
	}
	out.Head.Counters, out.Warnings = counted.Head.Counters, append(out.Warnings, counted.Warnings...)
	return nil
}
