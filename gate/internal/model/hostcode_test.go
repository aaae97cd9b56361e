package model

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// hinge is a step that waits for the GPU up to a factor of host time, and for the host from there on.
func hinge(at float64) *HostCode {
	h := &HostCode{Calls: []HostCall{{0, 0xef32f2e3, 30345, 882}, {1, 7, 50, 0}}, Tail: 60}
	for _, x := range HostScales() {
		h.Periods = append(h.Periods, math.Round(1e9*math.Max(1, math.Exp(x-at))))
	}
	return h
}

func TestPeriodAt(t *testing.T) {
	for at := -0.9; at < 0.9; at += 0.07 {
		h := hinge(at)
		for x := -1.0; x <= 1; x += 0.013 {
			low, high := h.PeriodAt(x)
			if want := 1e9 * math.Max(1, math.Exp(x-at)); low > want+2 || high < want-2 || high > 1.06*low {
				t.Fatalf("hinge at %.2f: period at %.3f from %.0f to %.0f, want %.0f", at, x, low, high, want)
			}
		}
	}
	if low, high := hinge(0).PeriodAt(1.1); !math.IsNaN(low) || !math.IsNaN(high) {
		t.Errorf("period beyond the scales: %v, %v", low, high)
	}
}

func TestHostCodeText(t *testing.T) {
	want := hinge(0.2)
	text, _ := want.MarshalText()
	got := &HostCode{}
	if err := got.UnmarshalText(text); err != nil || cmp.Diff(want, got) != "" {
		t.Fatalf("%s reads back with %v: %s", text, err, cmp.Diff(want, got))
	}
	good := string(text)
	for _, bad := range []string{
		"", "|", strings.Replace(good, "|", "", 1), strings.Replace(good, ".ef32f2e3", "", 1), strings.Replace(good, ":882", ":-1", 1),
		strings.Replace(good, ":882", ":9e99", 1), strings.Replace(good, "ef32f2e3", "ef32f2e3a", 1), strings.Replace(good, "1.0000", "256.0000", 1),
		"0" + good[strings.Index(good, " "):], good + strings.Repeat(" 0.00000001:60:60", MaxHostCalls) + " 50",
	} {
		if err := new(HostCode).UnmarshalText([]byte(bad)); err == nil {
			t.Errorf("%.80q was read", bad)
		}
	}
}
