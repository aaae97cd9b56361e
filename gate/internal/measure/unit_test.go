package measure

import (
	"strings"
	"testing"
)

func TestParsePercent(t *testing.T) {
	for in, want := range map[string]float64{
		"1%": 0.01, "1 %": 0.01, " 0.5% ": 0.005, "1.1%": 0.011, ".3%": 0.003, "0%": 0, "100%": 1, "999%": 9.99,
	} {
		if got, err := ParsePercent(in); err != nil || got != want {
			t.Errorf("ParsePercent(%q) = %v, %v; want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"", "%", "1", "0.01", "-1%", "+1%", "NaN%", "inf%", "1000%", "1e400%", "1e1%", "0x1p4%",
		"1_0%", "1,5%", "1%%"} {
		if got, err := ParsePercent(in); err == nil {
			t.Errorf("ParsePercent(%q) = %v; want an error", in, got)
		}
	}
	long := strings.Repeat("9", 400) + "%"
	if got, err := ParsePercent(long); err == nil {
		t.Errorf("ParsePercent of 400 digits = %v; want an error", got)
	}
}

func TestParseAmount(t *testing.T) {
	for in, want := range map[string]Amount{
		"1us": {1000, "ns"}, "500ns": {500, "ns"}, "0.5 ms": {5e5, "ns"}, "2s": {2e9, "ns"}, "1µs": {1000, "ns"},
		"64 KiB": {65536, "B"}, "1MB": {1e6, "B"}, "3": {3, ""}, "0": {0, ""}, "70%": {70, "%"},
		"2.5 TB/s": {2.5e12, "B/s"}, "1.5GHz": {1.5e9, "Hz"},
	} {
		if got, err := ParseAmount(in); err != nil || got != want {
			t.Errorf("ParseAmount(%q) = %v, %v; want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"", "us", "-1us", "1 h", "1 %/s", "NaN", "1e3", "1.2.3us",
		strings.Repeat("9", 400) + "s"} {
		if got, err := ParseAmount(in); err == nil {
			t.Errorf("ParseAmount(%q) = %v; want an error", in, got)
		}
	}
}

// Bytes of a block or thread are bounded in bytes; what Nsight Compute has per block may be a bare number as well.
func TestFits(t *testing.T) {
	for metric, amounts := range map[string]string{
		"ncu:launch__shared_mem_per_block_static": "512B 1KiB 512", "ncu:launch__registers_per_thread": "40",
		"local_memory": "64B", "static_shared": "48KiB", "ncu:dram__bytes.sum": "1GB",
		"ncu:dram__bytes.sum.per_second": "2TB/s",
		"ncu:gpu__time_duration.sum":     "5us", "ncu:sm__cycles_elapsed.avg.per_second": "1.5GHz",
		"ncu:launch__stack_size": "1KiB", "ncu:sm__warps_active.avg.pct_of_peak_sustained_active": "70%",
	} {
		m, ok := MetricByName(metric)
		for _, text := range []string{"512B", "512", "2TB/s", "5us", "1.5GHz", "70%"} {
			base, per, _ := strings.Cut(m.Unit, " ")
			_, _, unit := BaseUnit(base)
			a, err := ParseAmount(text)
			want := unit && a.Unit == base || a.Unit == "" && (!unit || per != "" && m.Raw() != "")
			if err != nil || !ok || a.Fits(m) != want {
				t.Errorf("%s of %s: fits %v, want %v (%v)", text, metric, a.Fits(m), want, err)
			}
		}
		for text := range strings.FieldsSeq(amounts) {
			if a, err := ParseAmount(text); err != nil || !a.Fits(m) {
				t.Errorf("%s does not fit %s", text, metric)
			}
		}
	}
}
