package gate

import (
	"github.com/nsgate/nsgate/gate/measure"
	"github.com/nsgate/nsgate/thresholds"
)

const PlanEffect = planEffect

var Subset = subset

// Noises is the noise of a calibration without its gates.
func Noises(sessions []measure.Session, policy *thresholds.Policy, runs int) []Noise {
	c, _, _ := foretell(sessions, policy, runs, 0)
	return c.Noise
}

// RanksOf describes the ranks of a head alone.
func RanksOf(head measure.Session, policy *thresholds.Policy) *Ranks {
	return ranks(nil, newSide([]measure.Session{head}, measure.Total), policy)
}
