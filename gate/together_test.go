package gate_test

import (
	"slices"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/decide"
	"github.com/nsgate/nsgate/gate/internal/text"
)

// Several workloads fail where one fails, and pass only where all do.
func TestTogether(t *testing.T) {
	of := func(name string, v decide.Verdict, undecided bool) *decide.Report {
		return &decide.Report{Workload: name, Verdict: v, Undecided: undecided, Alpha: 0.005, Family: 3, Counts: decide.Counts{Unchanged: 2, Improved: 1}}
	}
	a, b := of("a", decide.Pass, false), of("b", decide.Fail, false)
	c, d := of("", decide.NoVerdict, false), of("d", decide.Pass, true)
	for _, x := range []struct {
		reports []*decide.Report
		verdict decide.Verdict
		reason  string
	}{
		{[]*decide.Report{a, a}, decide.Pass, "2 workloads, none slower than its limits allow"},
		{[]*decide.Report{a, d}, decide.Pass, "nothing regressed for certain, but 1 of 2 workloads could not be decided: d"},
		{[]*decide.Report{a, c, d}, decide.NoVerdict, "no verdict on 1 of 3 workloads: default"},
		{[]*decide.Report{a, b, c}, decide.Fail, "1 of 3 workloads failed: b; no verdict on default"},
		{[]*decide.Report{b, b}, decide.Fail, "2 of 2 workloads failed: b, b"},
	} {
		r := decide.Together(x.reports)
		text.Tell(r)
		n := len(x.reports)
		if r.Verdict != x.verdict || r.Reason != x.reason || r.Undecided != slices.Contains(x.reports, d) {
			t.Errorf("%s %q, want %s %q", r.Verdict, r.Reason, x.verdict, x.reason)
		}
		if r.Family != 3*n || r.Counts.Unchanged != 2*n || r.Counts.Improved != n || r.Alpha < 0.0049*decide.Number(n) || len(r.Each()) != n {
			t.Errorf("%d workloads: %+v", n, r)
		}
	}
	if r := a.Each(); len(r) != 1 || r[0] != a {
		t.Errorf("a report alone has %d reports", len(r))
	}
}
