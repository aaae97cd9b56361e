package decide

import (
	"slices"

	"github.com/nsgate/nsgate/gate/internal/match"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/stats"
	"github.com/nsgate/nsgate/gate/internal/terms"
)

// launched reports whether a pair is wall time before or after the steps of a job of several processes, which no rule
// selects. Launchers start processes, join them to a group and end them one by one, which varies far more than the
// program.
func (t comparison) launched(p pair) bool {
	several := func(x model.Session) bool { return x.Processes > 1 }
	outside := []measure.Subject{measure.Before, measure.Warmup, measure.After}
	return p.Metric == measure.Elapsed && slices.Contains(outside, p.Subject) && !t.selected(p) &&
		slices.ContainsFunc(slices.Concat(t.Base.Sessions, t.Head.Sessions), several)
}

// wholeRun is the wall time of the run, the sum of its sections in each run.
func (t comparison) wholeRun() whole {
	m := measure.Elapsed
	p := pair{Pair: match.Pair{Metric: m, Base: t.Base.Sum(measure.Sections, m.Name), Head: t.Head.Sum(measure.Sections, m.Name)}}
	e := contrast(t, p)
	sd := terms.JobRow.SD(t.relation(), 0)
	e.run, e.session = e.contrast.Run, stats.Variance{S2: sd * sd, DF: stats.SessionDF}
	e.variance = e.with([]float64{e.contrast.RunWeight}, e.run)
	margin := stats.Margin(e.variance, result.Confidence)
	return whole{metric: m.Name, title: "the run", change: e.natural(e.contrast.Estimate),
		low: e.natural(e.contrast.Estimate - margin), high: e.natural(e.contrast.Estimate + margin), allowed: sectionLeast}
}
