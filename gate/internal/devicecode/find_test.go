package devicecode

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// All directory entries that a pattern looks at count, whichever of its parts they are compared with.
func TestFinderBound(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, "x"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for before, want := range map[int]string{mostFiles - 4: "", mostFiles - 3: "covers more than 100000 files and directories"} {
		f := finder{pattern: "*/x", seen: before} // two directories, and a file in each
		found, err := f.glob(filepath.Join(dir, "*", "x"))
		if want == "" && (err != nil || len(found) != 2) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("after %d entries: %q, %v", before, found, err)
		}
	}
}
