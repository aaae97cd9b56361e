package app

import (
	"context"
	"fmt"
	"math"
	"os/exec"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/bench"
	"github.com/nsgate/nsgate/gate/internal/counters"
	"github.com/nsgate/nsgate/gate/internal/insight"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/profile"
	"github.com/nsgate/nsgate/gate/internal/profiler"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/run"
	"github.com/nsgate/nsgate/gate/internal/tools"
	"github.com/nsgate/nsgate/gate/internal/why"
)

// Explain says which regressions are explained by counters.
type Explain string

// ExplainAuto explains what fails the gate, ExplainAlways what only warns as well. "" is ExplainNever.
const (
	ExplainNever  Explain = "never"
	ExplainAuto   Explain = "auto"
	ExplainAlways Explain = "always"
)

// explained is a report with the places from which what got slower is called, and with the causes that counters tell.
func (c *Check) explained(ctx context.Context, r *result.Judgement, base *Build) (*result.Judgement, error) {
	m := c.Live
	if c.Explain == ExplainNever || c.Explain == "" || m == nil || m.Counters != nil || ctx.Err() != nil {
		return r, nil
	}
	origins, err := c.origins(ctx, m, r)
	if err != nil {
		return r, err
	}
	explain := c.explain
	if m.ExplainRows {
		explain = c.explainRow
	}
	found, err := explain(ctx, m, r, base)
	r.Origins = origins
	r.Explain(found)
	return r, err
}

// origins runs the head with call stacks if something got slower that has a place in the repository, and returns these
// places by finding. What keeps it from that is a hint. The error is that of ctx.
func (c *Check) origins(ctx context.Context, m *Live, r *result.Judgement) (map[int]*result.Origin, error) {
	wanted := why.Targets(r, c.Explain == ExplainAlways)
	if len(wanted) == 0 {
		return nil, nil
	}
	c.Begin("running once more to see from where that is called")
	recorded, err := m.profiled(ctx, nil, true)
	if err != nil || ctx.Err() != nil {
		return nil, c.unexplained(ctx, "no call stacks: ", err)
	}
	_, traces := recorded.Split()
	found := map[int]*result.Origin{}
	for i, t := range wanted {
		found[i] = t.Origin(traces, r.Head.Step, why.Sources{Root: Repository(), Dir: m.Head.Dir})
	}
	return found, nil
}

// explain counts the kernels that got slower, in the base build too where there is one, and
// returns the cause of each finding. What keeps it from explaining is a hint. The error is that of ctx.
func (c *Check) explain(ctx context.Context, m *Live, r *result.Judgement, base *Build) (map[int]*result.Cause, error) {
	indices := why.Slower(r.Findings, c.Explain == ExplainAlways)
	if m.Gather != "" || m.Head.Server != nil || len(indices) == 0 {
		return nil, nil
	}
	if _, err := exec.LookPath(tools.Counter.Tool().Name); err != nil {
		tool := tools.Counter.Tool()
		c.hint(fmt.Sprintf("install %s (%s) to see why a kernel got slower", tool.Product, tool.Name))
		return nil, nil
	}
	skip := profiler.LaunchSkip
	for _, i := range indices {
		skip = min(skip, launched(r.HeadSessions, r.Findings[i].Subject())-1)
	}
	skip = max(skip, 0)
	profile := func(side string, build Build, name func(*result.Finding) string) (*counters.Profile, error) {
		c.Begin(fmt.Sprintf("profiling what got slower with %s: %s", tools.Counter.Tool().Name, side))
		var kernels []string
		for _, i := range indices {
			if short := measure.ShortName(name(&r.Findings[i])); !slices.Contains(kernels, short) {
				kernels = append(kernels, short)
			}
		}
		return run.Profile(ctx, run.CounterPlan{Counter: tools.Counter, Build: build, Base: side == "base",
			Timeout: min(max(m.Limit, 0), counterTimeout), Selection: profiler.Selection{Kernels: kernels, Skip: skip}})
	}
	var before, after *counters.Profile
	var err error
	if b, ok := c.Baselines.ForGPU(r.Head.Environment.GPU); ok {
		before = why.ProfileOf(model.Counted(b.Sessions)) // counters that the record stored
	}
	if base != nil {
		before, err = profile("base", *base, why.BaseName)
	}
	if err == nil {
		after, err = profile("head", m.Head, func(f *result.Finding) string { return f.Name })
	}
	if err != nil || ctx.Err() != nil {
		return nil, c.unexplained(ctx, "no explanation: ", err)
	}
	return why.Causes(r.Findings, indices, before, after), nil
}

// explainRow explains the slowest row of the benchmark files by one profiled run of the head, and one of the base build
// where there is one. Failures are hints. The error is that of ctx.
func (c *Check) explainRow(ctx context.Context, m *Live, r *result.Judgement, base *Build) (map[int]*result.Cause,
	error) {
	i, ok := why.SlowestRow(r.Findings, c.Explain == ExplainAlways)
	if !ok {
		return nil, nil
	}
	row := r.Findings[i].Name
	arguments, err := bench.Filter(m.Filter, r.Head.Environment.Tool, row)
	var cause *result.Cause
	if err == nil {
		c.Begin("running once more under the profiler to explain " + measure.Quote(row))
		cause, err = m.Of(*m.Head.With(arguments)).explainRow(ctx, c.Rule, base.With(arguments))
	}
	if err != nil || ctx.Err() != nil {
		return nil, c.unexplained(ctx, "no explanation: ", err)
	}
	return map[int]*result.Cause{i: cause}, nil
}

// explainRow profiles one run of each build, all of which execute the slower row.
func (m *Live) explainRow(ctx context.Context, rule profile.Rule, base *Build) (*result.Cause, error) {
	recorded, err := m.profiled(ctx, base, false)
	if err != nil {
		return nil, err
	}
	var sides [2]profile.Recording
	sides[0].Traces, sides[1].Traces = recorded.Split()
	cut, err := profile.Cut(rule, &sides[0], &sides[1])
	if err != nil {
		return nil, err
	}
	return insight.ExplainRow(cut[0], cut[1])
}

// unexplained hints at an error of the profiler, unless it is the end of ctx, which it returns.
func (c *Check) unexplained(ctx context.Context, what string, err error) error {
	if ctx.Err() == nil {
		c.hint(what + err.Error())
	}
	return context.Cause(ctx)
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
func explainFrom(ctx context.Context, pages [2]string, r *result.Judgement) (found map[int]*result.Cause, hint string,
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
	return why.Causes(r.Findings, why.Slower(r.Findings, true), profiles[0], profiles[1]), "", nil
}
