package measure

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestMetricsAreKnownOnce(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range Metrics {
		if seen[m.Name] || m.Name == "" || m.Unit == "" && !m.Unprofiled() {
			t.Errorf("metric %+v is listed twice, or has no name or unit", m)
		}
		seen[m.Name] = true
		if got, ok := MetricByName(m.Name); !ok || got != m {
			t.Errorf("MetricByName(%q) = %v, %v", m.Name, got, ok)
		}
	}
}

func TestMetricTitle(t *testing.T) {
	for name, want := range map[string]string{
		"time": "time", "total": "total time", "gpu_time": "GPU time", "copy_bytes": "bytes copied",
		"memory_peak":     "device memory requested",
		"sm_active":       "SM active",
		"dram_throughput": "dram throughput", "of_a_later_version": "of a later version",
	} {
		if got := (Metric{Name: name}).Title(); got != want {
			t.Errorf("title of %s: got %q, want %q", name, got, want)
		}
	}
}

// Metrics of Nsight Compute vary without a longer run time and are not judged, except for its duration.
func TestMetricJudged(t *testing.T) {
	for name, want := range map[string]bool{
		"time": true, "launches": true, "copy_bytes": true, "step_time": true, "owned_time": false,
		"time_spread": false, "registers": false,
		"ncu_time": true, "cycles": false, "sm_throughput": false, "local_loads": false, "tensor_active": false,
		"dram_read":          false,
		"of_a_later_version": false,
	} {
		m, _ := MetricByName(name)
		if m.Judged() != want {
			t.Errorf("%s is judged by itself: %v, want %v", name, !want, want)
		}
	}
	if !(Metric{Name: "of_a_later_version", Better: Lower}).Judged() {
		t.Error("an unknown metric with a direction is not judged by itself")
	}
}

// TestRow refuses rows that contradict themselves; what a row does not state does not compile.
func TestRow(t *testing.T) {
	before := len(Metrics)
	for _, x := range []struct {
		name, unit string
		is         kind
		over       sums
	}{
		{"time", "ns", time, alone}, {"", "ns", time, alone}, {"new", "ns", exact, alone}, {"new", "B", time, alone},
		{"new", "%", share, overRanks}, {"new", "B/s", rate, perStep | overRanks},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%+v is a row", x)
				}
			}()
			row(x.name, x.unit, Lower, x.is, x.over, kernels, ByTimeline, TermKernel, 0, "meaning")
		}()
	}
	if len(Metrics) != before {
		t.Errorf("%d rows were added", len(Metrics)-before)
	}
}

// TestMarks checks marks that a metric cannot have together.
func TestMarks(t *testing.T) {
	for _, m := range Metrics {
		k := known[m.Name]
		for _, pair := range [][2]mark{
			{tick, ticks}, {tick, once}, {ticks, once},
		} {
			if k.is&pair[0] != 0 && k.is&pair[1] != 0 {
				t.Errorf("%s has marks that exclude each other", m.Name)
			}
		}
		if m.Better == Neither && m.Judged() || m.Informational() && !m.Exact ||
			m.Floor() == FloorOnce && !m.PerStep() || m.OfLaunch() && (m.PerStep() || m.OverRanks()) ||
			m.Unprofiled() && m.OnHost() || m.Sampled() && m.Judged() {
			t.Errorf("%s: marks and row contradict each other", m.Name)
		}
	}
}

// TestNoMetricWithoutRow finds metrics with a unit of their own outside of the table. The evidence of Nsight Compute is
// in no session.
func TestNoMetricWithoutRow(t *testing.T) {
	literal, files := regexp.MustCompile(`measure\.Metric\{[^}\n]*Unit:`), 0
	err := filepath.WalkDir("../..", func(file string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return err
		}
		text, err := os.ReadFile(file)
		files++
		own := strings.HasSuffix(filepath.ToSlash(file), "counters/counters.go")
		if !own && literal.Match(text) {
			t.Errorf("%s makes a metric: give it a row in gate/internal/measure/rows.go", file)
		}
		return err
	})
	if err != nil || files < 200 {
		t.Errorf("%d files: %v", files, err)
	}
}
