package decide_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/report"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// counting is a quiet program whose steps take 700 µs and which calls, copies and launches so much in each.
func counting(syncs, copies, copyTime float64, graphs string, slower float64) []model.Session {
	p := quiet()
	for i := range p.kernels {
		p.kernels[i].time *= slower
	}
	s := p.session()
	s.GraphTrace = graphs
	add := func(subject measure.Subject, m measure.Metric, role string, v float64) {
		s.Series = append(s.Series, model.Series{Subject: subject, Metric: m, Role: role,
			Values: slices.Repeat(model.Values{v}, 5)})
	}
	add(measure.Workload, measure.StepTime, "", 700e3)
	add(measure.Workload, measure.SyncCalls, "", syncs)
	if syncs > 0 {
		add(measure.Subject{Scope: measure.ScopeCall, Name: "cudaStreamSynchronize"}, measure.SyncCalls, "step/loss",
			syncs)
	}
	kind := measure.Subject{Scope: measure.ScopeWorkload, Name: "memcpy DtoD"}
	add(kind, measure.Copies, "", copies)
	add(kind, measure.CopyTime, "", copyTime)
	s.SortSeries()
	return []model.Session{s}
}

// An increased count is named, and fails by a rule; a copy has the weight of its part of the step; a program that moved
// to graphs is compared with its past by its steps.
func TestCounts(t *testing.T) {
	base := counting(0, 1, 20e3, "", 1)
	for _, tt := range []struct {
		name    string
		head    []model.Session
		policy  string
		verdict result.Verdict
		kernel  string
		metric  string
		outcome result.Outcome
		says    string
	}{
		{"one more synchronising call", counting(1, 1, 20e3, "", 1), "", result.Pass, "workload", "sync_calls",
			result.Slower, "cudaStreamSynchronize 0 → 1, in step/loss"},
		{"which a rule forbids", counting(1, 1, 20e3, "", 1), "[[rule]]\nmetric = \"sync_calls\"\nmax = \"0%\"\n",
			result.Fail, "workload", "sync_calls", result.Slower, "cudaStreamSynchronize 0 → 1, in step/loss"},
		{"none fewer", base, "", result.Pass, "workload", "sync_calls", result.WithinLimit, ""},
		{"a copy of 3 µs more", counting(0, 2, 23e3, "", 1), "", result.Fail, "memcpy DtoD", "copy_time", result.Slower,
			"beyond the limit"},
		{"and twice as many", counting(0, 2, 23e3, "", 1), "", result.Fail, "memcpy DtoD", "copies", result.Slower,
			"no rule limits this count"},
		{"a copy of 20 µs more", counting(0, 1, 40e3, "", 1), "", result.Fail, "memcpy DtoD", "copy_time",
			result.Slower, "beyond the limit"},
		{"kernels 4 % slower", counting(0, 1, 20e3, "", 1.04), "", result.Fail, "workload", "gpu_time", result.Slower,
			"beyond the limit"},
		{"kernels 4 % slower inside graphs", counting(0, 1, 20e3, "node", 1.04), "", result.Pass, "workload",
			"gpu_time", result.Slower, "the step time of workload is not worse"},
	} {
		policy, err := thresholds.Parse("nsgate.toml", []byte(tt.policy))
		if err != nil {
			t.Fatal(err)
		}
		r := evaluate(base, tt.head, policy)
		f := find(r, tt.kernel, tt.metric)
		if r.Verdict != tt.verdict || f.Outcome != tt.outcome ||
			!strings.Contains(f.Reason+strings.Join(f.Evidence, " "), tt.says) {
			t.Errorf("%s: %s (%s), %s %s is %s: %s %q", tt.name, r.Verdict, r.Reason, tt.kernel, tt.metric, f.Outcome,
				f.Reason, f.Evidence)
		}
	}

	// Steps that got longer are no reason to let graphs pass.
	slow := counting(0, 1, 20e3, "node", 1.04)
	for _, x := range slow[0].Series {
		if x.Metric == measure.StepTime {
			for i := range x.Values {
				x.Values[i] *= 1.2
			}
		}
	}
	if r := evaluate(base, slow, thresholds.Default()); r.Verdict != result.Fail ||
		!find(r, "workload", "gpu_time").Gates {
		t.Errorf("slower graphs: %s (%s)", r.Verdict, r.Reason)
	}
}

// TestZeroMedian wants sentences of numbers where most runs of the baseline hold a zero.
func TestZeroMedian(t *testing.T) {
	copying := func(v ...float64) []model.Session {
		s := counting(0, 1, 20e3, "", 1)
		for i, x := range s[0].Series {
			if x.Metric == measure.CopyTime {
				s[0].Series[i].Values = v
			}
		}
		return s
	}
	zero, much := copying(0, 0, 0, 3e3, 0), copying(40e3, 47e3, 41e3, 9e3, 60e3)
	for _, tt := range []struct {
		name       string
		base, head []model.Session
		want       string
	}{
		{"more", zero, much, "600.0 ns → 39.40 µs (×65.67, interval ×39.59 … ×91.75)"},
		{"most runs", zero, much, "5 of 5 runs are about ×68.33, beyond the limit of 10 %"},
		{"an outlier", zero, much, "one run of the baseline is not zero, the others are"},
		{"more, with a wide interval", zero, copying(0, 0, 0, 0, 90e3), "×30.00 ×0.000 … ×85.82"},
		{"a little", zero, copying(0, 2e3, 0, 3e3, 1e3), "600.0 ns → 1.200 µs +100 % -100 … +359 %"},
		{"fewer", zero, copying(0, 0, 0, 0, 0), "600.0 → 0 ns -100 % -100 … +86 %"},
		{"from zero", copying(0, 0, 0, 0, 0), much, "0 ns → 41.00 µs"},
	} {
		var out strings.Builder
		if err := report.Render("text", &out, compareSides(tt.base, tt.head, thresholds.Default()),
			report.Options{Width: 160, Verbose: true}); err != nil {
			t.Fatal(err)
		}
		got := strings.Join(strings.Fields(out.String()), " ")
		if !strings.Contains(got, tt.want) || strings.Contains(got, "×-") || strings.Contains(got, "about –") ||
			strings.Contains(got, "is – off") {
			t.Errorf("%s: want %q in\n%s", tt.name, tt.want, out.String())
		}
	}
}
