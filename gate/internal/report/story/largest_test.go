package story

import (
	"testing"

	"github.com/nsgate/nsgate/gate/internal/result"
)

// TestLargest wants the certain change that takes most of its limit or floor, and none that is uncertain or in the
// headline.
func TestLargest(t *testing.T) {
	row := func(name string, scope string, change, p, limit float64) result.Finding {
		return result.Finding{Kernel: name, Name: name, Scope: "kernel", Metric: "time", Unit: "ns", Base: 1e5,
			Head: result.Number(1e5 * (1 + change)), Change: result.Number(change), P: result.Number(p),
			Limit: result.Number(limit), Outcome: result.WithinLimit}
	}
	step := row("", "workload", 0.04, 1e-9, 0.05)
	step.Scope, step.Metric, step.Kernel = "workload", "step_time", "workload"
	startup := row("before", "section", 0.9, 1e-9, 0.25)
	startup.Scope, startup.Metric, startup.Outcome, startup.Floor = "section", "elapsed_time", result.BelowFloor, 3e5
	for _, c := range []struct {
		findings []result.Finding
		want     string
	}{
		{[]result.Finding{row("a", "kernel", 0.02, 1e-9, 0.03), row("b", "kernel", 0.025, 0.5, 0.03)},
			"a 100.0 → 102.0 µs  +2.0 % (limit 3 %)"},
		{[]result.Finding{row("a", "kernel", 0.02, 0.2, 0.03)}, ""},
		{[]result.Finding{step, row("a", "kernel", 0.01, 1e-9, 0.03)}, ""},
		{[]result.Finding{startup, row("a", "kernel", 0.005, 1e-9, 0.03)},
			"time before the steps 100.0 → 190.0 µs  +90 % (limit 25 %, floor 300.0 µs)"},
	} {
		r := &result.Report{Verdict: result.Pass, Alpha: 0.01, Findings: c.findings}
		if got := unbind(Tell(r, Options{}).Largest()); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
