package ncu

import (
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/counters"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/stats"
)

// Session reduces profiles of one workload, one a run, to a session: the median over a run's launches of each subject.
// The caller fills in the fields that no page has: driver, CUDA, the GPU's identity and the time.
func Session(runs ...*counters.Profile) (model.Session, error) {
	s := model.Session{Environment: model.Environment{Tool: "ncu"}, Warmup: "0"}
	rows := map[measure.Subject]map[string]model.Values{}
	for i, p := range runs {
		switch {
		case i == 0:
			s.GPU = p.GPU
		case s.GPU != p.GPU:
			return s, model.Refuse(model.OtherGPU, "write the same page of every run on one GPU model",
				"%s was measured on another GPU model than %s, or is another page", p.Source, runs[0].Source)
		}
		s.GPUs = max(s.GPUs, p.Devices)
		s.Runs = append(s.Runs, model.Run{Total: len(p.Records), Launches: len(p.Records), Steady: true})
		values := map[measure.Subject]map[string][]float64{}
		for _, r := range p.Records {
			if values[r.Subject] == nil {
				values[r.Subject] = map[string][]float64{}
			}
			for name, v := range r.Metrics {
				values[r.Subject][name] = append(values[r.Subject][name], v)
			}
		}
		order(p, values)
		for subject, metrics := range values {
			if rows[subject] == nil {
				rows[subject] = map[string]model.Values{}
			}
			for name, v := range metrics {
				if rows[subject][name] == nil {
					rows[subject][name] = slices.Repeat(model.Values{math.NaN()}, len(runs))
				}
				rows[subject][name][i] = stats.Median(v)
			}
		}
	}
	for subject, metrics := range rows {
		for name, values := range metrics {
			m, _ := measure.MetricByName(name)
			s.Series = append(s.Series, model.Series{Subject: subject, Metric: m, Values: values})
		}
	}
	if len(runs) > 0 && len(s.Series) == 0 {
		return s, model.Refuse(model.NotCollected, "profile with ncu --set full, or name gpu__time_duration.sum in --metrics",
			"%s holds none of the counters that a metric is made of", runs[0].Source)
	}
	s.SortSeries()
	return s, s.Check()
}

// order numbers the kernels of one geometry by their first launch, see [measure.Order].
func order(p *counters.Profile, values map[measure.Subject]map[string][]float64) {
	alike, seen := map[string][]measure.Subject{}, map[measure.Subject]bool{}
	for _, r := range p.Records {
		if g := r.Subject.Geometry(); r.Subject.Scope == measure.ScopeKernel && g != "" && len(values[r.Subject]) > 0 && !seen[r.Subject] {
			alike[g], seen[r.Subject] = append(alike[g], r.Subject), true
		}
	}
	for _, of := range alike {
		for i, subject := range of {
			if len(of) > 1 {
				values[subject][measure.Order.Name] = []float64{float64(i + 1)}
			}
		}
	}
}
