package decide

import (
	"math"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/measure"
)

func count(findings []Finding) Counts {
	var c Counts
	for _, f := range findings {
		n := outcomes[f.Outcome].count(&c)
		if f.Outcome == Regressed && !f.Gates {
			n = &c.Warned
		}
		*n++
	}
	return c
}

// rank orders findings: what fails the gate, other regressions, what is open, improvements, additions and removals,
// the rest. Within each the outputs come first, then the largest part of the GPU time that the change adds or takes away.
func rank(f *Finding) float64 {
	group := outcomes[f.Outcome].rank
	if f.Outcome == Regressed && !f.Gates || f.Outcome == Inconclusive && !f.Undecided && !f.NotJudged() {
		group++
	}
	weight := 0.0
	if f.Scope == measure.ScopeOutput {
		weight = 1 // what the program says of itself comes before what it is made of
	}
	if f.Share.Known() {
		part := float64(f.Share)
		if change := math.Abs(float64(f.Change)); f.Change.Known() && f.Outcome != Unchanged {
			part *= change / (1 + math.Max(float64(f.Change), 0)) // of the larger of base and head
		}
		if f.Unit != measure.Time.Unit {
			part /= 2 // a count is the reason for a time, not the other way round
		}
		weight += part
	}
	return group*10 - weight
}

// Describe sums up one side.
func Describe(sessions []model.Session) Side {
	s := Side{Sessions: len(sessions)}
	if len(sessions) == 0 {
		return s
	}
	last := sessions[len(sessions)-1]
	s.Environment, s.Commit, s.Step, s.Warmup = last.Environment, last.Commit, last.Step, last.Warmup
	least, most, total, launches := math.MaxInt, 0, 0, 0
	for _, x := range sessions {
		traced := x.Profiled()
		s.Runs += traced
		s.Unprofiled += len(x.Runs) - traced
		if len(sessions) > 1 {
			s.SessionRuns, s.SessionUnprofiled = append(s.SessionRuns, traced), append(s.SessionUnprofiled, len(x.Runs)-traced)
		}
		for _, run := range x.Runs[:traced] {
			least, most = min(least, run.Skipped), max(most, run.Skipped)
			total, launches = max(total, run.Total), max(launches, run.Launches)
		}
	}
	if s.Unprofiled == 0 {
		s.SessionUnprofiled = nil
	}
	if repeats, ok := last.Find(measure.Workload, measure.Repeats.Name); ok {
		s.Repeats = Number(typical([][]float64{repeats.Values}))
	}
	switch {
	case byLaunch(sessions):
		s.Warmup = ""
		s.Skip = new(remark("profiled", Args{"launches": Number(launches)}))
	case s.Runs > 0:
		s.Skip = new(remark("skipped", Args{"least": Number(least), "most": Number(most), "of": Number(total), "step": s.Step}))
	}
	return s
}
