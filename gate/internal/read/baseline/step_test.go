package baseline

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

func TestStep(t *testing.T) {
	dir := t.TempDir()
	sessions := []model.Session{{ID: "a"}, {ID: "b"}, {ID: "c"}}
	if d, err := Step(dir, sessions); d != nil || err != nil {
		t.Errorf("without a file: %v, %v", d, err)
	}
	want := &model.Drawing{
		Subjects: []measure.Subject{{Scope: measure.ScopeKernel, Name: "k<1>(int)",
			Grid: measure.Dim3{X: 2, Y: 1, Z: 1}}},
		Step: &model.DrawnStep{Run: 1, Step: 7, Steps: 60, Length: 900, Operations: []model.DrawnSpan{{0, 10, 500, 0}}},
	}
	file, err := WriteStep(filepath.Join(dir, "b.csv"), want)
	if err != nil || file != filepath.Join(dir, "b.step.json") {
		t.Fatal(file, err)
	}
	got, err := Step(dir, sessions)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	large := *want
	large.Subjects = []measure.Subject{{Name: strings.Repeat("k", maxStep)}}
	if file, err := WriteStep(filepath.Join(dir, "c.csv"), &large); file != "" || err != nil {
		t.Errorf("a large step: %q, %v", file, err)
	}
	outside := filepath.Join(t.TempDir(), "outside.json")
	write(t, filepath.Dir(outside), "outside.json", "{}")
	for name, put := range map[string]func(string) error{
		"text":           func(file string) error { return os.WriteFile(file, []byte("{"), 0o600) },
		"too large":      func(file string) error { return os.WriteFile(file, make([]byte, maxStep+1), 0o600) },
		"link elsewhere": func(file string) error { return os.Symlink(outside, file) },
	} {
		file := filepath.Join(dir, "c.step.json")
		if err := put(file); err != nil {
			t.Fatal(err)
		}
		d, err := Step(dir, sessions)
		if d != nil || err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v, %v", name, d, err)
		}
		os.Remove(file)
	}
}
