package app

import (
	"github.com/nsgate/nsgate/gate/internal/profile"
	"github.com/nsgate/nsgate/gate/internal/run"
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

// Event is a step of progress.
type Event = run.Event

// Tell passes an event on to the observer.
func (j *Job) Tell(e Event) { tell(j.Observe, e) }

// Begin tells the observer of something that takes long.
func (j *Job) Begin(what string) { j.Tell(Event{Stage: run.Begun, Text: what}) }

func (j *Job) hint(text string) { j.Tell(Event{Stage: run.Hint, Text: text}) }

// tell passes an event to an observer, which may be nil.
func tell(observe func(Event), e Event) {
	if observe != nil {
		observe(e)
	}
}
