package insight

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/judge/recorded"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// sectionedRun is a run of 1,000 ns, 700 of them in steps, with two kernels in the steps and GPU time before them.
func sectionedRun() []model.Session {
	s := model.Session{Runs: []model.Run{{}}}
	add := func(subject measure.Subject, metric measure.Metric, v float64) {
		s.Series = append(s.Series, model.Series{Subject: subject, Metric: metric, Values: model.Values{v}})
	}
	for _, x := range []struct {
		section   measure.Subject
		wall, gpu float64
	}{{measure.Before, 100, 10}, {measure.Warmup, 100, 90}, {measure.Steps, 700, 800}, {measure.Between, 60, 100},
		{measure.After, 40, 0}} {
		add(x.section, measure.Elapsed, x.wall)
		add(x.section, measure.GPUTime, x.gpu)
	}
	add(measure.Workload, measure.GPUTime, 100)
	for name, total := range map[string]float64{"sgemm": 95, "fill": 5} {
		add(measure.Subject{Scope: measure.ScopeKernel, Name: name}, measure.Total, total)
	}
	s.SortSeries()
	return []model.Session{s}
}

func TestCoverage(t *testing.T) {
	finding := func(s measure.Subject, m measure.Metric, edits ...func(*result.Finding)) result.Finding {
		f := result.Finding{Scope: s.Scope, Name: s.Name, Metric: m.Name, Limit: 0.1, Share: 0.5, Gates: true,
			Outcome: result.WithinLimit}
		for _, edit := range edits {
			edit(&f)
		}
		return f
	}
	kernel := func(name string) measure.Subject { return measure.Subject{Scope: measure.ScopeKernel, Name: name} }
	covered := func() []result.Finding {
		out := []result.Finding{finding(measure.Workload, measure.MeanStep), finding(measure.Workload, measure.GPUTime),
			finding(kernel("sgemm"), measure.Time), finding(kernel("fill"), measure.Total)}
		for _, s := range []measure.Subject{measure.Before, measure.Warmup, measure.After} {
			out = append(out, finding(s, measure.Elapsed), finding(s, measure.GPUTime))
		}
		return out
	}
	without := func(s measure.Subject, metrics ...measure.Metric) func([]result.Finding) []result.Finding {
		return func(list []result.Finding) []result.Finding {
			return slices.DeleteFunc(list, func(f result.Finding) bool {
				return f.Subject() == s && (len(metrics) == 0 ||
					slices.ContainsFunc(metrics, func(m measure.Metric) bool { return m.Name == f.Metric }))
			})
		}
	}
	with := func(s measure.Subject, edit func(*result.Finding)) func([]result.Finding) []result.Finding {
		return func(list []result.Finding) []result.Finding {
			for i := range list {
				if list[i].Subject() == s {
					edit(&list[i])
				}
			}
			return list
		}
	}
	for _, tt := range []struct {
		name string
		edit func([]result.Finding) []result.Finding
		want string
	}{
		{"all has a limit", without(measure.After, measure.GPUTime), "gpu 0 wall 0 []"},
		{"section ignored or unknown", without(measure.Warmup), "gpu 0.09 wall 0.1 [{warm-up 0.09 0.1}]"},
		{"wall time of a section without a limit", without(measure.Before, measure.Elapsed),
			"gpu 0 wall 0.1 [{before 0 0.1}]"},
		{"section that costs too little", with(measure.After,
			func(f *result.Finding) { f.Gates, f.Share = false, 0.001 }), "gpu 0 wall 0.04 [{after 0 0.04}]"},
		{"section that only warns", with(measure.After, func(f *result.Finding) { f.Gates = false }),
			"gpu 0 wall 0 []"},
		{"section without a bound", with(measure.After,
			func(f *result.Finding) { f.Limit = result.Number(math.Inf(1)) }), "gpu 0 wall 0.04 [{after 0 0.04}]"},
		{"no step", without(measure.Workload, measure.MeanStep), "gpu 0 wall 0.76 [{steps 0 0.7} {between 0 0.06}]"},
		{"step decided by an output", with(measure.Workload, func(f *result.Finding) { f.Gates = false }),
			"gpu 0 wall 0 []"},
		{"small kernel", with(kernel("fill"), func(f *result.Finding) { f.Gates, f.Share = false, 0.0005 }),
			"gpu 0.045 wall 0 [{kernels that cost too little 0.045 0}]"},
		{"ignored kernel", without(kernel("fill")), "gpu 0.045 wall 0 [{ignored kernels 0.045 0}]"},
		{"kernel without a bound", with(kernel("fill"),
			func(f *result.Finding) { f.Limit, f.Gates = result.Number(math.Inf(1)), false }),
			"gpu 0.045 wall 0 [{kernels without a limit 0.045 0}]"},
		{"new kernel within the total", with(kernel("fill"), func(f *result.Finding) {
			f.Outcome,
				f.Gates = result.New, false
		}), "gpu 0 wall 0 []"},
		{"new kernel without a total", func(list []result.Finding) []result.Finding {
			list = with(kernel("fill"), func(f *result.Finding) { f.Outcome, f.Gates = result.New, false })(list)
			return without(measure.Workload, measure.GPUTime)(list)
		}, "gpu 0.045 wall 0 [{new kernels 0.045 0}]"},
		{"kernel that is matched together with others", func(list []result.Finding) []result.Finding {
			list = without(kernel("fill"))(list)
			return with(kernel("sgemm"), func(f *result.Finding) { f.HeadNames = []string{"fill", "sgemm"} })(list)
		}, "gpu 0 wall 0 []"},
	} {
		u := Coverage(recorded.New(sectionedRun(), measure.Total), 0.0015, tt.edit(covered()))
		round := func(n result.Number) float64 { return math.Round(float64(n)*1e9) / 1e9 }
		var parts []string
		for _, p := range u.Parts {
			parts = append(parts, fmt.Sprintf("{%s %v %v}", p.What, round(p.GPUShare), round(p.WallShare)))
		}
		if got := fmt.Sprintf("gpu %v wall %v %v", round(u.GPUShare), round(u.WallShare), parts); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
	if u := Coverage(recorded.New([]model.Session{{Runs: []model.Run{{}}}}, measure.Total), 0.0015,
		covered()); u != nil {
		t.Errorf("without sections: %v", u)
	}
}
