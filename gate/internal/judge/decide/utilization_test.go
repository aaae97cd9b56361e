package decide_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// sampled is a session of three runs of a step with two ranges; of both sides alike but for what extra adds.
func sampled(extra ...model.Series) model.Session {
	series := func(scope measure.Scope, name string, m measure.Metric, v ...float64) model.Series {
		return model.Series{Subject: measure.Subject{Scope: scope, Name: name}, Metric: m, Values: v}
	}
	s := model.Session{Step: "step", Warmup: "auto", Environment: model.Environment{GPU: "NVIDIA H100", GPUs: 1,
		Tool: "nsys 2025.3.2"}}
	for range 3 {
		s.Runs = append(s.Runs, model.Run{Total: 20, Steady: true, Launches: 20})
	}
	s.Series = append([]model.Series{
		series(measure.ScopeWorkload, "", measure.GPUTime, 1e6, 1.001e6, 0.999e6),
		series(measure.ScopeRange, "forward", measure.GPUTime, 6e5, 6.01e5, 5.99e5),
		series(measure.ScopeRange, "clip", measure.GPUTime, 4e5, 4.01e5, 3.99e5),
	}, extra...)
	return s
}

func utilized(tensor float64) []model.Series {
	nan := math.NaN()
	return []model.Series{
		{Subject: measure.Workload, Metric: measure.SamplingPeriod, Values: model.Values{1e5, 1e5, nan}},
		{Subject: measure.Workload, Metric: measure.TensorActive, Values: model.Values{tensor - 1, tensor + 1, nan}},
		{Subject: measure.Subject{Scope: measure.ScopeRange, Name: "forward"}, Metric: measure.TensorActive,
			Values: model.Values{tensor, tensor, nan}},
	}
}

func rules(t *testing.T, file string) *thresholds.Policy {
	t.Helper()
	p, err := thresholds.Parse("nsgate.toml", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestUtilization(t *testing.T) {
	base, head := sampled(utilized(50)...), sampled(utilized(30)...)
	judge := func(b, h model.Session, file string) *result.Report {
		r := compareSides([]model.Session{b}, []model.Session{h}, rules(t, file))
		return r
	}
	r := judge(base, head, "")
	if r.Verdict != result.Pass || len(r.Utilization) != 2 {
		t.Fatalf("%s: %s, %+v", r.Verdict, r.Reason, r.Utilization)
	}
	if u := r.Utilization[1]; u.Range != "forward" || u.Metrics[0] != (result.CauseMetric{Name: "tensor_active",
		Unit: "%", Base: 50, Head: 30}) {
		t.Errorf("range %+v", u)
	}
	if notes := strings.Join(r.Notes, "\n"); !strings.Contains(notes, "sampling period of 100.0 µs: clip") {
		t.Errorf("notes %s", notes)
	}
	for _, tt := range []struct {
		name, rule string
		base, head model.Session
		verdict    result.Verdict
		says       string
	}{
		{"a rule fails", "at_least = \"40%\"\nrange = \"forward\"", base, head, result.Fail, "tensor active"},
		{"of a head alone", `at_least = "40%"`, sampled(), head, result.Fail, "tensor active"},
		{"a rule is kept", `at_least = "20%"`, base, head, result.Pass, ""},
		{"a rule is kept of a head alone, with a limit of its change", `at_least = "20%"` + "\nmax = \"5%\"", sampled(),
			head, result.Pass, ""},
		{"a fall on a host of unknown speed", `max = "5%"`, base, head, result.NoVerdict, "tensor active"},
		{"a rise is none", `max = "5%"`, head, base, result.Pass, ""},
		{"not sampled", `at_least = "40%"`, sampled(), sampled(), result.NoVerdict,
			"bounds tensor active, which was not measured"},
		{"too short", "at_least = \"40%\"\nrange = \"clip\"", base, head, result.NoVerdict,
			"shorter than the sampling"},
	} {
		r := judge(tt.base, tt.head, "[[rule]]\nmetric = \"tensor_active\"\n"+tt.rule)
		said := r.Reason + strings.Join(r.Notes, " ")
		if r.Verdict != tt.verdict || !strings.Contains(said, tt.says) {
			t.Errorf("%s: %s: %s", tt.name, r.Verdict, said)
		}
	}
}

// A kernel that got slower is a part of its range's GPU time, not of what is sampled there.
func TestRangeOfKernelIsTime(t *testing.T) {
	side := func(by float64) []model.Session {
		s := quiet().with(func(p *program) { // another kernel, in another range, takes less
			p.kernels[0].time *= by
			p.kernels[2].time *= 1 - 1.5*(by-1)
		}).session()
		compute := measure.Subject{Scope: measure.ScopeRange, Name: "compute"}
		s.Series = append(s.Series, model.Series{Subject: compute, Metric: measure.TensorActive,
			Values: slices.Repeat(model.Values{50 * by}, 5)})
		s.SortSeries()
		return []model.Session{s}
	}
	r := compareSides(side(1), side(1.3), rules(t, "[[rule]]\nmetric = \"tensor_active\"\nmax = \"50%\""))
	for _, f := range r.Findings {
		for _, x := range f.Also {
			if x.Args["metric"] == measure.TensorActive.Name {
				t.Errorf("%s: %s %s %s: %s", r.Verdict, f.Title(), f.Metric, f.Outcome, x.Sentence)
			}
		}
	}
}
