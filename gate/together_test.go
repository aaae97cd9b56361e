package gate_test

import (
	"slices"
	"testing"

	"github.com/nsgate/nsgate/gate"
	"github.com/nsgate/nsgate/gate/internal/text"
)

// Several workloads fail where one fails, and pass only where all do.
func TestTogether(t *testing.T) {
	of := func(name string, v gate.Verdict, undecided bool) *gate.Report {
		return &gate.Report{Workload: name, Verdict: v, Undecided: undecided, Alpha: 0.005, Family: 3, Counts: gate.Counts{Unchanged: 2, Improved: 1}}
	}
	a, b := of("a", gate.Pass, false), of("b", gate.Fail, false)
	c, d := of("", gate.NoVerdict, false), of("d", gate.Pass, true)
	for _, x := range []struct {
		reports []*gate.Report
		verdict gate.Verdict
		reason  string
	}{
		{[]*gate.Report{a, a}, gate.Pass, "2 workloads, none slower than its limits allow"},
		{[]*gate.Report{a, d}, gate.Pass, "nothing regressed for certain, but 1 of 2 workloads could not be decided: d"},
		{[]*gate.Report{a, c, d}, gate.NoVerdict, "no verdict on 1 of 3 workloads: default"},
		{[]*gate.Report{a, b, c}, gate.Fail, "1 of 3 workloads failed: b; no verdict on default"},
		{[]*gate.Report{b, b}, gate.Fail, "2 of 2 workloads failed: b, b"},
	} {
		r := gate.Together(x.reports)
		text.Tell(r)
		n := len(x.reports)
		if r.Verdict != x.verdict || r.Reason != x.reason || r.Undecided != slices.Contains(x.reports, d) {
			t.Errorf("%s %q, want %s %q", r.Verdict, r.Reason, x.verdict, x.reason)
		}
		if r.Family != 3*n || r.Counts.Unchanged != 2*n || r.Counts.Improved != n || r.Alpha < 0.0049*gate.Number(n) || len(r.Each()) != n {
			t.Errorf("%d workloads: %+v", n, r)
		}
	}
	if r := a.Each(); len(r) != 1 || r[0] != a {
		t.Errorf("a report alone has %d reports", len(r))
	}
}
