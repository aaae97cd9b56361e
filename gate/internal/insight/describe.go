package insight

import (
	"math"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/recorded"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/measure"
)

// Describe sums up one side.
func Describe(sessions []model.Session) result.Side {
	s := result.Side{Sessions: len(sessions)}
	if len(sessions) == 0 {
		return s
	}
	last := sessions[len(sessions)-1]
	s.Environment, s.Commit, s.Step, s.Warmup = last.Environment, last.Commit, last.Step, last.Warmup
	least, most, total, launches := math.MaxInt, 0, 0, 0
	for _, x := range sessions {
		profiled := x.Profiled()
		s.Runs += profiled
		s.Unprofiled += len(x.Runs) - profiled
		if len(sessions) > 1 {
			s.SessionRuns, s.SessionUnprofiled = append(s.SessionRuns, profiled), append(s.SessionUnprofiled, len(x.Runs)-profiled)
		}
		for _, run := range x.Runs[:profiled] {
			least, most = min(least, run.Skipped), max(most, run.Skipped)
			total, launches = max(total, run.Total), max(launches, run.Launches)
		}
	}
	if s.Unprofiled == 0 {
		s.SessionUnprofiled = nil
	}
	if repeats, ok := last.Find(measure.Workload, measure.Repeats.Name); ok {
		s.Repeats = result.Number(recorded.Typical([][]float64{repeats.Values}))
	}
	switch {
	case recorded.ByLaunch(sessions):
		s.Warmup = ""
		s.Skip = new(result.Say(Profiled{launches}))
	case s.Runs > 0:
		s.Skip = new(result.Say(Skipped{least, most, total, s.Step}))
	}
	if s.Skip != nil {
		s.Skipped = s.Skip.Sentence
	}
	return s
}
