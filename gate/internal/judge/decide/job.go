package decide

import (
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/judge/match"
	"github.com/nsgate/nsgate/gate/internal/judge/recorded"
	"github.com/nsgate/nsgate/gate/internal/judge/stats"
	"github.com/nsgate/nsgate/gate/internal/judge/terms"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// launched reports whether a pair is wall time before or after the steps of a job of several processes, which no rule
// selects. Launchers start processes, join them to a group and end them one by one, which varies far more than the
// program.
func (t comparison) launched(p pair) bool {
	outside := []measure.Subject{measure.Before, measure.Warmup, measure.After}
	return p.Metric == measure.Elapsed && slices.Contains(outside, p.Subject) && !t.selected(p) && t.ofJob()
}

// ofJob reports whether runs of a side are jobs of several processes.
func (t comparison) ofJob() bool {
	several := func(x model.Session) bool { return x.Processes > 1 }
	return slices.ContainsFunc(slices.Concat(t.Base.Sessions, t.Head.Sessions), several)
}

// ofSession reports whether a time of a job is one of its session more than of its runs, whose number then says
// nothing: the speed of the processes that share a host, and what runs beside a kernel.
func (t comparison) ofSession(p pair) bool {
	return t.relation() > terms.Interleaved && t.ofJob() && (p.Metric.OnHost() || t.neighbours(p) > 0)
}

// neighbours is the standard deviation of a session in the time of a kernel or copy of a job, whose processes reach
// their collectives at other times than those of another session: it grows with what GPU time does not explain of a
// longer or shorter step.
func (t comparison) neighbours(p pair) float64 {
	of := func(m measure.Metric) float64 {
		return math.Log(t.Head.Typical(measure.Workload, m.Name) / t.Base.Typical(measure.Workload, m.Name))
	}
	by := math.Abs(of(measure.StepTime) - of(measure.GPUTime))
	alone := p.Subject.Scope == measure.ScopeKernel || p.Metric == measure.CopyTime
	beside := alone && p.Metric.Unit == measure.Time.Unit && by > 0 && t.relation() > terms.Interleaved && t.ofJob()
	return measure.Either(beside, terms.NeighbourSD*by, 0)
}

// runTimes are the wall times of the runs of a side. A profile of several jobs may know the start-up of the first
// alone: the others take the typical one. Where a side knows none, it is no part of them.
func (t comparison) runTimes(side *recorded.Index) [][]float64 {
	m := measure.Elapsed.Name
	times, typical := side.Sum(measure.Sections[1:], m), side.Typical(measure.Before, m)
	if !t.Base.HasMetric(measure.Before, m) || !t.Head.HasMetric(measure.Before, m) {
		return times
	}
	for i, before := range side.Values(measure.Before, m) {
		for run, v := range before {
			if math.IsNaN(v) {
				v = typical
			}
			times[i][run] += v
		}
	}
	return times
}

// wholeRun is the wall time of the run, the sum of its sections in each run.
func (t comparison) wholeRun() whole {
	m := measure.Elapsed
	e := newEstimate(t, pair{Pair: match.Pair{Metric: m, Base: t.runTimes(t.Base), Head: t.runTimes(t.Head)}})
	sd := terms.JobRow.SD(t.relation(), 0)
	e.run, e.session = e.contrast.Run, stats.Variance{S2: sd * sd, DF: stats.SessionDF}
	e.variance = e.with([]float64{e.contrast.RunWeight}, e.run)
	margin := stats.Margin(e.variance, result.Confidence)
	change := e.contrast.Estimate
	return whole{metric: m.Name, title: "the run", change: e.natural(change), low: e.natural(change - margin),
		high: e.natural(change + margin), allowed: sectionLeast}
}

// allSections is the time of the sections of a run together. A section that takes the time that the others no longer
// take is not slower, where the sum is not by more than the floor of sections; of start-up, which counts only for
// itself and whose few launches vary, by that of wall time. Loops are parts of other sections. Those of a job are its
// whole run.
func (g *forgiveness) allSections(e estimate, _ *result.Finding) []whole {
	if g.launched(e.pair) {
		return []whole{g.wholeRun()}
	}
	counts := func(s measure.Subject) bool {
		return s.Scope == measure.ScopeSection && !s.IsLoop() && (s != measure.Before || e.Subject == measure.Before)
	}
	sum := func(side *recorded.Index) float64 {
		return side.TypicalSum(measure.Where(side.Subjects(), counts), e.Metric.Name)
	}
	change := sum(g.Head)/sum(g.Base) - 1
	least, allowed := change, sectionLeast
	if e.Metric == measure.GPUTime && e.Subject != measure.Before {
		sd := math.Sqrt2 * terms.SumRow.SD(max(g.relation(), terms.OtherTime), 0) // runs of one session differ as well
		least, allowed = change-stats.NormalMargin(result.Confidence)*sd, g.cost()
	}
	return ofSameWork(e.Metric.Name, "all sections of the run", change, least, change, allowed)
}
