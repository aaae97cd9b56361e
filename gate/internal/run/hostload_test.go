//go:build linux

package run

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
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
		return strings.Contains(w,
			"the CPU limit of the control group (2 CPUs) held the workload back in 40 % of its periods")
	}) {
		t.Errorf("warnings %q", res.Warnings)
	}
}

// The load is said where the GPU waits for the host, whether a process left launches or a fragment.
func TestHostBound(t *testing.T) {
	span := model.Interval{Start: 100, End: 200}
	fragment := func(busy int64) model.Trace {
		return model.Trace{Fragment: &model.Fragment{Outline: model.Outline{Span: span, Busy: busy}}}
	}
	launched := func(ends int64) model.Trace {
		return model.Trace{Launches: []model.Launch{{Start: 90, End: 100}, {Start: 100, End: 110},
			{Start: 110, End: 110 + ends}, {Start: 200, End: 210}}}
	}
	for _, x := range []struct {
		trace model.Trace
		want  bool
	}{{fragment(95), false}, {fragment(50), true}, {launched(90), false}, {launched(20), true},
		{model.Trace{}, false}} {
		if got := hostBound([][]model.Trace{{x.trace}}); got != x.want {
			t.Errorf("%+v: %v", x.trace, got)
		}
	}
}

// Latencies that a client measured depend on the load of the host, times of the GPU do not.
func TestTimedByHost(t *testing.T) {
	gpu, cpu := model.Series{Metric: measure.GPUDuration}, model.Series{Metric: measure.Duration}
	for _, x := range []struct {
		runs []Run
		want bool
	}{{nil, false}, {[]Run{{}, {Results: []model.Series{gpu}}}, false},
		{[]Run{{}, {Results: []model.Series{gpu, cpu}}}, true}} {
		r := Result{Runs: x.runs, load: model.HostLoad{Foreign: 3}}
		if r.warn(len(x.runs)); len(r.Warnings) > 0 != x.want {
			t.Errorf("%v: %q", x.runs, r.Warnings)
		}
	}
}
