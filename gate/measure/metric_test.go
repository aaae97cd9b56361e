package measure

import "testing"

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
		"time": "time", "total": "total time", "gpu_time": "GPU time", "copy_bytes": "bytes copied", "memory_peak": "device memory requested",
		"sm_active":       "SM active",
		"dram_throughput": "dram throughput", "of_a_later_version": "of a later version",
	} {
		if got := (Metric{Name: name}).Title(); got != want {
			t.Errorf("title of %s: got %q, want %q", name, got, want)
		}
	}
}

// What a metric of Nsight Compute says goes up and down without anyone waiting longer, its duration excepted.
func TestMetricJudged(t *testing.T) {
	for name, want := range map[string]bool{
		"time": true, "launches": true, "copy_bytes": true, "step_time": true, "owned_time": false, "time_spread": false, "registers": false,
		"ncu_time": true, "cycles": false, "sm_throughput": false, "local_loads": false, "tensor_active": false, "dram_read": false,
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
