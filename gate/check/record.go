package check

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate"
	"github.com/nsgate/nsgate/gate/internal/baseline"
	"github.com/nsgate/nsgate/gate/measure"
	"github.com/nsgate/nsgate/gate/profile"
	"github.com/nsgate/nsgate/thresholds"
)

// Record measures a workload and writes, or extends, its baseline.
type Record struct {
	Workload string   // its name, which the baseline bears
	Root     string   // directory of the baselines
	Measurer Measurer // of the workload
	Runs     int      // fresh processes, at least one
	// Policy says how much of the GPU time a kernel needs to matter, and which changes are worth a warning. It must be given.
	Policy *thresholds.Policy
	Rule   profile.Rule // how traces are cut; what it leaves open is as in the baseline
	// Counters, where not nil, profiles kernels with Nsight Compute as well, the heaviest ones where it names none. The
	// Measurer must be a [Machine].
	Counters *Counters
	// Reason says why it is recorded, for those who review the baseline.
	Reason string
	// Replace drops the sessions that the baseline holds so far.
	Replace bool
	// Observe, where not nil, is told how it goes and what to doubt.
	Observe func(Event)
}

// Recorded is what [Record.Run] wrote.
type Recorded struct {
	Dir      string              // directory of the baseline
	Sessions [][]measure.Session // that were added, by profiler
	Total    int                 // sessions that the baseline now holds
}

// Run measures and writes. A measurement that cannot be stored is a *measure.Refusal.
func (c *Record) Run(ctx context.Context) (*Recorded, error) {
	if err := baseline.Writable(c.Root); err != nil {
		return nil, err
	}
	baselines, err := ReadBaselines(c.Root, c.Workload)
	if err != nil {
		return nil, err
	}
	defer tell(c.Observe, Event{Stage: Done})
	all := &Measurement{}
	head, err := c.measure(ctx, c.Measurer, c.Runs, baselines, all)
	if err != nil {
		return nil, err
	}
	if c.Counters != nil {
		counted, err := c.counted(ctx, head, all)
		if err != nil {
			return nil, err
		}
		head = append(head, counted...)
	}
	for _, w := range all.Warnings {
		c.warn(w)
	}
	for i := range head {
		head[i].Reason = measure.NormalizeLine(c.Reason)
	}
	return c.store(head)
}

// Commands are what Run would run; the kernels that Nsight Compute profiles are known only afterwards.
func (c *Record) Commands() []Command {
	m, ok := c.Measurer.(*Machine)
	if !ok {
		return nil
	}
	out := m.Commands([]int{c.Runs}, nil)
	if c.Counters != nil {
		counting := *m
		counting.Counters = c.Counters
		out = append(out, Command{Remark: "then the heaviest kernels, with -k and their names:"})
		out = append(out, counting.Commands([]int{CounterRuns}, nil)...)
	}
	return out
}

func (c *Record) warn(text string) { tell(c.Observe, Event{Stage: Warning, Text: text}) }

// measure takes runs and cuts them like the baseline of their GPU.
func (c *Record) measure(ctx context.Context, by Measurer, runs int, baselines Baselines, all *Measurement) ([]measure.Session, error) {
	m, err := take(ctx, by, runs)
	if err != nil {
		return nil, err
	}
	var like []measure.Session
	if b, ok := baselines.ForGPU(m.Head.GPU()); ok && !c.Replace {
		like = measure.Nsys.Pick(b.Sessions)
	}
	all.add(&Measurement{Warnings: m.Warnings})
	_, head, err := m.sessions(c.Rule, like)
	return head, err
}

// counted is the session of Nsight Compute beside the one of Nsight Systems.
func (c *Record) counted(ctx context.Context, timed []measure.Session, all *Measurement) ([]measure.Session, error) {
	m, ok := c.Measurer.(*Machine)
	if !ok {
		return nil, Reasons.Refuse("no-machine")
	}
	own, counters := *m, *c.Counters
	own.Counters = &counters
	if len(counters.Kernels) == 0 {
		var err error
		if counters.Kernels, err = heaviest(&timed[len(timed)-1], c.Policy.Impact, counters.Skip); err != nil {
			return nil, err
		}
	}
	return c.measure(ctx, &own, CounterRuns, nil, all)
}

// store adds sessions to the baseline of their GPU, all or none.
func (c *Record) store(head []measure.Session) (*Recorded, error) {
	dir := baseline.Dir(c.Root, c.Workload, head[len(head)-1].GPU)
	out := &Recorded{Dir: dir}
	for _, p := range measure.Profilers(head) {
		own := p.Pick(head)
		if err := storable(own, c.Policy); err != nil {
			return nil, err
		}
		out.Sessions = append(out.Sessions, own)
	}
	return out, baseline.Update(dir, func(old []measure.Session) ([]measure.Session, error) {
		if c.Replace {
			old = nil
		}
		for _, p := range measure.Profilers(head) {
			if err := c.fits(p.Pick(old), p.Pick(head)); err != nil {
				return nil, err
			}
		}
		for _, s := range head {
			old = baseline.Extend(old, s, 0)
		}
		out.Total = len(old)
		return old, nil
	})
}

// storable refuses sessions that no gate could use. What may be stored does not depend on what is judged.
func storable(own []measure.Session, policy *thresholds.Policy) error {
	unruled := *policy
	unruled.Rules = nil
	if r := judged(own, own, &unruled, nil); r.Verdict == gate.NoVerdict && !r.Undecided {
		return &measure.Refusal{Reason: r.Reason, Next: strings.Join(r.Next, "; "), Key: r.ReasonKey}
	}
	return nil
}

// fits refuses sessions that cannot be held against those of the baseline, and warns where they differ.
func (c *Record) fits(old, head []measure.Session) error {
	if len(old) == 0 {
		return nil
	}
	switch r := judged(old, head, c.Policy, nil); {
	case r.Verdict == gate.NoVerdict && !r.Undecided:
		return Reasons.Refuse("other-baseline", r.Reason)
	case r.Verdict == gate.Fail:
		c.warn("this session differs from the baseline: " + r.Reason + "; if the code has changed, start the baseline anew")
	}
	return nil
}

// maxCounted bounds the kernels that are chosen for Nsight Compute, the heaviest ones.
const maxCounted = 10

// heaviest are the short names of the kernels with the most GPU time in a session of nsys that are worth a look, without
// those that hang under ncu, and those that are not launched often enough for the first launches to be skipped. The error
// is a *measure.Refusal where there is none.
func heaviest(s *measure.Session, impact float64, skip int) ([]string, error) {
	cost, often := map[string]float64{}, map[string]bool{} // often: launched more than skip times a run in one geometry
	whole := 0.0
	for _, x := range s.Series {
		if x.Subject.Scope != measure.ScopeKernel {
			continue
		}
		switch x.Metric.Name {
		case measure.Total.Name:
			v := 0.0
			for _, run := range x.Values {
				if run > v { // not max: NaN, where the run has no such kernel, would spread
					v = run
				}
			}
			whole += v
			cost[x.Subject.Short()] += v
		case measure.Launches.Name:
			if launched([]measure.Session{*s}, x.Subject) > skip {
				often[x.Subject.Short()] = true
			}
		}
	}
	var names []string
	for name, v := range cost {
		if v >= impact*whole && !hangs(name) && often[name] {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(cost[b], cost[a]), cmp.Compare(a, b)) })
	if len(names) == 0 {
		return nil, Reasons.Refuse("nothing-to-count", skip)
	}
	return names[:min(len(names), maxCounted)], nil
}
