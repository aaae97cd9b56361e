package app

import (
	"testing"
	"time"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/run"
	"github.com/nsgate/nsgate/gate/measure"
)

func TestSpent(t *testing.T) {
	var s spent
	s.add(&run.Result{Elapsed: 20 * time.Second, Runs: []run.Run{{Duration: 8 * time.Second}, {Duration: 6 * time.Second}}})
	if got, want := s.say(nil), "20 s on the GPU machine (2 runs of 7 s; 6 s of the profiler)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	sessions := []model.Session{{Runs: []model.Run{{Skipped: 10, Total: 60}, {Skipped: 20, Total: 60}},
		Series: []model.Series{{Subject: measure.Workload, Metric: measure.StepTime, Values: model.Values{40e6, 50e6}}}}}
	if got, want := s.say(sessions), "20 s on the GPU machine (2 runs of 7 s, of which 2 s are steps; 6 s of the profiler)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
