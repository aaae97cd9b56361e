package insight

import (
	"cmp"
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/judge/decide"
	"github.com/nsgate/nsgate/gate/internal/judge/recorded"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
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
			s.SessionRuns, s.SessionUnprofiled = append(s.SessionRuns, profiled),
				append(s.SessionUnprofiled, len(x.Runs)-profiled)
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
	case last.Counted():
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

// RunParts divides a run by time, by the medians over the profiled runs of the sessions. The start and the end of the
// process are known of runs that nsgate took.
func RunParts(sessions []model.Session) (out []result.RunPart) {
	if len(sessions) == 0 {
		return nil
	}
	side := recorded.New(sessions, measure.Total)
	workload := func(m measure.Metric) float64 { return side.Typical(measure.Workload, m.Name) }
	section := func(s measure.Subject) float64 { return side.Typical(s, measure.Elapsed.Name) }
	initialising, startup, before := workload(measure.InitTime), workload(measure.StartupTime), section(measure.Before)
	sum := 0.0
	for _, x := range []struct {
		part string
		ns   float64
	}{
		{"start and imports", startup - initialising}, {measure.InitTime.Title(), initialising},
		{"before the steps", measure.Either(startup > 0, 0, before)},
		{"warm-up", section(measure.Warmup)}, {result.Steps, section(measure.Steps)},
		{"between steps", section(measure.Between)},
		{"after the steps", section(measure.After)}, {"teardown", workload(measure.TeardownTime)},
	} {
		if x.ns > 0 { // and known
			out, sum = append(out, result.RunPart{Part: x.part, Time: result.Number(x.ns)}), sum+x.ns
		}
	}
	for i := range out {
		out[i].Share = out[i].Time / result.Number(sum)
	}
	return out
}

// overview gives the typical numbers of both sides of a comparison without a verdict: step, GPU time, launches and
// outputs, then the kernels with the most time on either side.
func overview(d *decide.Decision, x *result.Report) {
	const mostOverview = 20
	if d.Verdict != result.NoVerdict {
		return
	}
	base := measure.Either(d.Stage < decide.Compared, d.Baseline, d.Base)
	_, total := recorded.Times(d.Head)
	if _, own := recorded.Times(base); own == measure.ReplayTime { // sides of two profilers
		total = own
	}
	b, h := recorded.New(base, total), recorded.New(d.Head, total)
	row := func(s measure.Subject, m measure.Metric) result.OverviewRow {
		return result.OverviewRow{Name: s.Short(), Geometry: s.Geometry(), Metric: m.Name, Unit: m.Unit,
			Base: result.Number(b.Typical(s, m.Name)), Head: result.Number(h.Typical(s, m.Name))}
	}
	var rows, kernels []result.OverviewRow
	for _, m := range []measure.Metric{measure.StepTime, measure.GPUTime, measure.Launches} {
		rows = append(rows, row(measure.Workload, m))
	}
	for _, s := range subjects(b, h) {
		switch s.Scope {
		case measure.ScopeOutput:
			rows = append(rows, row(s, measure.Rate), row(s, measure.Cost))
		case measure.ScopeKernel:
			kernels = append(kernels, row(s, total))
		}
	}
	most := func(r result.OverviewRow) result.Number { return max(r.Base.Or(0), r.Head.Or(0)) }
	measure.Sort(kernels, func(a, b result.OverviewRow) int { return cmp.Compare(most(b), most(a)) })
	rows = append(rows, kernels[:min(len(kernels), mostOverview)]...)
	x.Overview = slices.DeleteFunc(rows, func(r result.OverviewRow) bool { return most(r) == 0 })
}
