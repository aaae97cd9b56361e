package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/report/github"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// reds match what each format says of a gate that is red: a failure, an error, or no verdict.
var reds = map[string]*regexp.Regexp{
	"junit":       regexp.MustCompile(`<failure|<error|failures="[1-9]|errors="[1-9]`),
	"sarif":       regexp.MustCompile(`"level": "error"|"executionSuccessful": false`),
	"codequality": regexp.MustCompile(`"severity": "(major|critical|blocker)"`),
	"rdjson":      regexp.MustCompile(`"severity": "ERROR"`),
	"dotenv":      regexp.MustCompile(`EXIT_CODE=[1-9]`),
	"openmetrics": regexp.MustCompile(`nsgate_pass\{.*\} 0`),
	"json":        regexp.MustCompile(`"exit_code": [1-9]`),
	"markdown":    regexp.MustCompile(`❌|no verdict[^,]|pass.*, interrupted`),
	"text":        regexp.MustCompile(`(?m)^(FAIL|NO VERDICT|NO VERDICT, FAILS|PASS.*, INTERRUPTED)\s`),
	"csv":         regexp.MustCompile(`(?m),("pass.*, interrupted"|fail|no verdict|"no verdict, fails"),,gate`),
	"html":        regexp.MustCompile(`class="verdict bad"|>NO VERDICT<|>PASS.*, INTERRUPTED<`),
	"comment":     regexp.MustCompile(`❌|no verdict\*\*|pass.*, interrupted`),
	"annotations": regexp.MustCompile(`(?m)^::error`),
}

// cases are reports of one workload: each verdict with each way that a gate can have.
func cases() (all []*result.Report) {
	slow := result.Finding{Kernel: "k", Name: "k", Scope: measure.ScopeKernel, Metric: measure.Time.Name, Unit: "ns",
		Outcome: result.Slower, Gates: true, Base: 100, Head: 200, Change: 1, Low: 0.9, High: 1.1, Limit: 0.03}
	open := slow
	open.Outcome, open.Undecided, open.Low = result.Undecided, true, -0.1
	reports := []result.Report{
		{Verdict: result.Fail, Reason: "slower", ReasonKey: "slower", Findings: []result.Finding{slow}},
		{Verdict: result.Fail, Reason: "it drifted", ReasonKey: result.KeyOverDrift},
		{Verdict: result.Pass, Reason: "none is slower"},
		{Verdict: result.Pass, Reason: "open", ReasonKey: result.KeyUndecided, Undecided: true,
			Findings: []result.Finding{open}},
		{Verdict: result.NoVerdict, Reason: "open", ReasonKey: result.KeyUndecided, Undecided: true,
			Findings: []result.Finding{open}},
	}
	for _, kind := range []model.Kind{model.NoBaseline, model.NoBaselineHere, model.BoundBroken, model.NoGPU,
		model.WorkloadFailed, model.Doubted} {
		reports = append(reports, result.Report{Verdict: result.NoVerdict, Reason: "none", ReasonKey: string(kind)})
	}
	ways := []result.Way{"", result.InShadow, result.Accepted, result.FirstPasses, result.FirstFails,
		result.NotMeasured, result.OfDemo, result.Interrupted, "of a later release"}
	for _, r := range reports {
		for _, way := range ways {
			one := r
			one.Gate.Way, one.Workload = way, fmt.Sprintf("w%d", len(all))
			all = append(all, &one)
		}
	}
	return all
}

// TestGateInEveryFormat checks that no format says failure or error where the exit code is 0, that each does where it
// is not, and that a saved report says the same.
func TestGateInEveryFormat(t *testing.T) {
	// Texts keep the word of the verdict where a demo shows a failure, and where a hook finds no GPU.
	said := func(r *result.Report) bool { return r.Gate.Way == result.OfDemo || r.Gate.Way == result.NotMeasured }
	try := func(r *result.Report) {
		t.Helper()
		j := r.Shown(nil)
		for format, text := range everyFormat(t, j) {
			if strings.Contains("text csv markdown html comment", format) && slices.ContainsFunc(r.Each(), said) {
				continue
			}
			if red := reds[format].MatchString(text); red != (j.Gate.Code != 0) {
				t.Errorf("%s, %q, %s: exit code %d, and %s is red: %v\n%s", r.Verdict, r.Gate.Way, r.ReasonKey,
					j.Gate.Code, format, red, text[max(0, len(text)-600):])
			}
		}
		text := render(t, "json", j, Options{})
		var again result.Report
		if err := json.Unmarshal([]byte(text), &again); err != nil || again.Gated() != j.Gate {
			t.Errorf("read again the gate is %+v, not %+v (%v)", again.Gated(), j.Gate, err)
		}
	}
	all := cases()
	green := 0
	for _, r := range all {
		try(r)
		if r.Gated().Code == 0 {
			green++
		}
	}
	for i, a := range all {
		for step := range 3 { // pairs of workloads
			b := all[(i*7+step*11)%len(all)]
			if b.Gate.Way == result.OfDemo || a.Gate.Way == result.OfDemo ||
				(a.Gate.Way == result.Interrupted) != (b.Gate.Way == result.Interrupted) {
				continue
			}
			whole := &result.Report{Workloads: []*result.Report{a, b}, Verdict: result.Pass, Reason: "several"}
			for _, w := range whole.Workloads {
				if w.Verdict == result.Fail || w.Verdict == result.NoVerdict && whole.Verdict == result.Pass {
					whole.Verdict = w.Verdict
				}
			}
			try(whole)
			if g := whole.Gated(); (g.Code == 0) != (a.Gated().Code == 0 && b.Gated().Code == 0) {
				t.Errorf("%+v of %+v and %+v", g, a.Gated(), b.Gated())
			}
		}
	}
	if green < 20 || green > len(all)-20 {
		t.Errorf("%d of %d gates are green", green, len(all))
	}
}

func everyFormat(t *testing.T, r *result.Report) map[string]string {
	out := map[string]string{"comment": Comment(r, Options{}, Pages{})}
	for _, format := range Formats(Report) {
		if reds[format] != nil {
			out[format] = render(t, format, r, Options{})
		}
	}
	var b bytes.Buffer
	if err := github.Publish(r, "", github.Options{Writer: &b}); err != nil {
		t.Fatal(err)
	}
	out["annotations"] = b.String()
	if len(out) != len(reds) {
		t.Fatalf("%d formats of %d", len(out), len(reds))
	}
	return out
}
