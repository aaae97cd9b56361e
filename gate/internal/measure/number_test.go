package measure

import (
	"math"
	"testing"
)

func TestQuantity(t *testing.T) {
	for _, c := range []struct {
		v    float64
		unit string
		want string
	}{
		{0, "ns", "0 ns"}, {896, "ns", "896.0 ns"}, {999.96, "ns", "1.000 µs"}, {21234, "ns", "21.23 µs"},
		{1.5e6, "ns", "1.500 ms"}, {2.5e9, "ns", "2.500 s"}, {5e13, "ns", "50000 s"}, {0.25, "ns", "0.25 ns"},
		{512, "B", "512 B"}, {4194304, "B", "4.194 MB"}, {1e15, "B", "1000 TB"},
		{2.53e12, "B/s", "2.530 TB/s"}, {9.578e12, "FLOP/s", "9.578 TFLOP/s"},
		{1.98e9, "Hz", "1.980 GHz"}, {70.25, "%", "70.25 %"},
		{1234567, "count", "1,234,567"}, {9999, "count", "9999"},
		{2.5, "count", "2.5"}, {255, "per thread", "255 per thread"},
		{math.NaN(), "ns", "–"}, {math.Inf(1), "B", "–"}, {-1500, "ns", "-1.500 µs"}, {1, "x\ny", "1 x y"},
	} {
		if got := Quantity(c.v, c.unit); got != c.want {
			t.Errorf("Quantity(%v, %q) = %q, want %q", c.v, c.unit, got, c.want)
		}
	}
}

func TestPercent(t *testing.T) {
	for v, want := range map[float64]string{
		0.0487: "+4.87 %", -0.0987: "-9.87 %", 0.099951: "+10.0 %", 0.613: "+61.3 %", 11.3: "×12.30", 0.0045: "+0.45 %",
		2.12: "+212 %", 0: "0 %", 1e-9: "<0.01 %", -1e-9: ">-0.01 %",
		math.NaN(): "–", math.Inf(1): "–", 1e300: "×1e+300",
	} {
		if got := Change(v); got != want {
			t.Errorf("Change(%v) = %q, want %q", v, got, want)
		}
	}
	if got := ChangeInterval(0.0487, 0.0461, 0.0513); got != "+4.61 … +5.13 %" {
		t.Errorf("interval: %q", got)
	}
	if got := ChangeInterval(2.12, 2.117, 2.1209); got != "+211.7 … +212.1 %" {
		t.Errorf("interval of a large change: %q", got)
	}
	if got := ChangeInterval(24.2, 24.08, 24.31); got != "×25.08 … ×25.31" {
		t.Errorf("interval of a factor: %q", got)
	}
	for v, want := range map[float64]string{0.421: "42.1 %", 1: "100.0 %", 0.00484: "0.48 %", 5e-5: "<0.01 %",
		0: "0.00 %", math.NaN(): "–"} {
		if got := Share(v); got != want {
			t.Errorf("Share(%v) = %q, want %q", v, got, want)
		}
	}
	if got := ChangeInterval(3, 3, 3); got != "" {
		t.Errorf("interval of an exact change: %q", got)
	}
}

func TestApart(t *testing.T) {
	for _, tt := range []struct {
		base, head float64
		unit, want string
	}{
		{13054605.8986, 13049118.5254, "ns", "13.055 → 13.049 ms"}, {100000, 100000.2, "ns", "100.0000 → 100.0002 µs"},
		{1000001, 1000002, "count", "1000001 → 1000002"}, {1.00001, 1.00002, "ratio", "1.00001 → 1.00002"},
		{0.99996, 1.00004, "", "0.99996 → 1.00004"}, {2, 2, "ns", "2.00000000000 → 2.00000000000 ns"},
	} {
		if got := Apart(tt.base, tt.head, tt.unit); got != tt.want {
			t.Errorf("%s, want %s", got, tt.want)
		}
	}
}

// Values on both sides of a prefix have one unit where that loses no digit.
func TestScalePair(t *testing.T) {
	for _, x := range []struct {
		a, b       float64
		unit, want string
	}{
		{999_600, 1_101_000, "ns", "0.9996 ms, 1.101 ms"}, {1_101_000, 999_600, "ns", "1.101 ms, 0.9996 ms"},
		{542_000, 1_101_000, "ns", "542.0 µs, 1.101 ms"}, {999, 1200, "B", "999 B, 1.200 kB"},
		{999_600, math.NaN(), "ns", "999.6 µs, –"}, {0, 1_101_000, "ns", "0 ns, 1.101 ms"},
		{-999_600, 1_101_000, "ns", "-0.9996 ms, 1.101 ms"}, {3, 4, "count", "3, 4"},
	} {
		if a, b := ScalePair(x.a, x.b, x.unit); a.String()+", "+b.String() != x.want {
			t.Errorf("%v and %v %s are %s, %s; want %s", x.a, x.b, x.unit, a, b, x.want)
		}
	}
}
