package decide_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// A kernel that got slower while the step certainly got shorter is reported and does not fail, unless a rule names its
// metric; a gain that is not certain, and one that a longer mean step contradicts, pay for nothing. Copies cost what
// they take of the step.
func TestTraded(t *testing.T) {
	side := func(gemm float64, step, mean, exposed, copies float64) []model.Session {
		p := quiet()
		p.kernels = slices.Clone(p.kernels)
		p.kernels[0].time *= gemm
		s := p.session()
		noise := []float64{1, 1.001, 0.999, 1.0005, 0.9995}
		add := func(subject measure.Subject, m measure.Metric, v float64) {
			x := model.Series{Subject: subject, Metric: m}
			for _, n := range noise {
				x.Values = append(x.Values, v*n)
			}
			s.Series = append(s.Series, x)
		}
		kind := measure.Subject{Scope: measure.ScopeWorkload, Name: "memcpy HtoD"}
		add(measure.Workload, measure.StepTime, step)
		add(measure.Workload, measure.MeanStep, mean)
		add(kind, measure.CopyTime, copies)
		add(kind, measure.Owned, exposed)
		s.SortSeries()
		return []model.Session{s}
	}
	base := side(1, 700e3, 700e3, 5e3, 100e3)
	for _, tt := range []struct {
		name, policy string
		head         []model.Session
		verdict      result.Verdict
		says         string
	}{
		// was: fail
		{"overlap gained: kernel +10 %, step −10.5 %", "", side(1.1, 626e3, 626e3, 5e3, 100e3), result.Pass, "traded"},
		{"a rule names the metric", "[[rule]]\nmetric = \"time\"\nmax = \"3%\"\n", side(1.1, 626e3, 626e3, 5e3, 100e3),
			result.Fail, ""},
		{"a step as long as before", "", side(1.1, 700e3, 700e3, 5e3, 100e3), result.Fail, ""},
		{"a mean step that stalls", "", side(1.1, 626e3, 760e3, 5e3, 100e3), result.Fail, ""},
		// was: fail
		{"copies +40 % behind kernels, step unchanged", "", side(1, 700e3, 700e3, 5e3, 140e3), result.Pass, ""},
		{"copies +40 % that nothing hides", "", side(1, 700e3, 700e3, 45e3, 140e3), result.Fail, ""},
	} {
		policy, err := thresholds.Parse("nsgate.toml", []byte(tt.policy))
		if err != nil {
			t.Fatal(err)
		}
		r := evaluate(base, tt.head, policy)
		f := find(r, "gemm", "time")
		if r.Verdict != tt.verdict || !strings.Contains(f.Reason, tt.says) {
			t.Errorf("%s: %s (%s); gemm is %s: %s", tt.name, r.Verdict, r.Reason, f.Outcome, f.Reason)
		}
	}
}

// A kernel that took over the work of one that is gone is judged together with it, in the same range.
func TestFused(t *testing.T) {
	side := func(gemm, norm float64) []model.Session {
		p := quiet()
		p.kernels = slices.Clone(p.kernels)
		p.kernels[0].time *= gemm
		p.kernels[1].time *= norm
		if norm == 0 {
			p.kernels = slices.Delete(p.kernels, 1, 2)
		}
		return []model.Session{p.session()}
	}
	p := quiet()
	took := p.kernels[1].time / p.kernels[0].time
	for _, tt := range []struct {
		name    string
		head    []model.Session
		verdict result.Verdict
	}{
		{"takes over the whole", side(1+took, 0), result.Pass}, // was: fail
		{"takes over more than the limit allows", side(1+1.2*took, 0), result.Fail},
		{"nothing is gone", side(1+took, 1), result.Fail},
	} {
		r := evaluate(side(1, 1), tt.head, thresholds.Default())
		if f := find(r, p.kernels[0].name, "time"); r.Verdict != tt.verdict ||
			(r.Verdict == result.Pass) != strings.Contains(f.Reason, "and what replaces it") {
			t.Errorf("%s: %s (%s); %s", tt.name, r.Verdict, r.Reason, f.Reason)
		}
	}
}
