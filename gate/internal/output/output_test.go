//go:build unix

package output

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestWhole(t *testing.T) {
	dir := t.TempDir()
	name, other := filepath.Join(dir, "file"), filepath.Join(dir, "other")
	for _, err := range []error{os.WriteFile(other, []byte("theirs"), 0o644), os.Symlink(other, name)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	failed := errors.New("failed")
	err := Whole(name, 0o644, func(w io.Writer) error {
		io.WriteString(w, "half")
		return failed
	})
	if text, _ := os.ReadFile(name); !errors.Is(err, failed) || string(text) != "theirs" {
		t.Errorf("after a failure: %q, %v", text, err)
	}
	if err := Text(name, 0o640, []byte("mine")); err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(other); string(text) != "theirs" {
		t.Errorf("written through a link: %q", text)
	}
	info, err := os.Lstat(name)
	if text, _ := os.ReadFile(name); err != nil || string(text) != "mine" || info.Mode() != 0o640 {
		t.Errorf("%q, %v, %v", text, info.Mode(), err)
	}
	if _, err := New(name); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a new file where one is: %v", err)
	}
	if err := Possible(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("in a directory that is not there: %v", err)
	}
	if err := Possible(dir); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 2 {
		t.Errorf("left behind: %v", left)
	}
}
