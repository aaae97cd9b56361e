//go:build linux

package run

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestProbe(t *testing.T) {
	t.Setenv("NSGATE_FAKE_GPU", "old")
	gpus, err := Probe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []GPU{{UUID: "GPU-host-a", Name: "NVIDIA H200", Driver: "580.159.03", ClockMHz: 1980, MaxClockMHz: 1980,
		Throttle: 1, PState: "P0"}}
	if d := cmp.Diff(want, gpus); d != "" {
		t.Errorf("old field names (-want +got):\n%s", d)
	}
	t.Setenv("NSGATE_FAKE_GPU", "unknown")
	if gpus, err = Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	want[0].ClockMHz, want[0].Utilization = math.NaN(), math.NaN()
	want[0].Throttle, want[0].PState = 0, ""
	if d := cmp.Diff(want, gpus, cmpopts.EquateNaNs()); d != "" {
		t.Errorf("unknown cells (-want +got):\n%s", d)
	}
}

func TestParseGPUsRefuses(t *testing.T) {
	for _, text := range []string{"0, GPU-a", "x, a, b, c, 1, 2, 3, Enabled, P0, 0x0", "No devices were found"} {
		if gpus, err := parseGPUs([]byte(text)); err == nil {
			t.Errorf("%q gives %+v", text, gpus)
		}
	}
}

func FuzzParseCSV(f *testing.F) {
	f.Add("0, GPU-a, NVIDIA H200, 580, 1980, 1980, 0, [N/A], P0, 0x1\n")
	f.Add("1, \"x\n, 3, a,b,c")
	f.Fuzz(func(t *testing.T, text string) {
		if gpus, err := parseGPUs([]byte(text)); err == nil {
			for _, g := range gpus {
				if strings.ContainsAny(g.Name+g.UUID+g.Driver+g.PState, "\x00\x1b") {
					t.Errorf("control characters in %+v", g)
				}
			}
		}
		parseApps([]byte(text))
	})
}
