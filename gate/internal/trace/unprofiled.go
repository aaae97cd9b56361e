package trace

import (
	"math"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/measure"
)

// AddUnprofiled puts runs without a profiler into the sessions that they were taken in, which are the oldest first: each into
// the last that had begun.
func AddUnprofiled(sessions []model.Session, runs []model.Unprofiled, outputs []measure.Output) {
	for _, run := range runs {
		at := 0
		for i := range sessions {
			if !run.Start.Before(sessions[i].Start) {
				at = i
			}
		}
		addUnprofiled(&sessions[at], run, outputs)
	}
	for i := range sessions {
		sessions[i].SortSeries()
	}
}

func addUnprofiled(s *model.Session, run model.Unprofiled, outputs []measure.Output) {
	s.Runs = append(s.Runs, model.Run{Unprofiled: true, Steady: true, Start: run.Start})
	for i := range s.Series {
		s.Series[i].Values = append(s.Series[i].Values, math.NaN())
	}
	last := len(s.Runs) - 1
	set := func(subject measure.Subject, metric measure.Metric, value float64) {
		for i := range s.Series {
			if x := &s.Series[i]; x.Subject == subject && x.Metric.Name == metric.Name {
				x.Values[last] = value
				return
			}
		}
		values := make(model.Values, len(s.Runs))
		for i := range values {
			values[i] = math.NaN()
		}
		values[last] = value
		s.Series = append(s.Series, model.Series{Subject: subject, Metric: metric, Values: values})
	}
	set(measure.Workload, measure.WallTime, float64(run.Wall.Nanoseconds()))
	for i, o := range outputs {
		set(o.Subject(), o.Metric(), run.Outputs[i])
	}
}
