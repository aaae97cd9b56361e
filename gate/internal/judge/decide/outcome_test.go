package decide

import (
	"math"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/explain/reason"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// unchangedKernel is the evidence of a kernel that did not change, at a limit of 3 %.
func unchangedKernel() evidence {
	return evidence{
		scope: measure.ScopeKernel, metric: measure.Time, share: 0.4, gates: true, base: 100e3,
		low: -0.01, high: 0.01, p: 1, alpha: 0.01,
		ruleLimit: 0.03, limit: 0.03, floor: 32, tick: 32, leastCost: 0.0015, exposed: math.NaN(), headRuns: 5,
		pBeyond: 1,
		pApart:  1,
	}
}

func TestRules(t *testing.T) {
	type edits []func(*evidence)
	changed := func(change, margin, p float64) func(*evidence) {
		return func(x *evidence) {
			x.change, x.low, x.high, x.p = change, change-margin, change+margin, p
			x.rise = x.base * change
		}
	}
	as := func(m measure.Metric) func(*evidence) { return func(x *evidence) { x.metric = m } }
	fromZero := func(least, most float64) func(*evidence) {
		return func(x *evidence) {
			x.metric, x.base, x.leastHead, x.mostHead, x.floor = measure.Launches, 0, least, most, 0.1
		}
	}
	silent := func(x *evidence) { x.gates = false }
	apart := func(x *evidence) { x.apart = true }
	runsBeyond := func(n int) func(*evidence) { return func(x *evidence) { x.runsBeyond = n } }
	explained := func(most float64, both bool, d func(*evidence) doubt) func(*evidence) {
		return func(x *evidence) {
			x.explanations = append(x.explanations, explanation{most: most, both: both,
				says: reason.Waiting, doubt: d})
		}
	}
	cases := []struct {
		rule    string
		edits   edits
		outcome result.Outcome
		doubt   doubt
	}{
		{"zero on both sides", edits{fromZero(0, 0)}, result.WithinLimit, harmless},
		{"from zero, below the floor", edits{fromZero(0, 0.05)}, result.BelowFloor, harmless},
		{"below the floor", edits{changed(0.1, 0.01, 0), func(x *evidence) { x.limit = 0.2 }}, result.BelowFloor,
			harmless},
		{"from zero in some runs", edits{fromZero(0, 2)}, result.Undecided, undecided},
		{"from zero in some runs", edits{fromZero(0, 2), silent}, result.Undecided, harmless},
		{"count from zero", edits{fromZero(2, 2), as(measure.SyncCalls), silent}, result.Slower, harmless},
		{"from zero", edits{fromZero(2, 2)}, result.Slower, harmless},
		{"from zero, for the better", edits{fromZero(2, 2), as(measure.Rate)}, result.Faster, harmless},
		{"from zero in some runs", edits{fromZero(0, 2), as(measure.Rate)}, result.Undecided, undecided},
		{"from zero", edits{fromZero(2, 2), as(measure.GPUTime)}, result.Slower, harmless},
		{"not judged", edits{changed(0.1, 0.01, 0), func(x *evidence) { x.unjudged = reason.OneRun }},
			result.Undecided, undecided},
		{"explained otherwise", edits{changed(0.1, 0.01, 0), explained(0.2, false, doubtIfGating)}, result.Undecided,
			harmful},
		{"explained otherwise", edits{changed(-0.1, 0.01, 0), explained(0.2, true, doubtIfGating)}, result.Undecided,
			harmless},
		{"explained otherwise", edits{changed(0.1, 0.01, 0), explained(0.2, false, doubtIfGating), silent},
			result.Undecided, harmless},
		{"explained otherwise", edits{changed(-0.15, 0.01, 0), as(measure.Rate), explained(0.2, false, doubtIfGating)},
			result.Undecided, harmful},
		{"explained otherwise", edits{changed(0.1, 0.2, 0.5), as(measure.StepTime),
			func(x *evidence) { x.waits = true },
			explained(math.Inf(1), false, doubtIfGating)}, result.Undecided, harmful},
		{"slower", edits{changed(0.1, 0.01, 0), explained(0.05, false, doubtIfGating)}, result.Slower, harmless},
		{"slower", edits{changed(-0.15, 0.01, 0), as(measure.Rate), explained(0.16, false, doubtIfGating)},
			result.Slower, harmless},
		{"faster", edits{changed(-0.1, 0.01, 0), explained(0.2, false, doubtIfGating)}, result.Faster, harmless},
		{"increased count", edits{changed(0.1, 0.01, 0), as(measure.SyncCalls)}, result.Slower, harmless},
		{"slower", edits{changed(0.1, 0.01, 0), as(measure.SyncCalls), func(x *evidence) { x.named = true }},
			result.Slower,
			harmless},
		{"slower", edits{changed(0.031, 0.01, 0.009)}, result.Slower, harmless},
		{"slower", edits{changed(-0.1, 0.01, 0), as(measure.Rate)}, result.Slower, harmless},
		{"faster", edits{changed(0.1, 0.01, 0), as(measure.Rate)}, result.Faster, harmless},
		{"faster", edits{changed(-0.1, 0.01, 0)}, result.Faster, harmless},
		{"within the limit", edits{changed(0.01, 0.01, 0)}, result.WithinLimit, harmless},
		{"within the limit", edits{changed(0.01, 0.01, 0), as(measure.StepTime), runsBeyond(1)}, result.WithinLimit,
			harmless},
		{"within the limit", edits{changed(0.01, 0.01, 0), runsBeyond(2)}, result.WithinLimit, harmless},
		{"most runs beyond the limit", edits{changed(0.01, 0.01, 0), as(measure.StepTime), runsBeyond(2)},
			result.Undecided, undecided},
		{"most runs beyond the limit", edits{changed(0.05, 0.04, 0.2), runsBeyond(3)}, result.Undecided, harmful},
		{"most runs beyond the limit", edits{changed(0.05, 0.04, 0.2), as(measure.StepTime), apart, runsBeyond(3)},
			result.Undecided, harmful},
		{"undecided", edits{changed(0.05, 0.04, 0.2), as(measure.StepTime), runsBeyond(3)}, result.Undecided,
			undecided},
		{"undecided", edits{changed(0.5, 0.49, 0.2), as(measure.Elapsed), apart, runsBeyond(5)}, result.Undecided,
			undecided},
		{"undecided", edits{changed(0.02, 0.4, 0.2), as(measure.Elapsed), apart}, result.Undecided, harmless},
		{"undecided", edits{changed(0.05, 0.04, 0.2), runsBeyond(2)}, result.Undecided, undecided},
		{"undecided", edits{changed(0.05, 0.01, 0.02)}, result.Undecided, harmful},
		{"within the limit", edits{changed(-0.05, 0.01, 0.02)}, result.WithinLimit, harmless},
		{"within the limit", edits{changed(-0.02, 0.04, 0.5)}, result.WithinLimit, harmless},
		{"within the limit", edits{changed(0.05, 0.01, 0.02), as(measure.Rate)}, result.WithinLimit, harmless},
		{"undecided", edits{changed(0.02, 0.02, 0.5)}, result.Undecided, undecided},
		{"undecided", edits{changed(0.02, 0.02, 0.5), func(x *evidence) { x.share = 0.03 }}, result.Undecided,
			harmless},
		{"undecided", edits{changed(0.02, 0.02, 0.5), silent}, result.Undecided, harmless},
	}
	tested := map[string]bool{}
	for _, c := range cases {
		x := unchangedKernel()
		for _, edit := range c.edits {
			edit(&x)
		}
		r := ruleOf(&x)
		if r.name != c.rule || r.outcome != c.outcome || r.doubt(&x) != c.doubt {
			t.Errorf("%s: %q, %v, doubt %d; want %v, doubt %d", c.rule, r.name, r.outcome, r.doubt(&x), c.outcome,
				c.doubt)
		}
		if result.Say(r.reason(&x)).Key == "" {
			t.Errorf("%s: no reason", r.name)
		}
		tested[c.rule] = true
	}
	for _, r := range rules {
		if !tested[r.name] {
			t.Errorf("no case for rule %q", r.name)
		}
	}
}
