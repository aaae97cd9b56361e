//go:build linux

package input

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestRead(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(at("file"), []byte("12345678"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(at("pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"link": at("file"), "zero": "/dev/zero", "hang": at("pipe"),
		"kernel": "/proc/version"} {
		if err := os.Symlink(target, at(name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name, want string
		limit      int64
	}{
		{"file", "", 8}, {"link", "", 8}, {"file", "it is larger than 0 MB", 7}, {"pipe", "is not a regular file", 8},
		{"hang", "is not a regular file", 8}, {"zero", "is not a regular file", 8}, {".", "is not a regular file", 8},
		{"none", "no such file", 8},
		{"kernel", "is not a regular file", 1 << 20}, // as /proc/kmsg, which waits for more
	} {
		text, err := Read(at(tt.name), tt.limit)
		if tt.want == "" && (err != nil || string(text) != "12345678") || tt.want != "" &&
			(err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s up to %d bytes: %q, %v", tt.name, tt.limit, text, err)
		}
	}
}

func TestSystem(t *testing.T) {
	if !strings.HasPrefix(System("/proc/version"), "Linux") {
		t.Errorf("%q", System("/proc/version"))
	}
}

func TestReadWithin(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "dir")
	for _, err := range []error{os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(top, "outside"), []byte("1"), 0o644),
		os.WriteFile(filepath.Join(dir, "inside"), []byte("2"), 0o644),
		os.Symlink("inside", filepath.Join(dir, "link")),
		os.Symlink("../outside", filepath.Join(dir, "out")), syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{"inside": "2", "link": "2", "out": "", "../outside": "", "pipe": ""} {
		text, err := ReadWithin(new(bytes.Buffer), dir, name, 8)
		if string(text) != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}

func TestTree(t *testing.T) {
	dir := t.TempDir()
	for _, err := range []error{os.WriteFile(filepath.Join(dir, "file"), []byte("2"), 0o644),
		syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := fs.ReadDir(Tree(dir), "."); err != nil {
		t.Error(err)
	}
	if text, err := fs.ReadFile(Tree(dir), "file"); string(text) != "2" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := fs.ReadFile(Tree(dir), "pipe"); !errors.Is(err, ErrNoFile) {
		t.Errorf("a pipe: %v", err)
	}
}

func TestMemory(t *testing.T) {
	for _, tt := range []struct {
		files map[string]string
		want  int64
	}{
		{map[string]string{"/proc/meminfo": "MemTotal:       16 kB\nMemFree: 1 kB\n"}, 16 << 10},
		{map[string]string{"/proc/meminfo": "MemTotal:       16 kB\n", "/sys/fs/cgroup/memory.max": "max\n"}, 16 << 10},
		{map[string]string{"/proc/meminfo": "MemTotal:       16 kB\n", "/sys/fs/cgroup/memory.max": "4096\n"}, 4096},
		{map[string]string{"/proc/meminfo": "MemTotal:       16 kB\n",
			"/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 16 << 10},
	} {
		if got := memory(func(name string) string { return tt.files[name] }); got != tt.want {
			t.Errorf("%v: %d, want %d", tt.files, got, tt.want)
		}
	}
}
