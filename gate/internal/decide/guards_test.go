package decide

import (
	"math"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/reason"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/measure"
)

// kernelTime is the evidence of a kernel that did not change, at a limit of 3 %.
func kernelTime() evidence {
	return evidence{
		scope: measure.ScopeKernel, metric: measure.Time, share: 0.4, gates: true, base: 100e3, head: 100e3, runs: 5,
		low: -0.01, high: 0.01, p: 1, alpha: 0.01, spend: 0.002,
		ruleLimit: 0.03, limit: 0.03, floor: 32, tick: 32, headRuns: 5, pBeyond: 1, countable: true,
	}
}

func TestGuards(t *testing.T) {
	changed := func(change, margin, p float64) func(*evidence) {
		return func(x *evidence) {
			x.change, x.low, x.high, x.p = change, change-margin, change+margin, p
			x.head = x.base * (1 + change)
			x.rise = x.head - x.base
		}
	}
	as := func(m measure.Metric) func(*evidence) { return func(x *evidence) { x.metric = m } }
	fromZero := func(head float64) func(*evidence) {
		return func(x *evidence) {
			x.metric, x.base, x.head, x.leastHead, x.floor = measure.Launches, 0, head, head, 0.1
		}
	}
	silent := func(x *evidence) { x.gates = false }
	inSection := func(x *evidence) { x.scope = measure.ScopeSection }
	across := func(x *evidence) { x.across = true }
	atSpeed := func(factor, change, p float64) func(*evidence) {
		return func(x *evidence) {
			x.speed = &speedEvidence{factor, math.Abs(factor), change, change - 0.03, change + 0.03, p}
		}
	}
	runsBeyond := func(n int) func(*evidence) { return func(x *evidence) { x.runsBeyond = n } }
	cases := []struct {
		guard   string
		edits   []func(*evidence)
		outcome result.Outcome
		doubt   doubt
	}{
		{"zero in both", []func(*evidence){fromZero(0)}, result.Unchanged, harmless},
		{"from zero, not in every run", []func(*evidence){fromZero(2), as(measure.SyncCalls), silent, func(x *evidence) { x.leastHead = 0 }}, result.Inconclusive, harmless},
		{"informational count from zero", []func(*evidence){fromZero(2), as(measure.SyncCalls), silent}, result.Grew, harmless},
		{"count from zero", []func(*evidence){fromZero(2)}, result.Regressed, harmless},
		{"from zero", []func(*evidence){fromZero(2), as(measure.Time)}, result.Inconclusive, undecided},
		{"section from zero, within the floor", []func(*evidence){fromZero(0.05), as(measure.GPUTime), inSection}, result.Unchanged, harmless},
		{"section from zero", []func(*evidence){fromZero(2), as(measure.GPUTime), inSection}, result.Regressed, harmless},
		{"from zero", []func(*evidence){fromZero(0.05)}, result.Inconclusive, undecided},
		{"too few runs in the gate", []func(*evidence){changed(0.1, 0.01, 0), func(x *evidence) { x.tooFew = tooFewRuns(1, 1) }}, result.Inconclusive, undecided},
		{"one run", []func(*evidence){changed(0.1, 0.01, 0), func(x *evidence) { x.runs = 1 }}, result.Inconclusive, undecided},
		{"worse", []func(*evidence){changed(0.1, 0.01, 0), func(x *evidence) { x.runs, x.single = 1, "head" }}, result.Regressed, harmless},
		{"too few samples", []func(*evidence){changed(0.1, 0.01, 0), func(x *evidence) { x.countless = true }}, result.Inconclusive, undecided},
		{"outlier of a single run", []func(*evidence){changed(0.1, 0.01, 0), func(x *evidence) { x.outlier = new(result.Say(reason.OutlierAsAWhole{})) }}, result.Inconclusive, doubted},
		{"outlier of a single run", []func(*evidence){changed(-0.1, 0.01, 0), func(x *evidence) { x.outlier = new(result.Say(reason.OutlierAsAWhole{})) }}, result.Inconclusive, harmless},
		{"slower while the host held the program back", []func(*evidence){changed(0.1, 0.01, 0), as(measure.StepTime), func(x *evidence) { x.denied = 0.2 }}, result.Inconclusive, doubted},
		{"worse", []func(*evidence){changed(0.1, 0.01, 0), as(measure.StepTime), func(x *evidence) { x.denied = 0.05 }}, result.Regressed, harmless},
		{likeSpeed, []func(*evidence){changed(0.5, 0.01, 0), as(measure.StepTime), atSpeed(0.6, 0, 1)}, result.Inconclusive, doubted},
		{likeSpeed, []func(*evidence){changed(-0.5, 0.01, 0), as(measure.StepTime), atSpeed(-0.6, 0, 1)}, result.Inconclusive, undecided},
		{likeSpeed, []func(*evidence){changed(-0.5, 0.2, 0.1), as(measure.StepTime), atSpeed(-0.6, 0, 1)}, result.Inconclusive, undecided},
		{"faster", []func(*evidence){changed(-0.5, 0.01, 0), as(measure.StepTime), atSpeed(0.6, 0, 1)}, result.Improved, harmless},
		{"worse", []func(*evidence){changed(0.5, 0.01, 0), as(measure.StepTime), atSpeed(0.6, 0.1, 1)}, result.Regressed, harmless},
		{"worse", []func(*evidence){changed(0.5, 0.01, 0), as(measure.StepTime), atSpeed(0.05, 0.01, 1)}, result.Regressed, harmless},
		{worseAtSpeed, []func(*evidence){changed(0.1, 0.2, 0.5), as(measure.StepTime), atSpeed(0.05, 0.1, 0)}, result.Regressed, harmless},
		{worseAtSpeed, []func(*evidence){changed(-0.3, 0.4, 0.5), as(measure.StepTime), atSpeed(-0.6, 0.1, 0)}, result.Regressed, harmless},
		{"open", []func(*evidence){changed(0.1, 0.2, 0.5), as(measure.StepTime), atSpeed(0.05, 0.1, 0.006)}, result.Inconclusive, undecided},
		{"open", []func(*evidence){changed(0.1, 0.2, 0.5), as(measure.StepTime), atSpeed(0.05, 0.1, 0), func(x *evidence) { x.shift = 0.08 }}, result.Inconclusive, undecided},
		{"open", []func(*evidence){changed(0.02, 0.2, 0.5), as(measure.StepTime), atSpeed(0.05, 0.1, 0), func(x *evidence) { x.waits = true }}, result.Inconclusive, undecided},
		{"open", []func(*evidence){changed(0.1, 0.2, 0.5), as(measure.StepTime), atSpeed(0.05, 0.1, 0), func(x *evidence) { x.denied = 0.2 }}, result.Inconclusive, undecided},
		{"step that waits for another program", []func(*evidence){changed(0.1, 0.01, 0.5), as(measure.StepTime), func(x *evidence) { x.waits = true }}, result.Inconclusive, doubted},
		{"mean against median of a count", []func(*evidence){changed(0.1, 0.01, 0), as(measure.SyncCalls), func(x *evidence) { x.rise = -1 }}, result.Inconclusive, undecided},
		{"increased count", []func(*evidence){changed(0.1, 0.01, 0), as(measure.SyncCalls)}, result.Grew, harmless},
		{"worse", []func(*evidence){changed(0.1, 0.01, 0), as(measure.SyncCalls), func(x *evidence) { x.named = true }}, result.Regressed, harmless},
		{"worse", []func(*evidence){changed(0.031, 0.01, 0.009)}, result.Regressed, harmless},
		{"worse", []func(*evidence){changed(-0.1, 0.01, 0), as(measure.Rate)}, result.Regressed, harmless},
		{"worse like all kernels, at another time or place", []func(*evidence){changed(0.1, 0.01, 0), func(x *evidence) { x.shift = 0.09 }}, result.Inconclusive, doubted},
		{"worse like all kernels, at another time or place", []func(*evidence){changed(0.06, 0.01, 0), as(measure.StepTime), func(x *evidence) { x.shift = 0.08 }}, result.Inconclusive, doubted},
		{"worse", []func(*evidence){changed(0.1, 0.01, 0), func(x *evidence) { x.shift = 0.05 }}, result.Regressed, harmless},
		{"better", []func(*evidence){changed(0.1, 0.01, 0), as(measure.Rate)}, result.Improved, harmless},
		{"faster", []func(*evidence){changed(-0.1, 0.01, 0)}, result.Improved, harmless},
		{"unchanged", []func(*evidence){changed(0.01, 0.01, 0)}, result.Unchanged, harmless},
		{"most runs beyond every run of the baseline, by a trend", []func(*evidence){changed(0.01, 0.01, 0), runsBeyond(3), func(x *evidence) { x.trended = true }}, result.Inconclusive, doubted},
		{"unchanged", []func(*evidence){changed(0.01, 0.01, 0), runsBeyond(2), func(x *evidence) { x.trended = true }}, result.Unchanged, harmless},
		{"most runs beyond every run of the baseline, by a trend", []func(*evidence){changed(-0.1, 0.01, 0), runsBeyond(3), func(x *evidence) { x.trended = true }}, result.Inconclusive, doubted},
		{"several runs of a step beyond every run of the baseline", []func(*evidence){changed(0.01, 0.01, 0), as(measure.StepTime), runsBeyond(2)}, result.Inconclusive, undecided},
		{"unchanged", []func(*evidence){changed(0.01, 0.01, 0), as(measure.StepTime), runsBeyond(1)}, result.Unchanged, harmless},
		{"unchanged", []func(*evidence){changed(0.01, 0.01, 0), runsBeyond(2)}, result.Unchanged, harmless},
		{"most runs beyond every run of the baseline, certain", []func(*evidence){changed(0.05, 0.04, 0.2), runsBeyond(3), func(x *evidence) { x.pBeyond = 0.001 }}, result.Regressed, harmless},
		{"most runs beyond every run of the baseline", []func(*evidence){changed(0.05, 0.04, 0.2), runsBeyond(3), func(x *evidence) { x.pBeyond = 0.005 }}, result.Inconclusive, doubted},
		{"open", []func(*evidence){changed(0.05, 0.04, 0.2), runsBeyond(2)}, result.Inconclusive, undecided},
		{"like an unmeasured merge", []func(*evidence){changed(0.05, 0.04, 0), func(x *evidence) { x.mergeUncertainty = 0.05 }}, result.Inconclusive, undecided},
		{"slight between hosts", []func(*evidence){changed(0.1, 0.01, 0), across, func(x *evidence) { x.share = 0.001 }}, result.Inconclusive, harmless},
		{"like a difference between hosts", []func(*evidence){changed(0.05, 0.01, 0), across, func(x *evidence) { x.hostEffect = 0.06 }}, result.Inconclusive, doubted},
		{"beyond the limit before correction", []func(*evidence){changed(0.05, 0.01, 0.02)}, result.Inconclusive, doubted},
		{"beyond the limit before correction", []func(*evidence){changed(-0.05, 0.01, 0.02)}, result.Inconclusive, harmless},
		{"open", []func(*evidence){changed(-0.02, 0.04, 0.5)}, result.Inconclusive, harmless},
		{"open", []func(*evidence){changed(0.02, 0.02, 0.5)}, result.Inconclusive, undecided},
		{"open", []func(*evidence){changed(0.02, 0.02, 0.5), func(x *evidence) { x.share = 0.1 }}, result.Inconclusive, harmless},
		{"open", []func(*evidence){changed(0.02, 0.02, 0.5), silent}, result.Inconclusive, harmless},
	}
	tested := map[string]bool{}
	for _, c := range cases {
		x := kernelTime()
		for _, edit := range c.edits {
			edit(&x)
		}
		g := guardOf(&x)
		if g.name != c.guard || g.outcome != c.outcome || g.doubt(&x) != c.doubt {
			t.Errorf("%s: %q, %v, doubt %d; want %v, doubt %d", c.guard, g.name, g.outcome, g.doubt(&x), c.outcome, c.doubt)
		}
		if g.reason(&x).Key == "" {
			t.Errorf("%s: no reason", g.name)
		}
		tested[c.guard] = true
	}
	for _, g := range guards {
		if !tested[g.name] {
			t.Errorf("no case for guard %q", g.name)
		}
	}
}
