package nvidia

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/run/doctor"
	"github.com/nsgate/nsgate/gate/internal/run/host"
)

// testRoot makes a system of a few files.
func testRoot(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestCounters(t *testing.T) {
	const params, status = "proc/driver/nvidia/params", "proc/self/status"
	closed, plain := "RmLogonRC: 1\nRmProfilingAdminOnly: 1\n", "Name:\tnsgate\nCapEff:\t00000000a80425fb\n"
	for _, tt := range []struct {
		name  string
		files map[string]string
		mark  doctor.Mark
		says  string
		do    int
	}{
		{"no driver", nil, doctor.Note, "unknown", 0},
		{"open", map[string]string{params: "RmProfilingAdminOnly: 0\n", status: plain}, doctor.Good, "every user", 0},
		{"an administrator", map[string]string{params: closed, status: "CapEff:\t000001ffffffffff\n"},
			doctor.Good, "CAP_SYS_ADMIN", 0},
		{"a container", map[string]string{params: closed, status: plain, ".dockerenv": ""},
			doctor.Note, "--cap-add SYS_ADMIN", 0},
		{"a pod", map[string]string{params: closed, status: plain, "run/secrets/kubernetes.io/x": ""},
			doctor.Note, "add: [SYS_ADMIN]", 0},
		{"a machine", map[string]string{params: closed, status: plain}, doctor.Note, "with a restart", 1},
		{"a status that says nothing", map[string]string{params: closed, status: "CapEff: all\n"},
			doctor.Note, "with a restart", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var x doctor.Observations
			examineCounters(host.Host{Root: testRoot(t, tt.files)}, &x)
			if x[0].Mark != tt.mark || !strings.Contains(x[0].Detail, tt.says) || len(x[0].Do) != tt.do {
				t.Errorf("%+v", x[0])
			}
		})
	}
}

func TestDCGM(t *testing.T) {
	var x doctor.Observations
	root := testRoot(t, map[string]string{"proc/1/comm": "init\n", "proc/self/comm": "nv-hostengine\n"})
	examineDCGM(host.Host{Root: root}, &x)
	if len(x) != 0 {
		t.Errorf("%+v", x)
	}
	root = testRoot(t, map[string]string{"proc/1/comm": "init\n", "proc/77/comm": "nv-hostengine\n"})
	examineDCGM(host.Host{Root: root}, &x)
	if len(x) != 1 || x[0].Mark != doctor.Note || len(x[0].Do) != 2 {
		t.Errorf("%+v", x)
	}
}
