package run

import (
	"strings"
	"testing"
	"time"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/reduce/rank"
	"github.com/nsgate/nsgate/gate/internal/run/nsysrun"
)

// The first failed rank is to blame, and an incomplete job is no measurement.
func TestJudgeJob(t *testing.T) {
	at := func(second int) time.Time {
		return time.Unix(1_700_000_000, 0).Add(time.Duration(second) * time.Second)
	}
	ok := func(n int) rank.Status {
		return rank.Status{Identity: rank.Identity{Rank: n, Size: 3}, Profiled: true, Done: true, End: at(9)}
	}
	with := func(n int, change func(*rank.Status)) rank.Status {
		l := ok(n)
		change(&l)
		return l
	}
	exits := func(n, second int) rank.Status {
		return with(n, func(l *rank.Status) { l.ExitCode, l.End = 7, at(second) })
	}
	killed := with(1, func(l *rank.Status) { l.ExitCode, l.Signal = -1, "killed" })
	told := func(n int) rank.Status {
		return with(n, func(l *rank.Status) { l.ExitCode, l.Signal, l.Told, l.End = -1, "terminated", true, at(1) })
	}
	running := func(n int) rank.Status { return with(n, func(l *rank.Status) { l.Done = false }) }
	failed := Run{ExitCode: 1}
	for _, tt := range []struct {
		what   string
		run    Run
		left   []rank.Status
		ranks  []int
		room   int64
		key    model.Kind
		reason string
	}{
		{what: "all well", left: []rank.Status{ok(0), ok(1), ok(2)}},
		{what: "some of them profiled", left: []rank.Status{ok(0), ok(1), ok(2)}, ranks: []int{0, 2}},
		{what: "a rank to profile is not there", left: []rank.Status{ok(0), ok(1), ok(2)}, ranks: []int{0, 7},
			key: "rank-missing", reason: "rank 7"},
		{what: "a rank is missing", left: []rank.Status{ok(0), ok(2)}, key: "rank-missing",
			reason: "rank 1 left nothing"},
		{what: "a job of two thousand million", left: []rank.Status{with(0, func(l *rank.Status) { l.Size = 2e9 })},
			key:    "too-large",
			reason: "rank 0 says that its job has 2000000000 processes in run 1 of 1, more than 1048576"},
		{what: "the first to fail", run: failed, left: []rank.Status{exits(0, 5), exits(1, 3), told(2)},
			key: "workload-failed", reason: "rank 1 exited with 7"},
		{what: "not the one that was ended after it", run: failed,
			left: []rank.Status{told(0), exits(1, 3), running(2)}, key: "workload-failed", reason: "rank 1"},
		{what: "the launcher hides it", left: []rank.Status{ok(0), exits(1, 3), ok(2)}, key: "workload-failed",
			reason: "rank 1"},
		{what: "killed", run: failed, left: []rank.Status{told(0), killed, told(2)}, key: "workload-failed",
			reason: "rank 1 was killed (SIGKILL), often for want of memory"},
		{what: "lost", run: failed, left: []rank.Status{told(0), running(1), running(2)}, key: "rank-missing",
			reason: "ranks 1 and 2 did not"},
		{what: "ended from outside", run: failed, left: []rank.Status{told(0), told(1), told(2)}, key: "rank-missing",
			reason: "ranks 0, 1 and 2"},
		{what: "not recorded", run: failed, left: []rank.Status{ok(0),
			with(1, func(l *rank.Status) { l.Failure = "nsys wrote no report" }), ok(2)},
			key: "rank-unrecorded", reason: "rank 1 was not recorded in run 1 of 1: nsys wrote no report"},
		{what: "no room", run: failed, left: nil, room: 1, key: "no-room", reason: "no room"},
		{what: "another directory", run: Run{ExitCode: 3, Output: "x " + rank.NotHere + ": y"},
			left: []rank.Status{ok(0)}, key: "gather", reason: "does not see"},
		{what: "too long", run: Run{TimedOut: true}, left: []rank.Status{running(0), running(1), running(2)},
			key: "workload-timeout", reason: "did not end within"},
		{what: "too long, for one that failed", run: Run{TimedOut: true},
			left: []rank.Status{running(0), exits(1, 3), running(2)}, key: "workload-failed", reason: "rank 1"},
		{what: "no nsgate rank", left: nil, key: "no-ranks", reason: "nothing in it ran nsgate rank"},
		{what: "the launcher fails", run: failed, left: nil, key: "workload-failed", reason: "exited with 1"},
		{what: "the launcher fails after all", run: failed, left: []rank.Status{ok(0), ok(1), ok(2)},
			key: "workload-failed", reason: "exited with 1"},
	} {
		if tt.room == 0 {
			tt.room = 1 << 40
		}
		err := Plan{Runs: 1, Options: Options{Profiler: nsysrun.Nsys{}, Ranks: tt.ranks, Gather: "/shared"}}.judgeJob(1,
			tt.run, tt.left, tt.room)
		if key := model.KindOf(err); key != tt.key || err != nil && !strings.Contains(err.Error(), tt.reason) {
			t.Errorf("%s: %q (%v), want %q and %q", tt.what, key, err, tt.key, tt.reason)
		}
	}
}

func TestRankNames(t *testing.T) {
	for want, numbers := range map[string][]int{
		"rank 2": {2}, "ranks 2 and 3": {2, 3}, "ranks 0, 1 and 2": {0, 1, 2},
		"ranks 0, 1, 2, 3, 4, 5, 6, 7 and 2 more": {0, 1, 2, 3, 4, 5, 6, 7, 8, 9},
	} {
		if got := ranks(numbers); got != want {
			t.Errorf("%v: %q, want %q", numbers, got, want)
		}
	}
}
