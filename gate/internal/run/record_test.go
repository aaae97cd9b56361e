//go:build linux

package run

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/proc"
	"github.com/nsgate/nsgate/gate/internal/run/nsysrun"
)

func TestPrivate(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	boom := errors.New("boom")
	var was string
	err := proc.InPrivate(func(dir string) error {
		was = dir
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("mode %v, want 0700 (%v)", info.Mode().Perm(), err)
		}
		proc.Sweep() // of another nsgate
		if _, err := os.Stat(dir); err != nil {
			t.Error("the directory of a living nsgate is swept")
		}
		return boom
	})
	if !errors.Is(err, boom) {
		t.Error(err)
	}
	if _, err := os.Stat(was); err == nil {
		t.Error("the directory is left")
	}
	t.Setenv("TMPDIR", filepath.Join(was, "not", "there"))
	if err := proc.InPrivate(func(string) error { return nil }); err == nil {
		t.Error("a directory where there can be none")
	}
}

// Setting the system's time moves no run.
func TestClock(t *testing.T) {
	c := newClock()
	c.Start = c.Start.Add(-24 * time.Hour) // somebody has put the time ahead by a day since
	if passed := c.now().Sub(c.Start); passed < 0 || passed > time.Hour {
		t.Errorf("%v have passed", passed)
	}
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var other clock // of the runner
	if err := json.Unmarshal(text, &other); err != nil {
		t.Fatal(err)
	}
	if d := other.now().Sub(c.now()).Abs(); d > time.Hour {
		t.Errorf("two processes are %v apart", d)
	}
}

// Whether a failure is for want of room.
func TestBlameRoom(t *testing.T) {
	p := Plan{Options: Options{Profiler: nsysrun.Nsys{}}}
	refusal := error(&model.Refusal{Reason: "nsys failed", Next: "check it"})
	crash := func(signal string) error {
		return &WorkloadError{Run: Run{Signal: signal, Output: "No space left on device"}, Index: 1, Runs: 2,
			refused: refused{&model.Refusal{Reason: "the workload was ended by a signal", Next: "run it by itself"}}}
	}
	other := errors.New("no space left on device")
	tests := []struct {
		name         string
		err          error
		low          int64
		said         string
		reason, next string
	}{
		{"nsys", refusal, 1 << 30, "boom", "nsys failed", "check it"},
		{"nsys says so", refusal, 1 << 30, "write x: No space left on device", "nsys failed; no room is left",
			"set TMPDIR"},
		{"nsys says nothing", refusal, 4096, "", "nsys failed; no room is left", "set TMPDIR"},
		{"the workload's own", crash("killed"), 1 << 30, "", "the workload was ended by a signal", "run it by itself"},
		{"full", crash("killed"), 0, "", "the workload was ended by a signal; no room is left", "set TMPDIR"},
		{"little", crash("segmentation fault"), 3 << 20, "", "the workload was ended by a signal",
			"make room in the directory for temporary files, or set TMPDIR to another: 3.1 MB were left, and nsys " +
				"crashes a workload where that is too little; then run it by itself"},
		{"enough", crash("bus error"), 1 << 30, "", "the workload was ended by a signal", "run it by itself"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := p.blameRoom(tt.err, tt.low, tt.said)
			var r *model.Refusal
			if !errors.As(err, &r) || !strings.HasPrefix(r.Reason, tt.reason) || !strings.Contains(r.Next, tt.next) ||
				strings.Contains(r.Reason, "room") != strings.Contains(tt.reason, "room") {
				t.Errorf("%v; want %q; … %q", err, tt.reason, tt.next)
			}
			var before, after *WorkloadError
			if errors.As(tt.err, &before) != errors.As(err, &after) || after != nil &&
				after.Run.Output != before.Run.Output {
				t.Errorf("the run is lost: %+v", err)
			}
		})
	}
	if err := p.blameRoom(other, 0, ""); err != other {
		t.Errorf("%v is no refusal", err)
	}
}
