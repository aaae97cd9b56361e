package app

import (
	"github.com/nsgate/nsgate/gate/internal/profile"
	"github.com/nsgate/nsgate/thresholds"
)

// Job is a workload to measure, and what the measurement is judged by.
type Job struct {
	Workload string // its name in reports and of its baseline
	Measurer Measurer
	Root     string // directory of the baselines
	// Baselines are the committed ones, see [ReadBaselines]; none where only a base build is measured.
	Baselines Baselines
	// Policy says what is allowed. It must be given.
	Policy *thresholds.Policy
	Rule   profile.Rule // how traces are cut; what it leaves open is as in the baseline
	Code   CodeFiles    // with device code, which is compared beside what is measured
	// Observe, where not nil, is told of the progress and of doubts.
	Observe func(Event)
}

// Tell passes an event on to the observer.
func (j *Job) Tell(e Event) { tell(j.Observe, e) }
