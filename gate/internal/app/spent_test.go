package app

import (
	"testing"
	"time"

	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/run"
)

func TestSpent(t *testing.T) {
	var s result.Spent
	session := &run.Result{Elapsed: 20 * time.Second, Runs: []run.Run{{Duration: 8 * time.Second}, {Duration: 6 * time.Second}},
		Stages: map[run.Stage]time.Duration{run.Starting: time.Second, run.Finishing: 2 * time.Second, run.Exporting: 1500 * time.Millisecond}}
	spend(&s, session)
	if got, want := s.String(), "20 s on the GPU machine (2 runs of 7 s; 6 s of the profiler)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	spend(&s, session)
	s.Run = []result.RunPart{{Part: "start and imports", Time: 4e9}, {Part: result.Steps, Time: 2e9}}
	if got, want := s.Detail(), "40 s on the GPU machine (4 runs of 7 s, of which 2 s are steps; 12 s of the profiler); "+
		"profiler: start 2 s, report 4 s, export 3 s, reading 0 s; a run: start and imports 4 s, steps 2 s"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
