package nsysrun

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/run/host"
)

func TestElsewhere(t *testing.T) {
	root, newest := t.TempDir(), "opt/nvidia/nsight-systems/2025.3.1/bin/nsys"
	for _, name := range []string{"opt/nvidia/nsight-systems/2024.6.2/bin/nsys", newest,
		"usr/local/cuda-12.8/bin/nsys"} {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := elsewhere(host.Host{Root: root}), filepath.Join(root, newest); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := elsewhere(host.Host{Root: t.TempDir()}); got != "" {
		t.Error(got)
	}
}
