package ncu

import (
	"fmt"
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/stats"
	"github.com/nsgate/nsgate/gate/measure"
)

// Session reduces profiles of one workload, one a run, to a session: the median over a run's launches of each subject. The
// caller fills in what no page says: driver, CUDA, the GPU's identity and the time.
func Session(runs ...*Profile) (measure.Session, error) {
	s := measure.Session{Environment: measure.Environment{Tool: "ncu"}, Warmup: "0"}
	type key struct {
		subject measure.Subject
		metric  string
	}
	rows := map[key]*measure.Series{}
	for i, p := range runs {
		switch {
		case i == 0:
			s.GPU = p.GPU
		case s.GPU != p.GPU:
			return s, Reasons.Refuse("another-gpu", p.Source, runs[0].Source)
		}
		s.GPUs = max(s.GPUs, p.Devices)
		values := map[key][]float64{}
		for _, r := range p.Records {
			for name, v := range r.Metrics {
				k := key{r.Subject, name}
				values[k] = append(values[k], v)
			}
		}
		for k, v := range values {
			row := rows[k]
			if row == nil {
				m, known := measure.MetricByName(k.metric)
				if !known {
					return s, fmt.Errorf("%s: no metric is called %q", p.Source, k.metric)
				}
				row = &measure.Series{Subject: k.subject, Metric: m, Values: make(measure.Values, len(runs))}
				for j := range row.Values {
					row.Values[j] = math.NaN()
				}
				rows[k] = row
			}
			row.Values[i] = stats.Median(v)
		}
		s.Runs = append(s.Runs, measure.Run{Total: len(p.Records), Launches: len(p.Records), Steady: true})
	}
	for _, row := range rows {
		s.Series = append(s.Series, *row)
	}
	if len(runs) > 0 && len(rows) == 0 {
		return s, Reasons.Refuse("no-counters", runs[0].Source)
	}
	s.SortSeries()
	return s, s.Check()
}

// Records are the runs of a stored session as one record each: what a committed baseline still knows of a subject.
func Records(s *measure.Session, subject measure.Subject) []Record {
	records := make([]Record, len(s.Runs))
	for i := range records {
		records[i] = Record{Subject: subject, Ordinal: i, Metrics: map[string]float64{}}
	}
	names := map[string]bool{}
	for _, s := range sources {
		names[s.metric.Name] = true
	}
	names[measure.TensorOps.Name] = true
	for _, x := range s.Series {
		if x.Subject != subject || !names[x.Metric.Name] {
			continue
		}
		for i, v := range x.Values {
			if !math.IsNaN(v) {
				records[i].Metrics[x.Metric.Name] = v
			}
		}
	}
	return slices.DeleteFunc(records, func(r Record) bool { return len(r.Metrics) == 0 })
}
