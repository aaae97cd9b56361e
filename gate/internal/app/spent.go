package app

import (
	"fmt"
	"math"
	"time"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/run"
	"github.com/nsgate/nsgate/gate/measure"
)

// spent is where the time of the sessions of a [Live] went.
type spent struct {
	total, inRuns time.Duration
	runs          int
}

func (s *spent) add(r *run.Result) {
	s.total += r.Elapsed
	for _, x := range r.Runs {
		s.inRuns += x.Duration
		s.runs++
	}
}

// say is "87 s on the GPU machine (10 runs of 8.1 s, of which 2.2 s are steps; 6.0 s of the profiler)".
func (s spent) say(sessions []model.Session) string {
	seconds := func(d time.Duration) string { return fmt.Sprintf("%.3g s", d.Seconds()) }
	text := fmt.Sprintf("%s on the GPU machine (%s of %s", seconds(s.total), measure.Count(s.runs, "run"), seconds(s.inRuns/time.Duration(s.runs)))
	if steps := inSteps(sessions); steps > 0 {
		text += fmt.Sprintf(", of which %s are steps", seconds(steps))
	}
	return text + fmt.Sprintf("; %s of the profiler)", seconds(s.total-s.inRuns))
}

// inSteps is the time of a run that is judged as steps, on average; 0 where it is not known.
func inSteps(sessions []model.Session) time.Duration {
	sum, runs := 0.0, 0
	for i := range sessions {
		x, ok := sessions[i].Find(measure.Workload, measure.StepTime.Name)
		if !ok {
			continue
		}
		for k, period := range x.Values {
			if steps := sessions[i].Runs[k].Total - sessions[i].Runs[k].Skipped; !math.IsNaN(period) {
				sum, runs = sum+period*float64(steps), runs+1
			}
		}
	}
	if runs == 0 {
		return 0
	}
	return time.Duration(sum / float64(runs))
}

// tellSpent reports where the time of a measurement on this machine went.
func (j *Job) tellSpent(sessions []model.Session) {
	if m := j.Measurer.Live(); m != nil && m.spent.runs > 0 {
		j.Tell(Event{Stage: Spent, Text: m.spent.say(sessions)})
	}
}
