//go:build linux

package collect

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nsgate/nsgate/gate/measure"
)

// abandon makes a private directory as a killed nsgate leaves it.
func abandon(t *testing.T, name string, o *owner) (dir string) {
	t.Helper()
	dir = filepath.Join(os.TempDir(), privatePrefix+name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if o != nil {
		text, _ := json.Marshal(o)
		if err := os.WriteFile(ownerIn(dir), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// What is surely a dead nsgate's is removed, and nothing else.
func TestSweep(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	here := &owner{Boot: bootID()}
	long := time.Now().Add(-2 * elsewhere)
	abandon(t, "dead", here)
	locked := abandon(t, "locked", here)
	lock, err := lockDir(locked, true)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	abandon(t, "beginning", nil) // its owner has not said so yet
	abandon(t, "elsewhere", &owner{Boot: "another machine"})
	abandon(t, "unknown", &owner{})
	old := abandon(t, "long-ago", &owner{Boot: "another machine"})
	if err := os.Chtimes(old, long, long); err != nil {
		t.Fatal(err)
	}
	open := abandon(t, "open", here)
	if err := os.Chmod(open, 0o755); err != nil {
		t.Fatal(err)
	}
	target := filepath.Join(os.TempDir(), "somebody-elses")
	if err := os.Rename(abandon(t, "target", here), target); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, filepath.Join(os.TempDir(), privatePrefix+"link")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(os.TempDir(), privatePrefix+"file"), nil, 0o700); err != nil {
		t.Fatal(err)
	}
	// A process of the dead one; nsys leaves daemons behind.
	dead := filepath.Join(os.TempDir(), privatePrefix+"dead")
	daemon := exec.Command("sleep", "300")
	daemon.Env = mark(os.Environ(), dead)
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { daemon.Wait(); close(ended) }()

	sweep()
	<-ended
	var left []string
	entries, _ := os.ReadDir(os.TempDir())
	for _, e := range entries {
		left = append(left, e.Name())
	}
	want := []string{"nsgate-beginning", "nsgate-elsewhere", "nsgate-file", "nsgate-link", "nsgate-locked", "nsgate-open",
		"nsgate-unknown", "somebody-elses"}
	if !slices.Equal(left, want) {
		t.Errorf("left are %q, want %q", left, want)
	}
	if _, err := os.Stat(ownerIn(target)); err != nil {
		t.Error(err)
	}
}

// Where somebody dies while a private directory is removed, the next one can go on: what says whose it is goes last.
func TestRemovePrivate(t *testing.T) {
	dir := repository(t)
	r, err := FindRevision(t.Context(), "main~1")
	if err != nil {
		t.Fatal(err)
	}
	w, err := r.Checkout(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Build(t.Context(), "mkdir locked; touch locked/x; chmod 500 locked"); err != nil {
		t.Fatal(err)
	}
	// As far as it may have come.
	if err := os.RemoveAll(w.root()); err != nil && os.Geteuid() == 0 {
		t.Fatal(err)
	}
	w.private.lock.Close()
	sweep()
	if _, err := os.Stat(w.private.path); err == nil {
		t.Error("the private directory is still there")
	}
	if _, err := os.Stat(filepath.Join(dir, ".git", "worktrees")); err == nil {
		t.Error("git still knows of the worktree")
	}
}

// A worktree that is gone with its private directory is forgotten after a day, and nobody else's is.
func TestForgetLost(t *testing.T) {
	dir := repository(t)
	other := filepath.Join(t.TempDir(), "nsgate-mine", "nsgate-base")
	shell(t, dir, "git -c core.hooksPath=/dev/null worktree add -q --detach "+other+" main 2>&1")
	r, err := FindRevision(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	trees := func() string { return shell(t, dir, "ls .git/worktrees") }
	lose := func() {
		w, err := r.Checkout(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		os.RemoveAll(w.private.path)
		w.private.lock.Close()
	}
	lose()
	lost := trees()
	long := time.Now().Add(-2 * elsewhere)
	pointers, _ := filepath.Glob(filepath.Join(dir, ".git", "worktrees", "*", "gitdir"))
	for _, p := range pointers {
		if err := os.Chtimes(p, long, long); err != nil {
			t.Fatal(err)
		}
	}
	lose() // this one is young
	w, err := r.Checkout(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if n := strings.Count(trees(), "\n"); n != 2 {
		t.Errorf("git knows of %q, want the other one and the young one of %q", trees(), lost)
	}
	shell(t, dir, "git worktree remove --force "+other+"; git worktree prune")
}

func TestPrivate(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	boom := errors.New("boom")
	var was string
	err := Private(func(dir string) error {
		was = dir
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("mode %v, want 0700 (%v)", info.Mode().Perm(), err)
		}
		sweep() // of another nsgate
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
	if err := Private(func(string) error { return nil }); err == nil {
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
	refusal := measure.Refuse("nsys failed", "check it")
	crash := func(signal string) error {
		return &WorkloadError{Run: Run{Signal: signal, Output: "No space left on device"}, Index: 1, Runs: 2,
			refusal: measure.Refuse("the workload was ended by a signal", "run it by itself")}
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
		{"nsys says so", refusal, 1 << 30, "write x: No space left on device", "nsys failed; no room is left", "set TMPDIR"},
		{"nsys says nothing", refusal, 4096, "", "nsys failed; no room is left", "set TMPDIR"},
		{"the workload's own", crash("killed"), 1 << 30, "", "the workload was ended by a signal", "run it by itself"},
		{"full", crash("killed"), 0, "", "the workload was ended by a signal; no room is left", "set TMPDIR"},
		{"little", crash("segmentation fault"), 3 << 20, "", "the workload was ended by a signal", "make room in the directory for " +
			"temporary files, or set TMPDIR to another: 3.1 MB were left, and nsys crashes a workload where that is too little; then run it by itself"},
		{"enough", crash("bus error"), 1 << 30, "", "the workload was ended by a signal", "run it by itself"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := blameRoom(tt.err, tt.low, tt.said)
			var r *measure.Refusal
			if !errors.As(err, &r) || !strings.HasPrefix(r.Reason, tt.reason) || !strings.Contains(r.Next, tt.next) ||
				strings.Contains(r.Reason, "room") != strings.Contains(tt.reason, "room") {
				t.Errorf("%v; want %q; … %q", err, tt.reason, tt.next)
			}
			var before, after *WorkloadError
			if errors.As(tt.err, &before) != errors.As(err, &after) || after != nil && after.Run.Output != before.Run.Output {
				t.Errorf("the run is lost: %+v", err)
			}
		})
	}
	if err := blameRoom(other, 0, ""); err != other {
		t.Errorf("%v is no refusal", err)
	}
}
