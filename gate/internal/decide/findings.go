package decide

import (
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/measure"
)

func count(findings []result.Finding) result.Counts {
	var c result.Counts
	for _, f := range findings {
		n := outcomes[f.Outcome].count(&c)
		if f.Outcome == result.Regressed && !f.Gates {
			n = &c.Warned
		}
		*n++
	}
	return c
}

// rank orders findings: what fails the gate, other regressions, what is open, improvements, additions and removals,
// the rest. Within each the outputs come first, then the largest part of the GPU time that the change adds or takes away.
func rank(f *result.Finding) float64 {
	group := outcomes[f.Outcome].rank
	if f.Outcome == result.Regressed && !f.Gates || f.Outcome == result.Inconclusive && !f.Undecided && !f.NotJudged() {
		group++
	}
	weight := 0.0
	if f.Scope == measure.ScopeOutput {
		weight = 1 // outputs come before the parts of the program
	}
	if f.Share.Known() {
		part := float64(f.Share)
		if change := math.Abs(float64(f.Change)); f.Change.Known() && f.Outcome != result.Unchanged {
			part *= change / (1 + math.Max(float64(f.Change), 0)) // of the larger of base and head
		}
		if f.Unit != measure.Time.Unit {
			part /= 2 // a count is the reason for a time, not the other way round
		}
		weight += part
	}
	return group*10 - weight
}

// detects collects the MDEs of findings, nil where there are none.
func detects(findings []result.Finding) *result.Detects {
	unknown := result.Unknown
	d := &result.Detects{GPUTime: unknown, Step: unknown, Output: unknown, KernelLeast: unknown, KernelMost: unknown}
	raise := func(to *result.Number, mde result.Number) {
		if !(*to >= mde) {
			*to = mde
		}
	}
	for i := range findings {
		f := &findings[i]
		switch {
		case !f.MDE.Known():
		case f.Scope == measure.ScopeOutput:
			raise(&d.Output, f.MDE)
		case f.Subject() == measure.Workload && f.Metric == measure.GPUTime.Name:
			d.GPUTime = f.MDE
		case f.Subject() == measure.Workload && f.Metric == measure.StepTime.Name:
			d.Step = f.MDE
		case f.Scope == measure.ScopeKernel && f.Gates && f.Unit == measure.Time.Unit:
			raise(&d.KernelMost, f.MDE)
			if !(d.KernelLeast <= f.MDE) {
				d.KernelLeast = f.MDE
			}
		}
	}
	if !slices.ContainsFunc([]result.Number{d.GPUTime, d.Step, d.Output, d.KernelMost}, result.Number.Known) {
		return nil
	}
	return d
}

// outcomes holds the rank of every outcome in a report, the lowest first, and its counter. Regressions and undecided comparisons that
// cannot fail the gate rank one higher.
var outcomes = map[result.Outcome]struct {
	rank  float64
	count func(*result.Counts) *int
}{
	result.Regressed:    {0, func(c *result.Counts) *int { return &c.Regressed }},
	result.Inconclusive: {2, func(c *result.Counts) *int { return &c.Inconclusive }},
	result.Grew:         {3.5, func(c *result.Counts) *int { return &c.Grew }},
	result.Improved:     {4, func(c *result.Counts) *int { return &c.Improved }},
	result.Added:        {5, func(c *result.Counts) *int { return &c.Added }},
	result.Removed:      {6, func(c *result.Counts) *int { return &c.Removed }},
	result.Unchanged:    {7, func(c *result.Counts) *int { return &c.Unchanged }},
}
