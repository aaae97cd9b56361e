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
