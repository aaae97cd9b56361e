package trace

import (
	"cmp"
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// Join makes sessions of runs that were summed up one by one, each a session of its own, as from summaries without
// single launches. Runs of one GPU, profiler and mode that started within an hour belong together, as for [Reduce].
func Join(runs []model.Session) ([]model.Session, error) {
	runs = slices.Clone(runs)
	for i, r := range runs {
		if r.Runs[0].Start.IsZero() {
			runs[i].Runs = slices.Clone(r.Runs)
			runs[i].Runs[0].Start = r.Start
		}
	}
	measure.Sort(runs, func(a, b model.Session) int {
		return cmp.Or(cmp.Compare(a.GPU, b.GPU), cmp.Compare(a.GPUHash, b.GPUHash), a.Start.Compare(b.Start))
	})
	var out []model.Session
	for _, r := range runs {
		if last := len(out) - 1; last >= 0 && sameEnvironment(&out[last].Environment, &r.Environment) {
			if out[last].Profiler() != r.Profiler() {
				return nil, differ(&out[last], &r)
			}
			s := &out[last].Environment
			if setting := cmp.Or(model.OneSided(s.Mode, r.Mode), model.OneSided(r.Mode, s.Mode)); setting != "" {
				return nil, model.Refuse(model.RunsDiffer,
					"measure every run with one version of the tool and the same options",
					"only some runs of one side name %s, so that their loads may differ", setting)
			}
			if err := add(&out[last], &r); err != nil {
				return nil, err
			}
			continue
		}
		for i := range r.Series {
			r.Series[i].Values = slices.Clone(r.Series[i].Values)
		}
		r.Series, r.Runs = slices.Clone(r.Series), slices.Clone(r.Runs)
		out = append(out, r)
	}
	for i := range out {
		out[i].SortSeries()
		if err := out[i].Check(); err != nil {
			return nil, err
		}
	}
	measure.Sort(out, func(a, b model.Session) int { return a.Start.Compare(b.Start) })
	return out, nil
}

func differ(s, r *model.Session) error {
	return model.Refuse(model.RunsDiffer, "measure every run with the same profiler and settings",
		"runs of one side were measured differently: %s and %s", s.Tool+" "+s.Mode, r.Tool+" "+r.Mode)
}

// add appends the one run of r to a session. What either of them lacks is NaN. Runs under unlike loads, and a metric in
// two units, are refused.
func add(s, r *model.Session) error {
	switch setting, x, y := model.Unlike(s.Mode, r.Mode); {
	case setting == model.WholeMode:
		return differ(s, r)
	case setting != "" && !model.Tallied(setting):
		return model.Refuse(model.RunsDiffer, "measure every run under the same load",
			"runs of one side differ in %s: %s and %s", setting, x, y)
	}
	s.Mode = model.JoinModes(s.Mode, r.Mode)
	s.LeaveOut(r.LeftOut...)
	at := make(map[key]int, len(s.Series))
	for i := range s.Series {
		at[key{s.Series[i].Subject, s.Series[i].Metric.Name}] = i
		s.Series[i].Values = append(s.Series[i].Values, math.NaN())
	}
	n := len(s.Runs)
	for _, x := range r.Series {
		i, ok := at[key{x.Subject, x.Metric.Name}]
		if !ok {
			i = len(s.Series)
			s.Series = append(s.Series, x)
			s.Series[i].Values = slices.Repeat(model.Values{math.NaN()}, n+1)
		}
		if a, b := s.Series[i].Unit(), x.Unit(); !measure.SameUnit(a, b) {
			return model.Refuse(model.RunsDiffer, "measure every run in the same unit",
				"runs of one side differ: %s is in %s and in %s",
				measure.Quote(x.Subject.Name), measure.Quote(a), measure.Quote(b))
		}
		s.Series[i].Values[n] = x.Values[0]
	}
	s.GPUs = max(s.GPUs, r.GPUs)
	s.Tick = max(s.Tick, r.Tick)
	s.Runs = append(s.Runs, r.Runs[0])
	return nil
}

// AddUnprofiled puts runs without a profiler into the sessions that they were taken in, which are the oldest first:
// each into the last that had begun.
func AddUnprofiled(sessions []model.Session, runs []model.Unprofiled, outputs []measure.Output) error {
	for _, run := range runs {
		at := 0
		for i := range sessions {
			if !run.Start.Before(sessions[i].Start) {
				at = i
			}
		}
		one := model.Session{Runs: []model.Run{{Unprofiled: true, Steady: true, Start: run.Start}},
			LeftOut: run.LeftOut}
		one.Mode = run.Load
		if one.Mode == "" || model.ParseSettings(sessions[at].Mode) == nil {
			one.Mode = cmp.Or(sessions[at].Mode, run.Load) // that of a profiler stays
		}
		set := func(subject measure.Subject, metric measure.Metric, value float64) {
			one.Series = append(one.Series, model.Series{Subject: subject, Metric: metric, Values: model.Values{value}})
		}
		if !run.Overlapped {
			set(measure.Workload, measure.WallTime, float64(run.Wall.Nanoseconds()))
		}
		for i, o := range outputs {
			set(o.Subject(), o.Metric(), run.Outputs[i])
			if run.Units != nil {
				one.Series[len(one.Series)-1].Note = run.Units[i]
			}
		}
		for _, x := range run.Results {
			set(x.Subject, x.Metric, x.Values[0])
		}
		if err := add(&sessions[at], &one); err != nil {
			return err
		}
	}
	for i := range sessions {
		sessions[i].SortSeries()
	}
	return nil
}
