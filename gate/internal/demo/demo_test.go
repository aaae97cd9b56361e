package demo

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestFiles wants the recordings of the test data, in at most 130 KB.
func TestFiles(t *testing.T) {
	if n := len(recordings); n > 130_000 {
		t.Errorf("%d bytes of recordings", n)
	}
	files, err := Files()
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	err = fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		got, err := fs.ReadFile(files, path)
		if err != nil {
			return err
		}
		want, err := os.ReadFile(filepath.Join("../../../testdata/h200/kernels", path))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not that of the test data (%v)", path, err)
		}
		count[filepath.Dir(path)]++
		return nil
	})
	if err != nil || count[Base] != 5 || count[Head] != 3 {
		t.Errorf("%v recordings (%v)", count, err)
	}
}
