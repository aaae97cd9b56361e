//go:build linux

package nvidia

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/nsgate/nsgate/gate/internal/run/device"
)

func TestGPUs(t *testing.T) {
	dir := t.TempDir()
	build := exec.Command("go", "run", "-exec", "cp", "../../../../testdata/tools/nvidia-smi", dir)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Setenv("PATH", dir)
	t.Setenv("NSGATE_FAKE_GPU", "old")
	gpus, err := New().GPUs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []device.GPU{{UUID: "GPU-host-a", Name: "NVIDIA H200", Driver: "580.159.03", ClockMHz: 1980,
		MaxClockMHz: 1980, Throttle: 1, PState: "P0"}}
	if d := cmp.Diff(want, gpus); d != "" {
		t.Errorf("old field names (-want +got):\n%s", d)
	}
	t.Setenv("NSGATE_FAKE_GPU", "unknown")
	if gpus, err = New().GPUs(t.Context()); err != nil {
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
		parseProcesses([]byte(text))
	})
}

func TestVisible(t *testing.T) {
	same := []device.GPU{
		{Index: 0, UUID: "GPU-aa", Name: "H200"}, {Index: 1, UUID: "GPU-ab", Name: "H200"},
		{Index: 2, UUID: "GPU-bc", Name: "H200"},
	}
	mixed := slices.Clone(same)
	mixed[0].Name = "T4"
	tests := []struct {
		gpus    []device.GPU
		devices string
		set     bool
		order   string
		want    []int
	}{
		{same, "", false, "", []int{0, 1, 2}},
		{same, "1", true, "", []int{1}},
		{same, "2, 0", true, "", []int{2, 0}},
		{same, "GPU-b", true, "", []int{2}},
		{same, "MIG-1", true, "", []int{0, 1, 2}},
		{same, "", true, "", []int{0, 1, 2}},
		{mixed, "1", true, "", []int{0, 1, 2}},
		{mixed, "1", true, "PCI_BUS_ID", []int{1}},
		{mixed, "GPU-b,GPU-aa", true, "", []int{2, 0}},
		{same, "1,-1,0", true, "", []int{1}},
		{same, "2,9", true, "", []int{2}},
		{mixed, "2,9", true, "", []int{0, 1, 2}},
	}
	for _, tt := range tests {
		var got []int
		seen, _ := visible(tt.gpus, tt.devices, tt.set, tt.order)
		for _, g := range seen {
			got = append(got, g.Index)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("CUDA_VISIBLE_DEVICES=%q %s: %v, want %v", tt.devices, tt.order, got, tt.want)
		}
	}
}

// The GPU that a program takes is the first of those that it sees, where CUDA's order is known or they are alike.
func TestFirst(t *testing.T) {
	alike := []device.GPU{{Index: 0, UUID: "GPU-aa", Name: "T4"}, {Index: 1, UUID: "GPU-ab", Name: "T4"}}
	mixed := []device.GPU{{Index: 0, UUID: "GPU-aa", Name: "T4"}, {Index: 1, UUID: "GPU-ab", Name: "H200"}}
	for _, tt := range []struct {
		gpus           []device.GPU
		devices, order string
		want           string
	}{
		{mixed, "unset", "", ""},
		{mixed, "unset", "FASTEST_FIRST", ""},
		{mixed, "unset", "PCI_BUS_ID", "T4 0"},
		{mixed, "1,0", "PCI_BUS_ID", "H200 1"},
		{mixed, "1,0", "", ""},
		{mixed, "1", "", ""},
		{mixed, "GPU-ab", "", "H200 1"},
		{mixed, "GPU-ab,GPU-aa", "", "H200 1"},
		{alike, "unset", "", "T4 0"},
		{alike, "1,0", "", "T4 1"},
		{alike, "MIG-1", "", "T4 0"},
	} {
		got := ""
		if seen, first := visible(tt.gpus, tt.devices, tt.devices != "unset", tt.order); first {
			got = fmt.Sprint(seen[0].Name, " ", seen[0].Index)
		}
		if got != tt.want {
			t.Errorf("CUDA_VISIBLE_DEVICES=%q %s: %q, want %q", tt.devices, tt.order, got, tt.want)
		}
	}
}
