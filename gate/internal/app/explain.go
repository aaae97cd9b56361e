package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate/internal/explain/insight"
	"github.com/nsgate/nsgate/gate/internal/explain/why"
	"github.com/nsgate/nsgate/gate/internal/git"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/counters"
	"github.com/nsgate/nsgate/gate/internal/read/profile"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/run"
	"github.com/nsgate/nsgate/gate/internal/run/profiler"
	"github.com/nsgate/nsgate/gate/internal/run/tools"
)

// Explain says which regressions are explained by counters.
type Explain string

// ExplainAuto explains what fails the gate, ExplainAlways what only warns as well. "" is ExplainNever.
const (
	ExplainNever  Explain = "never"
	ExplainAuto   Explain = "auto"
	ExplainAlways Explain = "always"
)

var (
	errExplainTime = errors.New("the time for explanations ended")
	errNoStack     = errors.New("the profiler recorded none that leads to a file of this repository")
)

// explanation is the explanation of a verdict that is decided. What it lacks is a warning.
type explanation struct {
	*Check
	report *result.Report
	base   *Build
	ends   time.Time // zero for no limit
}

// explained is a report with the places that call what got slower and the causes that counters tell, until ctx ends.
func (c *Check) explained(ctx context.Context, r *result.Report, base *Build) *result.Report {
	// endingShare is the part of the time for explanations that is kept for the end of what is under way.
	const endingShare = 10
	m := c.Live
	if c.Explain == ExplainNever || c.Explain == "" || !c.Way().Timed || ctx.Err() != nil {
		return r
	}
	x := &explanation{c, r, base, time.Time{}}
	always := c.Explain == ExplainAlways
	targets, kernels := why.Targets(r, always), why.Slower(r.Findings, always, why.Dearest)
	// the operation says more
	maps.DeleteFunc(targets, func(i int, _ why.Target) bool { return r.Findings[i].Origin != nil })
	row, rows := why.SlowestRow(r.Findings, always)
	rows = rows && m.Way.Rows
	if m.Way.Rows || !m.Way.Alone {
		kernels = nil
	}
	if len(targets)+len(kernels) == 0 && !rows {
		return r
	}
	r.Append(result.Addition{Workload: c.Workload})
	if c.Decided != nil {
		var stop func()
		ctx, stop = c.Decided(ctx, r)
		defer stop()
	}
	if limit := c.explainTime(); limit > 0 {
		x.ends = time.Now().Add(limit)
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadlineCause(ctx, x.ends.Add(-limit/endingShare), errExplainTime)
		defer cancel()
	}
	maps.DeleteFunc(targets, func(i int, _ why.Target) bool { return c.unstacked(r.Findings[i]) })
	if len(targets) > 0 {
		x.lacks(ctx, "no call stacks", x.origins(ctx, targets))
	}
	switch {
	case rows:
		x.lacks(ctx, "no explanation of "+measure.Quote(r.Findings[row].Name), x.explainRow(ctx, row))
	case len(kernels) > 0:
		x.lacks(ctx, "no counters", x.count(ctx, kernels))
	}
	return r
}

// unstacked reports whether launches of a kernel have no call stack: those by Triton and Numba call the driver, for
// which the profiler records none. The definition in the repository is the place of such a kernel; torch.compile traces
// the lines that it made one of.
func (c *Check) unstacked(f result.Finding) bool {
	file, _, defined := c.defined(f)
	return defined && filepath.Ext(file) == ".py" || inductor().MatchString(f.Kernel) && !c.Way().Alone
}

// explainTime is the time for explanations, 0 for any.
func (c *Check) explainTime() time.Duration {
	// The default of [Check.ExplainTime] lies between these. The least holds call stacks, and counters of two builds.
	const leastExplainTime, mostExplainTime = 20 * time.Second, 55 * time.Second
	// The rest of the time is for the work around runs and explanations: a failing check takes at most twice as long as
	// a passing one.
	runs := time.Duration(c.Live.spent.Total) / 10 * 9
	return max(cmp.Or(c.ExplainTime, min(max(runs, leastExplainTime), mostExplainTime)), 0)
}

// begin tells the observer of a part, and how long it may take.
func (x *explanation) begin(what string) {
	if !x.ends.IsZero() {
		what += fmt.Sprintf(", at most %.0f s", max(time.Until(x.ends).Seconds(), 0))
	}
	x.Begin(what)
}

// lacks warns of an explanation that is missing, with what to do.
func (x *explanation) lacks(ctx context.Context, what string, err error) {
	if err == nil {
		return
	}
	w := Unexplained{Missing: what, Why: err.Error(), Do: cmp.Or(x.ExplainLess, "leave it out")}
	r := (*model.Refusal)(nil)
	switch {
	case errors.As(err, new(tooLong)):
		w.Do = cmp.Or(x.ExplainMore, "allow more")
	case errors.Is(context.Cause(ctx), errExplainTime):
		w.Why, w.Do = errExplainTime.Error(), cmp.Or(x.ExplainMore, "allow more")
	case ctx.Err() != nil:
		w.Why, w.Do = "interrupted", "check again"
	case errors.As(err, &r):
		w.Why = r.Reason
	}
	x.report.Warn(result.Say(w))
}

var _ = result.Keyed("unexplained", Unexplained{}, "An explanation of the verdict is missing.")

// Unexplained is an explanation that is missing, why, and what to do.
type Unexplained struct{ Missing, Why, Do string }

func (u Unexplained) String() string { return u.Missing + ": " + u.Why + "; " + u.Do }

// origins runs the head with call stacks to find the places of what got slower in the repository.
func (x *explanation) origins(ctx context.Context, wanted map[int]why.Target) error {
	r, dump := x.report, run.Dump{}
	for i := range wanted { // one that the session knows has its place
		known := slices.ContainsFunc(r.HeadSessions, func(s model.Session) bool { return len(s.Operations) > 0 })
		dump.XLA = dump.XLA || !known && fusion().MatchString(r.Findings[i].Kernel)
		dump.Torch = dump.Torch || slices.ContainsFunc(append(r.Findings[i].HeadNames, r.Findings[i].Kernel),
			inductor().MatchString)
	}
	if err := x.affords(false, 0); err != nil {
		return err
	}
	x.begin("running once more to see from where that is called")
	recorded, err := x.Live.profiled(ctx, nil, true, dump)
	if err != nil {
		return err
	}
	_, traces := recorded.Split()
	found, changed := false, func(string, int) bool { return false }
	if dump.Torch {
		x.compiled = here(recorded.Operations[1])
		if tree, _ := x.tree(ctx, r.Base.Commit); tree != nil {
			changed = tree.Holds
		}
	}
	for i, t := range wanted {
		f := &r.Findings[i]
		f.Origin = t.Compiled(x.compiled, changed)
		if f.Origin == nil && dump.XLA {
			f.Origin, _ = insight.Operation(f, nil, recorded.Operations[1])
		}
		if f.Origin == nil {
			f.Origin = t.Origin(traces, r.Head.Step, why.Sources{Root: Repository(), Dir: x.Live.Head.Dir})
		}
		_, _, defined := x.defined(*f) // in a file of the repository, which is a place of its own
		found = found || f.Origin != nil || defined
	}
	if !found {
		return cmp.Or(recorded.Undumped, errNoStack)
	}
	return nil
}

// here are the lines that torch.compile made kernels of in files of the repository, by their names without links.
func here(all []model.Operation) (out []model.Operation) {
	root, _ := filepath.EvalSymlinks(cmp.Or(Repository(), "."))
	for _, o := range all {
		real, err := filepath.EvalSymlinks(filepath.Join(root, o.File))
		info, failed := os.Stat(real)
		o.File = git.Within(root, real)
		if err == nil && failed == nil && info.Mode().IsRegular() && o.Path == "" && o.File != "" {
			out = append(out, o)
		}
	}
	return out
}

// count counts the kernels that got slower, those of the base build too where there is one, and adds the causes.
func (x *explanation) count(ctx context.Context, indices []int) error {
	m, r, tool := x.Live, x.report, tools.Counter.Tool()
	if _, err := exec.LookPath(tool.Name); err != nil {
		x.hint(fmt.Sprintf("install %s (%s) to see why a kernel got slower", tool.Product, tool.Name))
		return nil
	}
	skip := profiler.LaunchSkip
	for _, i := range indices {
		skip = min(skip, launched(r.HeadSessions, r.Findings[i].Subject())-1)
	}
	took := time.Duration(0) // by the head
	profile := func(side string, build Build, name func(*result.Finding) string) (*counters.Profile, error) {
		var kernels []string
		for _, i := range indices {
			kernels = measure.Once(kernels, measure.ShortName(name(&r.Findings[i])))
		}
		kill := single(r.HeadSessions, kernels)
		if err := cmp.Or(ctx.Err(), x.affords(kill, took)); err != nil {
			return nil, err
		}
		x.begin(fmt.Sprintf("profiling what got slower with %s: %s", tool.Name, side))
		return run.Profile(ctx, run.CounterPlan{Counter: tools.Counter, Build: build, Base: side == "base",
			Timeout: min(max(m.Limit, 0), counterTimeout), Selection: profiler.Selection{
				Kernels: kernels, Skip: max(skip, 0), Why: true, Kill: kill}})
	}
	began := time.Now()
	after, err := profile("head", m.Head, func(f *result.Finding) string { return f.Name })
	took = time.Since(began)
	if err != nil {
		return err
	}
	var before *counters.Profile
	none := why.Alone
	if b, ok := x.Baselines.ForGPU(r.Head.Environment.GPU); ok {
		before = why.ProfileOf(model.Counted(b.Sessions)) // counters that the record stored
	}
	if x.base != nil {
		before, err = profile("base", *x.base, why.BaseName)
		x.lacks(ctx, "no counters of the base", err)
		none = "not compared with the base's"
	}
	r.Explain(why.Causes(r.Findings, indices, before, after, none), nil)
	return nil
}

// affords is nil where the time left holds a run of the program, with short its part before the first GPU operation,
// and no less than one took.
func (x *explanation) affords(short bool, took time.Duration) error {
	runs := x.Live.spent
	least := time.Duration(runs.InRuns) / time.Duration(max(runs.Runs, 1))
	if parts := insight.RunParts(model.Timed(x.report.HeadSessions)); short && len(parts) > 0 {
		least = min(least, time.Duration(parts[0].Time))
	}
	least = max(least, took)
	if x.ends.IsZero() || time.Until(x.ends) > least {
		return nil
	}
	return tooLong(least)
}

// tooLong is a run that the time left for explanations does not hold.
type tooLong time.Duration

func (t tooLong) Error() string {
	return "a run takes " + result.Seconds(result.Number(t)) + ", more than is left of the time for explanations"
}

// single reports whether each name is of one kernel at most, whatever its geometry: then the first launch is of it.
func single(sessions []model.Session, names []string) bool {
	found := map[string]int{}
	for x := range Subjects(sessions[len(sessions)-1]) {
		if x.Scope == measure.ScopeKernel {
			found[x.Short()]++
		}
	}
	several := func(name string) bool { return strings.Contains(name, ":") || found[name] > 1 }
	return !slices.ContainsFunc(names, several)
}

// explainRow explains the slowest row of benchmark files by one profiled run of the head, and of the base build if any.
func (x *explanation) explainRow(ctx context.Context, i int) error {
	f := &x.report.Findings[i]
	arguments, err := filterOf(x.Live.Filter, x.report.Head.Environment.Tool, x.executed(f)...)
	if err != nil {
		return err
	}
	x.begin("running once more under the profiler to explain " + measure.Quote(f.Name))
	live := x.Live.Of(*x.Live.Head.With(arguments)) // all runs execute the slower row
	recorded, err := live.profiled(ctx, x.base.With(arguments), false, run.Dump{})
	if err != nil {
		return err
	}
	var sides [2]profile.Recording
	sides[0].Traces, sides[1].Traces = recorded.Split()
	cut, err := profile.Cut(x.Rule, &sides[0], &sides[1])
	if err != nil {
		return err
	}
	cause, err := insight.ExplainRow(cut[0], cut[1])
	if err == nil {
		x.report.Explain(map[int]*result.Cause{i: cause}, nil)
	}
	return err
}

// launched is how often a run launches a kernel, at least.
func launched(sessions []model.Session, s measure.Subject) int {
	least := math.Inf(1)
	for i := range sessions {
		x, _ := sessions[i].Find(s, measure.Launches.Name)
		for run, v := range x.Values {
			if sessions[i].Step != "" {
				v *= float64(sessions[i].Runs[run].Total)
			}
			if v < least { // NaN: the run has no such kernel
				least = v
			}
		}
	}
	return int(math.Min(least, 1e6))
}

// explainFrom finds causes in two pages of counters, of base and head. Pages that cannot be judged give a hint instead.
func explainFrom(ctx context.Context, pages [2]string, r *result.Report) (found map[int]*result.Cause, hint string,
	err error) {
	var profiles [2]*counters.Profile
	for i, name := range pages {
		page, err := profile.Tools{}.Open(ctx, name)
		switch {
		case model.KindOf(err) != "":
			return nil, "no explanation: " + err.Error(), nil
		case err != nil:
			return nil, "", err
		case len(page.Counters) != 1:
			return nil, fmt.Sprintf("no explanation: %s is not one page of counters", name), nil
		}
		profiles[i] = page.Counters[0]
	}
	found = why.Causes(r.Findings, why.Slower(r.Findings, true, why.Dearest), profiles[0], profiles[1], why.Alone)
	if len(found) == 0 {
		hint = "no explanation: no kernel that got slower is in " + pages[0] + " and in " + pages[1]
	}
	return found, hint, nil
}
