package app

import (
	"testing"
	"time"

	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/run"
)

func TestSpent(t *testing.T) {
	var s result.Spent
	session := &run.Result{Elapsed: 20 * time.Second, Runs: []run.Run{{Duration: 8 * time.Second},
		{Duration: 6 * time.Second}},
		Stages: map[run.Stage]time.Duration{run.Starting: time.Second, run.Finishing: 2 * time.Second,
			run.Exporting: 1500 * time.Millisecond}}
	spend(&s, session)
	if got, want := s.String(), "20 s on the GPU machine (2 runs of 7 s; profiler 6 s)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for ns, want := range map[result.Number]string{546e6: "0.55 s", 258.4e9: "260 s", 30.7e6: "0.031 s",
		59.9e9: "60 s"} {
		x := result.Spent{Total: ns, Runs: 1, InRuns: ns}
		if got := x.String(); got != want+" on the GPU machine (1 run of "+want+")" {
			t.Errorf("%v: %q, want %q", ns, got, want)
		}
	}
	spend(&s, session)
	s.Run = []result.RunPart{{Part: "start and imports", Time: 4e9}, {Part: result.Steps, Time: 2e9}}
	if got, want := s.Detail(), "40 s on the GPU machine (4 runs of 7 s, steps 2 s; profiler 12 s); profiler: start 2 "+
		"s, report 4 s, export 3 s, reading 0 s; a run: start and imports 4 s, steps 2 s"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
