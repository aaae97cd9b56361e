package cli

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nsgate/nsgate/gate/internal/run"
	"github.com/nsgate/nsgate/gate/internal/terminal"
)

// A long wait without a changing line prints a message every half minute, and none after its end.
func TestHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var err strings.Builder
		p := newProgress(&env{Err: terminal.New(&err, terminal.Form{}), getenv: func(string) string { return "" }},
			false)
		for _, s := range []struct {
			ev   run.Event
			then time.Duration
		}{
			{run.Event{Stage: run.Starting, Profiler: "nsys"}, 70 * time.Second},
			{run.Event{Stage: run.RunStarted, Run: 1, Runs: 2, Elapsed: 70 * time.Second}, 40 * time.Second},
			{run.Event{Stage: run.RunFinished, Run: 1, Runs: 2, Elapsed: 110 * time.Second,
				Expected: 220 * time.Second}, 0},
			{run.Event{Stage: run.RunStarted, Run: 2, Runs: 2, Elapsed: 110 * time.Second, Expected: 220 * time.Second},
				time.Second},
			{run.Event{Stage: run.RunFailed, Run: 2, Runs: 2, Elapsed: 111 * time.Second}, 0},
			{run.Event{Stage: run.Done}, time.Hour},
			{run.Event{Stage: run.Begun, Text: "profiling what got slower with ncu: head"}, 31 * time.Second},
			{run.Event{Stage: run.Done}, time.Hour},
		} {
			p.event(s.ev)
			time.Sleep(s.then)
			synctest.Wait()
		}
		const want = `nsgate: still at it: starting nsys  30.0 s
nsgate: still at it: starting nsys  60.0 s
nsgate: still at it: run 1 of 2  90.0 s
nsgate: run 1 of 2 done  110.0 s of about 220.0 s
nsgate: run 2 of 2 failed  111.0 s
nsgate: profiling what got slower with ncu: head
nsgate: still at it: profiling what got slower with ncu: head  30.0 s
`
		if err.String() != want {
			t.Errorf("got\n%swant\n%s", err.String(), want)
		}
	})
}

// On a terminal the line has a bar and says when the runs end, also in the last run and where only ended runs tell.
func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, s := range []struct {
			ev   run.Event
			then time.Duration
			want string
		}{
			{run.Event{Stage: run.RunStarted, Run: 1, Runs: 3}, time.Second, "  1.0 s"},
			{run.Event{Stage: run.RunFinished, Run: 1, Runs: 3, Elapsed: 90 * time.Second, Expected: 270 * time.Second},
				0, "  [===-------]  90.0 s of about 270.0 s, runs end"},
			{run.Event{Stage: run.RunStarted, Run: 2, Runs: 3, Elapsed: 90 * time.Second}, 45 * time.Second,
				"  [=====-----]  135.0 s of about 270.0 s, runs end"},
			{run.Event{Stage: run.RunStarted, Run: 3, Runs: 3, Elapsed: 220 * time.Second, Expected: 260 * time.Second},
				30 * time.Second, "  [=========-]  250.0 s of about 260.0 s"},
			{run.Event{Stage: run.RunStarted, Run: 3, Runs: 3, Elapsed: 220 * time.Second, Expected: 260 * time.Second},
				50 * time.Second, "  270.0 s"},
			{run.Event{Stage: run.RunFinished, Run: 3, Runs: 3, Elapsed: 250 * time.Second,
				Expected: 260 * time.Second},
				0, "  250.0 s"},
		} {
			p := &progress{live: true, last: run.Event{Expected: 270 * time.Second}, end: make(chan struct{})}
			p.now("", s.ev)
			time.Sleep(s.then)
			got, _, _ := strings.Cut(p.clock(), " at ") // the time zone is that of the machine
			if got != s.want {
				t.Errorf("%+v: %q, want %q", s.ev, got, s.want)
			}
		}
	})
}
