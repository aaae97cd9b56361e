package app

import (
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/explain/insight"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/profile"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/run"
	"github.com/nsgate/nsgate/thresholds"
)

// Job is a workload to measure, and the policy to judge it by.
type Job struct {
	Workload string // its name in reports and of its baseline
	Measurer Measurer
	// Live is the Measurer where that runs the workload, else one that measures nothing. It must be given.
	Live *Live
	Root string // directory of the baselines
	// Baselines are the committed ones, see [ReadBaselines]; none where only a base build is measured.
	Baselines Baselines
	// Policy says what is allowed. It must be given.
	Policy *thresholds.Resolved
	Rule   profile.Rule // how traces are cut; what it leaves open is as in the baseline
	Code   CodeFiles    // with device code, which is compared beside what is measured
	// Observe, where not nil, is told of the progress and of doubts.
	Observe func(Event)
}

// Way is how the workload is measured.
func (j *Job) Way() Way { return j.Live.Way }

// Name is the workload's.
func (j *Job) Name() string { return j.Workload }

// Event is a step of progress.
type Event = run.Event

func (j *Job) Tell(e Event) { tell(j.Observe, e) }

// Begin tells the observer of something that takes long.
func (j *Job) Begin(what string) { j.Tell(Event{Stage: run.Begun, Text: what}) }

// Warn tells the observer of a doubt.
func (j *Job) Warn(text string) { j.Tell(Event{Stage: run.Warning, Text: text}) }

func (j *Job) hint(text string) { j.Tell(Event{Stage: run.Hint, Text: text}) }

func tell(observe func(Event), e Event) {
	if observe != nil {
		observe(e)
	}
}

func spend(s *result.Spent, r *run.Result) {
	s.Total += result.Number(r.Elapsed)
	s.InRuns += result.Number(r.InRuns())
	for _, x := range r.Runs {
		s.Runs++
		if x.Held != nil {
			s.Starts++
		}
	}
	for stage, to := range map[run.Stage]*result.Number{run.Starting: &s.Start, run.Finishing: &s.Report,
		run.Exporting: &s.Export, run.Reading: &s.Read} {
		*to += result.Number(r.Stages[stage])
	}
}

// spent is where the time of a measurement on this machine went, which it tells; nil where nothing was run.
func (j *Job) spent(head []model.Session) *result.Spent {
	m := j.Live
	if m.spent.Runs == 0 {
		return nil
	}
	out := m.spent
	out.Run = insight.RunParts(model.Timed(head))
	j.Tell(Event{Stage: run.Spent, Text: out.String()})
	return &out
}

func list(words []string) string {
	return strings.Join(slices.Compact(slices.Sorted(slices.Values(words))), ", ")
}

// answer is a report's verdict in a word or two: "pass", "fail", "no verdict", "undecided".
func answer(r *result.Report) string {
	switch {
	case r.Undecided:
		return "undecided"
	case r.Verdict == result.NoVerdict:
		return "no verdict"
	}
	return string(r.Verdict)
}
