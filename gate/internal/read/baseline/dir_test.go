package baseline

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDir(t *testing.T) {
	for _, c := range []struct{ workload, gpu, want string }{
		{"kernels", "NVIDIA H200", "root/kernels/nvidia-h200"},
		{"a-b", "NVIDIA H100 80GB HBM3", "root/a-b/nvidia-h100-80gb-hbm3"},
		{"x", "NVIDIA H200 MIG 1g.18gb", "root/x/nvidia-h200-mig-1g-18gb"},
		{"x", "../..", "root/x/unknown-gpu"},
	} {
		if got := filepath.ToSlash(Dir("root", c.workload, c.gpu)); got != c.want {
			t.Errorf("Dir(%q, %q) = %s, want %s", c.workload, c.gpu, got, c.want)
		}
	}
	seen := make(map[string]string)
	for _, w := range []string{"a-b", "a.b", "A-b", "a--b", "a_b", "", ".", "..", "../x", "µ", strings.Repeat("x", 200),
		strings.Repeat("x", 201)} {
		dir := filepath.ToSlash(Dir("root", w, "g"))
		if other, twice := seen[strings.ToLower(dir)]; twice {
			t.Errorf("%q and %q share %s", w, other, dir)
		}
		seen[dir] = w
		if parts := strings.Split(dir, "/"); len(parts) != 3 || strings.Contains(dir, ".") || len(dir) > 100 {
			t.Errorf("Dir of %q is %s", w, dir)
		}
	}
}

func TestWritable(t *testing.T) {
	dir := t.TempDir()
	if err := Writable(filepath.Join(dir, "a", "b")); err != nil {
		t.Error(err)
	}
	write(t, dir, "file", "")
	err := Writable(filepath.Join(dir, "file", "b"))
	if err == nil || !strings.Contains(err.Error(), filepath.Join(dir, "file", "b")+": not a directory") ||
		strings.Contains(err.Error(), ".tmp") {
		t.Errorf("below a file: %v", err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("%d entries are left", len(entries))
	}
}
