package ncu

import (
	"maps"
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/judge/stats"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/counters"
)

// Session reduces profiles of one workload, one a run, to a session: the median over a run's launches of each subject.
// The caller fills in the fields that no page has: driver, CUDA, the GPU's identity and the time.
func Session(runs ...*counters.Profile) (model.Session, error) {
	s := model.Session{Environment: model.Environment{Tool: "ncu"}, Warmup: "0"}
	rows := map[series]model.Values{}
	for i, p := range runs {
		switch {
		case i == 0:
			s.GPU = p.GPU
		case s.GPU != p.GPU:
			return s, model.Refuse(model.OtherGPU, "write the same page of every run on one GPU model",
				"%s was measured on another GPU model than %s, or is another page", p.Source, runs[0].Source)
		}
		s.GPUs = max(s.GPUs, p.Devices)
		s.Runs = append(s.Runs, model.Run{Total: p.Launches, Launches: p.Launches, Steady: true})
		set := func(subject measure.Subject, metric string, v float64) {
			x := series{subject, metric}
			if rows[x] == nil {
				rows[x] = slices.Repeat(model.Values{math.NaN()}, len(runs))
			}
			rows[x][i] = v
		}
		var counted []measure.Subject
		for _, k := range p.Kernels {
			some := false
			for name, values := range k.Values {
				if _, metric := measure.MetricByName(name); metric { // no evidence
					some = true
					set(k.Subject, name, stats.Median(values))
				}
			}
			if some {
				counted = append(counted, k.Subject)
			}
		}
		for subject, n := range order(counted) {
			set(subject, measure.Order.Name, n)
		}
	}
	for x, values := range rows {
		m, _ := measure.MetricByName(x.metric)
		s.Series = append(s.Series, model.Series{Subject: x.subject, Metric: m, Values: values})
	}
	if len(runs) > 0 && len(s.Series) == 0 {
		return s, model.Refuse(model.NotCollected,
			"profile with ncu --set full, or name gpu__time_duration.sum in --metrics",
			"%s holds none of the counters that a metric is made of", runs[0].Source)
	}
	s.SortSeries()
	return s, s.Check()
}

// series is the name of a [model.Series].
type series struct {
	subject measure.Subject
	metric  string
}

// order numbers the kernels of one geometry, which come in the order of their first launches, see [measure.Order].
func order(kernels []measure.Subject) map[measure.Subject]float64 {
	numbers, alike := map[measure.Subject]float64{}, map[string]float64{}
	for _, s := range kernels {
		if g := s.Geometry(); s.Scope == measure.ScopeKernel && g != "" {
			alike[g]++
			numbers[s] = alike[g]
		}
	}
	maps.DeleteFunc(numbers, func(s measure.Subject, _ float64) bool { return alike[s.Geometry()] == 1 })
	return numbers
}
