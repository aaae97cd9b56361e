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
	for _, in := range []string{"", "%", "1", "0.01", "-1%", "+1%", "NaN%", "inf%", "1000%", "1e400%", "1e1%", "0x1p4%", "1_0%", "1,5%", "1%%"} {
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
		"64 KiB": {65536, "B"}, "1MB": {1e6, "B"}, "3": {3, ""}, "0": {0, ""}, "70%": {70, "%"}, "2.5 TB/s": {2.5e12, "B/s"}, "1.5GHz": {1.5e9, "Hz"},
	} {
		if got, err := ParseAmount(in); err != nil || got != want {
			t.Errorf("ParseAmount(%q) = %v, %v; want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"", "us", "-1us", "1 h", "1 %/s", "NaN", "1e3", "1.2.3us", strings.Repeat("9", 400) + "s"} {
		if got, err := ParseAmount(in); err == nil {
			t.Errorf("ParseAmount(%q) = %v; want an error", in, got)
		}
	}
}
