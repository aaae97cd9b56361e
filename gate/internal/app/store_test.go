package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/read/baseline"
)

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
