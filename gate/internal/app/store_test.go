package app

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/baseline"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// TestKeep: a local baseline that is replaced stays until the new one is whole, and nothing is left beside it.
func TestKeep(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Chdir(t.TempDir())
	root, err := KeptRoot("main")
	if err != nil {
		t.Fatal(err)
	}
	session := model.Session{Runs: make([]model.Run, 1), Series: []model.Series{{Subject: measure.Workload,
		Metric: measure.GPUTime, Values: model.Values{1}}}}
	session.GPU = "NVIDIA H200"
	dir := baseline.Dir(root, "app", session.GPU)
	var held []string
	for i, fit := range []bool{true, true, false} {
		s := session
		s.Series = slices.Clone(s.Series)
		s.Series[0].Values = model.Values{float64(i + 1)}
		if !fit {
			s.Runs = nil
		}
		kept, err := Keep("main", &result.Report{Workload: "app", HeadSessions: []model.Session{s}})
		if fit != (err == nil) || fit != (kept == 1) {
			t.Errorf("%d: kept %d, %v", i, kept, err)
		}
		now, _ := filepath.Glob(filepath.Join(dir, "*.csv"))
		if len(now) != 1 || fit == slices.Equal(now, held) {
			t.Errorf("%d: there is %q, before %q", i, now, held)
		}
		held = now
		if left, _ := filepath.Glob(filepath.Join(filepath.Dir(filepath.Dir(root)), "*", "*")); len(left) != 1 {
			t.Errorf("%d: there is %q", i, left)
		}
	}
}

func TestRename(t *testing.T) {
	root := t.TempDir()
	s := Store{Root: root}
	old := baseline.Dir(root, "old", "h200")
	if err := os.MkdirAll(old, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(baseline.Dir(root, "taken", "h200"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ from, to, want string }{
		{"none", "new", "no baseline of workload"}, {"old", "taken", "is there already"}, {"old", "../up", "../up"},
		{"old", "", ""},
	} {
		if _, _, err := s.Rename(t.Context(), c.from, c.to); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s to %q: %v, want %q", c.from, c.to, err, c.want)
		}
	}
	if _, after, err := s.Rename(t.Context(), "old", "new"); err != nil ||
		after != filepath.Dir(baseline.Dir(root, "new", "h200")) {
		t.Fatalf("%s (%v)", after, err)
	}
	if _, err := os.Stat(baseline.Dir(root, "new", "h200")); err != nil {
		t.Error(err)
	}
}
