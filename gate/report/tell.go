package report

import (
	"time"

	"github.com/nsgate/nsgate/gate"
	"github.com/nsgate/nsgate/gate/internal/text"
	"github.com/nsgate/nsgate/gate/measure"
	"github.com/nsgate/nsgate/thresholds"
)

// Evaluate is [gate.Evaluate] with the sentences filled in, until gate/check does that.
func Evaluate(base, head []measure.Session, policy *thresholds.Policy) *gate.Report {
	r := gate.Evaluate(base, head, policy)
	text.Tell(r)
	return r
}

// Calibrate is [gate.Calibrate] with the sentences filled in, until gate/check does that.
func Calibrate(sessions []measure.Session, policy *thresholds.Policy, runs int, perRun time.Duration) *gate.Calibration {
	c := gate.Calibrate(sessions, policy, runs, perRun)
	text.TellCalibration(c)
	return c
}
