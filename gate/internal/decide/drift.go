package decide

import (
	"slices"

	"github.com/nsgate/nsgate/gate/internal/history"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// Creep says what became slower over the sessions of a baseline: see [drifted].
func Creep(base, trail, head []model.Session, policy *thresholds.Policy) []result.Remark {
	since, from := trodden(trail, head, policy)
	recent, steps := trodden(notBefore(base, trail), head, policy)
	return history.Drift(since, recent, from, steps, policy)
}

// notBefore leaves out sessions older than the anchor: what they led to was taken for the state to begin with.
func notBefore(sessions, trail []model.Session) (out []model.Session) {
	for _, s := range sessions {
		if len(trail) == 0 || !s.Start.Before(trail[0].Start) {
			out = append(out, s)
		}
	}
	return out
}

// trodden are the sessions of a side that head can be held against, and what its comparison is by; none where they say nothing.
func trodden(sessions, head []model.Session, policy *thresholds.Policy) ([]model.Session, history.Basis) {
	fits, because := comparable(sessions, head)
	if because != nil || len(fits) < 2 {
		return nil, history.Basis{}
	}
	all := history.Separate(slices.Concat(fits, head))
	if len(all) < 3 {
		return nil, history.Basis{}
	}
	t := newTrial(fits, head, policy)
	return all, history.Basis{Time: t.time, Total: t.total, Tick: t.tick, Policy: t.policy}
}
