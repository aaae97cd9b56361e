package decide

import (
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/measure"
	"github.com/nsgate/nsgate/thresholds"
)

// Noises is the noise of a calibration without its gates.
func Noises(sessions []model.Session, policy *thresholds.Policy, runs int) []Noise {
	c, _, _ := foretell(sessions, policy, runs, 0)
	return c.Noise
}

// RanksOf describes the ranks of a head alone.
func RanksOf(head model.Session, policy *thresholds.Policy) *Ranks {
	return ranks(nil, newSide([]model.Session{head}, measure.Total), policy)
}
