package decide

import (
	"slices"

	"github.com/nsgate/nsgate/gate/internal/explain/reason"
	"github.com/nsgate/nsgate/gate/internal/judge/recorded"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/bench"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// withRatios adds the ratios of a policy to sessions that have both rows. What a host does to a run cancels out.
func withRatios(policy *thresholds.Resolved, sessions []model.Session) []model.Session {
	if len(policy.Ratios) == 0 {
		return sessions
	}
	sessions = slices.Clone(sessions)
	for i := range sessions {
		s := &sessions[i]
		all := slices.Clone(s.Series)
		for _, r := range policy.Ratios {
			of, over := ratioRows(s, r)
			if of == nil {
				continue
			}
			metric := measure.Ratio
			if of.Metric.Better == measure.Higher {
				metric = measure.RateRatio
			}
			x := model.Series{Subject: bench.Row(r.Name), Metric: metric, Values: make(model.Values, len(of.Values))}
			for run := range of.Values {
				x.Values[run] = of.Values[run] / over.Values[run]
			}
			all = append(all, x)
		}
		s.Series = all
		s.SortSeries()
	}
	return sessions
}

// ratioRows are the two rows of a ratio in the first metric with a direction that both have, nil where there is none.
func ratioRows(s *model.Session, r thresholds.Ratio) (of, over *model.Series) {
	for i := range s.Series {
		for j := range s.Series {
			a, b := &s.Series[i], &s.Series[j]
			if a.Subject == bench.Row(r.Of) && b.Subject == bench.Row(r.Over) && a.Metric == b.Metric &&
				a.Metric.Better != measure.Neither && !slices.Contains(b.Values, 0) {
				return a, b
			}
		}
	}
	return nil, nil
}

// unmetRatios are the reasons why a gate cannot pass whose head lacks the rows of a ratio. Of several workloads one
// without either row is none of the ratio's, which is a remark.
func unmetRatios(policy *thresholds.Resolved, base, head *recorded.Index) (refused, idle []result.Remark) {
	for _, r := range policy.Ratios {
		some, row := head.Has(bench.Row(r.Of)) || head.Has(bench.Row(r.Over)), bench.Row(r.Name)
		in := func(side *recorded.Index) bool { // another row may have the name
			return side.HasMetric(row, measure.Ratio.Name) || side.HasMetric(row, measure.RateRatio.Name)
		}
		switch {
		case in(head):
			continue
		case policy.Limit(row, measure.Ratio).Severity != thresholds.Fail:
			idle = append(idle, result.Say(reason.RuleIdle{Rule: r.Where}))
			continue
		case !some && policy.Several > 1:
			idle = append(idle, result.Say(reason.RuleIdle{Rule: r.Where, Here: true, Unmet: true, Of: policy.Several}))
			continue
		}
		next := "correct the names: nsgate show lists the rows"
		if in(base) {
			next = "measure both rows, or remove the ratio where it is meant that one is gone"
		}
		refused = append(refused, *result.Refuse(model.MetricMissing, next,
			"%s: the head has no rows %s and %s of one metric for the ratio %s", r.Where, measure.Quote(r.Of),
			measure.Quote(r.Over), measure.Quote(r.Name)))
	}
	return refused, idle
}
