package trace

import (
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
	one := model.Session{Runs: []model.Run{{Unprofiled: true, Steady: true, Start: run.Start}}}
	set := func(subject measure.Subject, metric measure.Metric, value float64) {
		one.Series = append(one.Series, model.Series{Subject: subject, Metric: metric, Values: model.Values{value}})
	}
	set(measure.Workload, measure.WallTime, float64(run.Wall.Nanoseconds()))
	for i, o := range outputs {
		set(o.Subject(), o.Metric(), run.Outputs[i])
	}
	add(s, &one)
}
