//go:build linux

package run

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A control group that hit its CPU limit during the runs is stored with the traces, and is a warning where the steps
// wait for the CPU, as those of the recordings do.
func TestHostLoad(t *testing.T) {
	root := t.TempDir()
	group := filepath.Join(root, "sys/fs/cgroup")
	if err := os.MkdirAll(group, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(root, "proc/self"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "200000 100000\n",
		"sys/fs/cgroup/cpu.stat": "nr_periods 1000\nnr_throttled 500\n"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p := session(t, 2, "sh", "-c", `printf 'nr_periods 1100\nnr_throttled 540\n' >`+group+`/cpu.stat`)
	t.Setenv("HOST_ROOT", root)
	res, err := Session(t.Context(), p, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, ts := range res.Traces {
		for _, tr := range ts {
			if tr.Throttled != 0.4 || tr.CPULimit != 2 {
				t.Errorf("throttled %v, limit %v", tr.Throttled, tr.CPULimit)
			}
		}
	}
	if !slices.ContainsFunc(res.Warnings, func(w string) bool {
		return strings.Contains(w, "the CPU limit of the control group (2 CPUs) held the workload back in 40 % of its periods")
	}) {
		t.Errorf("warnings %q", res.Warnings)
	}
}
