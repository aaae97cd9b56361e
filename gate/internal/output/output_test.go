//go:build unix

package output

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestKilled checks that a process which is killed while it writes leaves nothing, neither where a file was nor where
// none was.
func TestKilled(t *testing.T) {
	const asChild = "NSGATE_TEST_WRITES"
	if name := os.Getenv(asChild); name != "" {
		Whole(name, 0o644, func(w io.Writer) error {
			io.WriteString(w, "half")
			return syscall.Kill(os.Getpid(), syscall.SIGKILL)
		})
	}
	dir := t.TempDir()
	if f, err := unnamed(dir); err != nil {
		t.Skip("this file system has no files without names: ", err)
	} else {
		f.Close()
	}
	old := filepath.Join(dir, "old.csv")
	if err := os.WriteFile(old, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{old, filepath.Join(dir, "new.csv")} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilled$")
		cmd.Env = append(os.Environ(), asChild+"="+name)
		if cmd.Run() == nil {
			t.Fatal("the child was not killed")
		}
	}
	left, _ := os.ReadDir(dir)
	if text, _ := os.ReadFile(old); string(text) != "old" || len(left) != 1 {
		t.Errorf("%q, left behind: %v", text, left)
	}
}

// A file that a killed process left half placed is gone with the next one of its name; that of a living one stays.
func TestSwept(t *testing.T) {
	dir := t.TempDir()
	in := func(file string) string { return filepath.Join(dir, file) }
	name, old, other := in("shadow.csv"), in(".shadow.csv.1.tmp"), in(".x.csv.1.tmp")
	for _, file := range []string{name, old, in(".shadow.csv.2.tmp"), other} {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	past := time.Now().Add(-time.Hour)
	if err := errors.Join(os.Chtimes(old, past, past), os.Chtimes(other, past, past),
		Text(name, 0o600, []byte("whole"))); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 3 {
		t.Errorf("left: %v", left)
	}
}

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
	long := filepath.Join(dir, strings.Repeat("é", 127)) // as long as a name can be
	for range 2 {
		if err := Text(long, 0o600, []byte("mine")); err != nil {
			t.Errorf("a long name: %v", err)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) != 3 {
		t.Errorf("left behind: %v", left)
	}
}
