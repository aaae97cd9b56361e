package app

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nsgate/nsgate/gate/internal/git"
)

// git apply makes the new text of the old one, whatever both are and whatever the file is called.
func TestPatchApplies(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git here")
	}
	dir := t.TempDir()
	if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
		t.Fatalf("%s", out)
	}
	text := rapid.Custom(func(t *rapid.T) string {
		lines := rapid.SliceOfN(rapid.SampledFrom([]string{"a,1", "b,2", "c,3", "d,4", "", "-x", "+y", "@@ z", "\\ No",
			"é\t"}), 0, 30).Draw(t, "lines")
		end := rapid.SampledFrom([]string{"\n", "\n", "\n", ""}).Draw(t, "end")
		if len(lines) == 0 {
			return ""
		}
		return strings.Join(lines, "\n") + end
	})
	name := rapid.SampledFrom([]string{"samples.csv", "with space/a b.csv", `quote".csv`, "é.csv", `back\slash.csv`,
		"tab\t.csv"})
	rapid.Check(t, func(t *rapid.T) {
		before, after, file := text.Draw(t, "before"), text.Draw(t, "after"), name.Draw(t, "name")
		existed := rapid.Bool().Draw(t, "existed") || after == ""
		if !existed {
			before = ""
		}
		path := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		os.Remove(path)
		if existed {
			if err := os.WriteFile(path, []byte(before), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		private, err := os.MkdirTemp(dir, "private")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(private)
		for side, content := range map[string]string{"a": before, "b": after} {
			place := filepath.Join(private, side, file)
			if err := os.MkdirAll(filepath.Dir(place), 0o755); err != nil {
				t.Fatal(err)
			}
			if side == "a" && !existed {
				continue
			}
			if err := os.WriteFile(place, []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		p, err := git.Patch(t.Context(), private)
		if err != nil {
			t.Fatal(err)
		}
		if p == "" {
			if before != after {
				t.Fatal("no patch")
			}
			return
		}
		cmd := exec.Command("git", "apply", "--whitespace=nowarn")
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(p)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s\n%s", err, out, p)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != after {
			t.Fatalf("got %q, %v, want %q from\n%s", got, err, after, p)
		}
	})
}
