package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/thresholds"
)

// Both sides are read at once. Where neither can be read it is the base that is named, even where the head fails first.
func TestBothSidesBroken(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, events int) string {
		file := filepath.Join(dir, name)
		text := `{"traceEvents": [` + strings.Repeat("\n{\"ph\": \"i\"},", events) // and no end
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return file
	}
	long, short := write("long.pt.trace.json", 1<<14), write("short.pt.trace.json", 1)
	for _, sides := range [][2]string{{long, short}, {short, long}} {
		r, err := app.Compare{Base: sides[0], Head: sides[1], Policy: thresholds.Default().For("")}.Run(t.Context())
		if err != nil || !strings.Contains(r.Reason, filepath.Base(sides[0])) {
			t.Errorf("%s and %s: %v, %v", sides[0], sides[1], r, err)
		}
	}
	missing := filepath.Join(dir, "missing")
	if _, err := (app.Compare{Base: missing, Head: short,
		Policy: thresholds.Default().For("")}).Run(t.Context()); err == nil ||
		!strings.HasPrefix(err.Error(), "the base: ") {
		t.Errorf("no base: %v", err)
	}
	if _, err := (app.Compare{Base: short, Head: missing,
		Policy: thresholds.Default().For("")}).Run(t.Context()); err != nil {
		t.Errorf("a broken base and no head: %v", err)
	}
}
