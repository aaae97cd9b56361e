package verdict

import (
	"slices"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/explain/reason"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// Several workloads fail where one fails, and pass only where all do.
func TestSeveral(t *testing.T) {
	of := func(name string, v result.Verdict, undecided bool) *result.Report {
		return &result.Report{Verdict: v, Undecided: undecided, Alpha: 0.005, Family: 3, Workload: name}
	}
	a, b := of("a", result.Pass, false), of("b", result.Fail, false)
	c, d := of("", result.NoVerdict, false), of("d", result.Pass, true)
	for _, x := range []struct {
		reports []*result.Report
		verdict result.Verdict
		reason  string
	}{
		{[]*result.Report{a, a}, result.Pass, "2 workloads, none slower than its limits allow"},
		{[]*result.Report{a, d}, result.Pass, "nothing is slower for certain, but 1 of 2 workloads undecided: d"},
		{[]*result.Report{a, c, d}, result.NoVerdict, "no verdict on 1 of 3 workloads: default"},
		{[]*result.Report{a, b, c}, result.Fail, "1 of 3 workloads failed: b; no verdict on default"},
		{[]*result.Report{b, b}, result.Fail, "2 of 2 workloads failed: b, b"},
	} {
		r := Several(x.reports)
		n := len(x.reports)
		if r.Verdict != x.verdict || r.Reason != x.reason || r.Undecided != slices.Contains(x.reports, d) {
			t.Errorf("%s %q, want %s %q", r.Verdict, r.Reason, x.verdict, x.reason)
		}
		if r.Family != 3*n || r.Alpha < 0.0049*result.Number(n) || len(r.Each()) != n {
			t.Errorf("%d workloads: %+v", n, r)
		}
	}
	if r := a.Each(); len(r) != 1 || r[0] != a {
		t.Errorf("a report alone has %d reports", len(r))
	}
}

// TestIdleBounds wants exit code 3 where a rule bounds what no workload has, and the next step of each workload.
func TestIdleBounds(t *testing.T) {
	idle := result.Say(reason.RuleIdle{Rule: "nsgate.toml:7", Here: true, Unmet: true, Of: 2})
	of := func(name string) *result.Report {
		r := &result.Report{Verdict: result.Pass, Workload: name}
		r.Remarks = []result.Remark{idle}
		return r
	}
	r := Several([]*result.Report{of("a"), of("b")})
	for _, w := range append(r.Each(), r) {
		wanted := w.Verdict == result.NoVerdict && w.Reason == "nsgate.toml:7 is about what no workload has"
		if !wanted || w != r && len(w.Next) != 1 {
			t.Errorf("%q: %s %q, %q", w.Workload, w.Verdict, w.Reason, w.Next)
		}
	}
	if g := r.Shown(nil).Gated(); g.Code != 3 {
		t.Errorf("%+v", g)
	}
	failed := of("b")
	failed.Verdict = result.Fail
	if r = Several([]*result.Report{of("a"), failed}); r.Verdict != result.Fail || len(r.Doubts) != 1 {
		t.Errorf("%s, %+v", r.Verdict, r.Doubts)
	}
	idle.Args["unmet"] = false // a limit
	r = Several([]*result.Report{of("a"), of("b")})
	if want := "nsgate.toml:7 has nothing to judge: nothing by that name was measured"; r.Verdict != result.Pass ||
		len(r.Doubts) != 1 || r.Doubts[0].Sentence != want {
		t.Errorf("%s, %+v, want %q", r.Verdict, r.Doubts, want)
	}
	idle.Args["unmet"], idle.Args["of"] = true, result.Number(3) // a third workload was not judged
	r = Several([]*result.Report{of("a"), of("b")})
	if want := "nsgate.toml:7 has nothing to judge here; another workload may have it"; r.Verdict != result.Pass ||
		len(r.Doubts) != 1 || r.Doubts[0].Sentence != want {
		t.Errorf("%s, %+v, want %q", r.Verdict, r.Doubts, want)
	}
}

// TestSelecting wants a pattern that a policy may hold and that a report prints as it is.
func TestSelecting(t *testing.T) {
	for name, want := range map[string]string{"BM_a/8*": "BM_a/8?", "c=8 p99 TTFT": "c=8 p99 TTFT", "k\tl": "k?l",
		" z y": "?z?y", "a  b": "a??b"} {
		if got := selecting(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
