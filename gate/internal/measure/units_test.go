package measure

import (
	"strings"
	"testing"
)

// TestBaseUnit tries prefixes and nouns: the size of each in the base unit, and what is no unit that is known.
func TestBaseUnit(t *testing.T) {
	type size struct {
		factor float64
		base   string
	}
	tried := 0
	for prefix, factor := range map[string]float64{"": 1, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "Ki": 1024,
		"Mi": 1 << 20, "Gi": 1 << 30} {
		for noun, base := range map[string]string{"B": "B", "byte": "B", "bytes": "B", "B/s": "B/s", "Bps": "B/s",
			"byte/s": "B/s", "byte/second": "B/s", "Hz": "Hz", "FLOP/s": "FLOP/s", "FLOPS": "FLOP/s",
			"rows/s": "rows/s", "tokens/s": "tokens/s", "items/sec": "items/s", "ops/s": "ops/s", "it/s": "it/s",
			"tok/second": "tok/s", "requests per second": "requests/s", "Gelem/s": "elem/s",
			"elements/s": "elements/s"} {
			want := size{factor, base}
			if noun == "Gelem/s" {
				want.factor = 1e9
			}
			got := size{}
			var ok bool
			got.factor, got.base, ok = BaseUnit(prefix + noun)
			bytes := strings.HasPrefix(base, "B")
			if known := (len(prefix) < 2 || bytes) && (noun != "Gelem/s" || prefix == ""); ok != known || ok &&
				got != want {
				t.Errorf("%s%s: %+v, %v, want %+v", prefix, noun, got, ok, want)
			}
			tried++
		}
	}
	for spelling, want := range map[string]size{"ns": {1, "ns"}, "us": {1e3, "ns"}, "µs": {1e3, "ns"},
		"μs": {1e3, "ns"}, "ms": {1e6, "ns"}, "s": {1e9, "ns"}, "usecond": {1e3, "ns"}, "milliseconds": {1e6, "ns"},
		"nsec": {1, "ns"}, "us/iter": {1e3, "ns"}, "ms/op": {1e6, "ns"}, "kib": {1024, "B"}, "Mbyte": {1e6, "B"},
		"mbyte": {1e6, "B"}, "MHZ": {1e6, "Hz"}, "Ghz": {1e9, "Hz"}, "TFLOPs": {1e12, "FLOP/s"},
		"gflops": {1e9, "FLOP/s"}, "%": {1, "%"}, "1/s": {1, "1/s"}, "FPS": {1, "frames/s"},
		"qps": {1, "queries/s"}, "/s": {1, "1/s"}, " ms ": {1e6, "ns"}} {
		if factor, base, ok := BaseUnit(spelling); !ok || (size{factor, base}) != want {
			t.Errorf("%q: %v %s %v, want %+v", spelling, factor, base, ok, want)
		}
	}
	for spelling := range strings.FieldsSeq("Gb Gb/s Mb Gbps Kib/s min h points errors/s misses/s GFLOP ps k M/s " +
		"M1/s kpoints steps Mrows x W %/s mtokens/s Kirows/s") {
		if factor, base, ok := BaseUnit(spelling); ok {
			t.Errorf("%q: %v %s", spelling, factor, base)
		}
	}
	if tried < 100 {
		t.Errorf("%d units", tried)
	}
}

// A printed quantity is read back as an amount of its base unit, whatever prefix it has.
func TestQuantityAmount(t *testing.T) {
	for _, base := range []string{"ns", "B", "B/s", "FLOP/s", "Hz", "rows/s", "tok/s", "1/s", "%"} {
		for v := 1.25; v < 1e14; v *= 10 {
			text := Quantity(v, base)
			a, err := ParseAmount(text)
			if err != nil || a.Unit != base || a.Value < 0.999*v || a.Value > 1.001*v {
				t.Errorf("%v %s is printed as %s, which is %+v (%v)", v, base, text, a, err)
			}
		}
	}
	for v, want := range map[float64]string{1950: "1950 tokens/s", 1e8: "100.0 Mtokens/s", 20.3: "20.30 tokens/s",
		5e9: "5.000 Gtokens/s"} {
		if got := Quantity(v, "tokens/s"); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
}

// TestSameUnit compares base units of two sides.
func TestSameUnit(t *testing.T) {
	for pair, want := range map[[2]string]bool{
		{"rows/s", "rows/s"}: true, {"rows/s", "row/s"}: true, {"tok/s", "tokens/s"}: true,
		{"rows/s", "tokens/s"}: false,
		{"1/s", "tokens/s"}:    true, {"1/s", "rows/s"}: false, {"elem/s", "1/s"}: false, {"points", "points"}: true,
		{"points", "kpoints"}: false,
		{"", "points"}:        false, {"", "s"}: false, {"", ""}: true, {"MHz", "GHz"}: false, {"ns", "B"}: false,
	} {
		if SameUnit(pair[0], pair[1]) != want || SameUnit(pair[1], pair[0]) != want {
			t.Errorf("%v: want %v", pair, want)
		}
	}
	for unit, want := range map[string]string{"rows/s": "item_rate value", "points": "value", "µJ": "value",
		"1/s": "item_rate value", "": "value", "a\nb": "", "=x": "", "-x": "", "B/s": "bandwidth value",
		"ns": "duration value"} {
		for _, m := range []Metric{ItemRate, Value, Duration, Bandwidth} {
			fits := strings.Contains(" "+want+" ", " "+m.Name+" ")
			if in, ok := m.In(unit); ok != fits || in.Name != m.Name || ok && in.Unit != unit {
				t.Errorf("%s in %q: %+v, %v", m.Name, unit, in, ok)
			}
		}
	}
}
