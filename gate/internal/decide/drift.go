package decide

import (
	"slices"

	"github.com/nsgate/nsgate/gate/internal/history"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// Drift reports slowdowns over the sessions since the anchor, see [history.Drift]. Without any it follows the sessions
// of the baseline.
func Drift(base, since, head []model.Session, policy *thresholds.Policy) []result.Remark {
	followed, from := sessionsSince(since, head, policy)
	recent, steps := sessionsSince(notBefore(base, since), head, policy)
	return history.Drift(followed, recent, from, steps, policy)
}

// notBefore leaves out sessions older than the anchor, which is the first state of a drift.
func notBefore(sessions, since []model.Session) (out []model.Session) {
	for _, s := range sessions {
		if len(since) == 0 || !s.Start.Before(since[0].Start) {
			out = append(out, s)
		}
	}
	return out
}

// sessionsSince are the sessions that the head can be compared with, followed by the head, and the metrics they are compared by; none
// where there are fewer than three.
func sessionsSince(sessions, head []model.Session, policy *thresholds.Policy) ([]model.Session, history.Basis) {
	fits, because := comparable(sessions, head)
	if because != nil || len(fits) < 2 {
		return nil, history.Basis{}
	}
	all := history.Separate(slices.Concat(fits, head))
	if len(all) < 3 {
		return nil, history.Basis{}
	}
	t := newComparison(fits, head, policy)
	return all, history.Basis{Time: t.time, Total: t.total, Tick: t.tick, Policy: t.policy}
}
