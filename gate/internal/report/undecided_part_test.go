package report

import (
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/explain/reason"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// TestUndecidedPart wants the kernel named that makes the GPU time longer, where it is undecided by itself.
func TestUndecidedPart(t *testing.T) {
	finding := func(scope measure.Scope, name, metric string, outcome result.Outcome, base,
		head result.Number) result.Finding {
		return result.Finding{Scope: scope, Kernel: name, Name: name, Metric: metric, Unit: "ns", Outcome: outcome,
			Base: base, Head: head, Change: head/base - 1, Low: result.Unknown, High: result.Unknown, P: result.Unknown,
			MDE: result.Unknown, Share: 1, Limit: 0.03, Gates: true, Undecided: outcome == result.Undecided}
	}
	for _, x := range []struct {
		kernel result.Number // its time in the head
		says   string
	}{
		{16.2e6, "Why     lookup takes 2.600 ms longer a run, 100.0 % of GPU time; alone it is undecided"},
		{13.7e6, "Why     No kernel, copy or cause of idle time changed enough to explain it"},
		{0, "Why     Whole runs were compared, not their kernels"}, // of sides of which one has a step
	} {
		r := &result.Report{Schema: result.Schema, Verdict: result.Fail, Reason: "slower: GPU time",
			Findings: []result.Finding{
				finding(measure.ScopeWorkload, "", measure.GPUTime.Name, result.Slower, 13.6e6, 16.2e6),
				finding(measure.ScopeKernel, "lookup", measure.Time.Name, result.Undecided, 13.6e6, x.kernel),
				finding(measure.ScopeKernel, "lookup", measure.Total.Name, result.Undecided, 13.6e6, x.kernel),
			}}
		if x.kernel == 0 {
			r.Findings = r.Findings[:1]
		}
		var b strings.Builder
		if err := Render("text", &b, r, Options{Width: 100}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), x.says) {
			t.Errorf("want %q in:\n%s", x.says, b.String())
		}
	}
}

// TestWarnedBesideUndecided wants a kernel named that is slower for certain and only warned of, where the gate passes
// for another that is undecided.
func TestWarnedBesideUndecided(t *testing.T) {
	warned := result.Finding{Scope: measure.ScopeKernel, Kernel: "saxpy", Name: "saxpy", Metric: measure.Time.Name,
		Unit: "ns", Outcome: result.Slower, Base: 1e5, Head: 1.3e5, Change: 0.3, Low: 0.29, High: 0.31, P: 0,
		MDE: result.Unknown, Share: 0.5, Limit: 0.03, Severity: "warn",
		Reason: "beyond the limit of 3 %; the policy only warns of it (nsgate.toml:1)"}
	open := warned
	open.Kernel, open.Name, open.Outcome, open.Severity, open.Gates, open.Undecided = "sgemm", "sgemm",
		result.Undecided, "fail", true, true
	open.Reason = "open"
	r := &result.Report{Schema: result.Schema, Verdict: result.Pass, Undecided: true, Reason: "undecided",
		Findings: []result.Finding{warned, open}}
	for _, format := range []string{"text", "markdown"} {
		var b strings.Builder
		if err := Render(format, &b, r, Options{Width: 200}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), "the policy only warns of it") {
			t.Errorf("%s lacks what is slower for certain:\n%s", format, b.String())
		}
	}
}

// TestModeOfFailing wants the mode named where it fails the gate.
func TestModeOfFailing(t *testing.T) {
	f := result.Finding{Scope: measure.ScopeBenchmark, Kernel: "scan", Name: "scan", Metric: measure.Duration.Name,
		Unit: "ns", Outcome: result.Slower, Gates: true, Base: 1000, Head: 1300, Change: 0.3, Low: 0.2, High: 0.4,
		P: 0, MDE: result.Unknown, Share: 1, Limit: 0.03, Severity: "fail", Reason: "beyond the limit of 3 %"}
	f.Qualify(result.Say(reason.TwoLevels{Mode: "appeared", Side: "head", Some: 6, All: 13, Of: 13, Low: 1000,
		Unit: "ns", Above: 0.6, New: true}))
	r := &result.Report{Schema: result.Schema, Verdict: result.Fail, Reason: "slower: scan",
		Findings: []result.Finding{f}}
	for _, format := range []string{"text", "markdown"} {
		var b strings.Builder
		if err := Render(format, &b, r, Options{Width: 200}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), "a mode appeared: the head is bimodal") {
			t.Errorf("%s does not name the mode:\n%s", format, b.String())
		}
	}
}
