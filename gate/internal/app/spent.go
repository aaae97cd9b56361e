package app

import (
	"github.com/nsgate/nsgate/gate/internal/insight"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/run"
)

// spend adds the time of a session to what was spent before.
func spend(s *result.Spent, r *run.Result) {
	s.Total += result.Number(r.Elapsed)
	for _, x := range r.Runs {
		s.InRuns += result.Number(x.Duration)
		s.Runs++
	}
	for stage, to := range map[run.Stage]*result.Number{run.Starting: &s.Start, run.Finishing: &s.Report, run.Exporting: &s.Export, run.Reading: &s.Read} {
		*to += result.Number(r.Stages[stage])
	}
}

// spent is where the time of a measurement on this machine went, which it tells; nil where nothing was run.
func (j *Job) spent(head []model.Session) *result.Spent {
	m := j.Measurer.Live()
	if m == nil || m.spent.Runs == 0 {
		return nil
	}
	out := m.spent
	out.Run = insight.RunParts(model.Nsys.Pick(head))
	j.Tell(Event{Stage: run.Spent, Text: out.String()})
	return &out
}
