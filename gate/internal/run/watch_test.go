//go:build linux

package run

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/proc"
)

func TestAllowBusy(t *testing.T) {
	for mode, want := range map[string]string{
		"busy":      "GPU 0 is busy: utilisation is 87 % before the workload starts",
		"process":   "another process uses it",
		"throttled": "held back by its temperature (hardware)",
		"absent":    "were not watched: nvidia-smi: exit status 9: NVIDIA-SMI has failed",
	} {
		t.Run(mode, func(t *testing.T) {
			p := session(t, 1, "true")
			p.AllowBusy = true
			t.Setenv("NSGATE_FAKE_GPU", mode)
			if mode == "throttled" {
				p.Head.Command = []string{"sh", "-c", sampled}
				t.Setenv("NSGATE_FAKE_GPU_CALLS", filepath.Join(t.TempDir(), "calls"))
			}
			res, err := Session(t.Context(), p, nil)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(strings.Join(res.Warnings, "\n"), want) {
				t.Errorf("warnings %q, want %q", res.Warnings, want)
			}
			if mode == "throttled" && (len(res.GPU.Slowdowns) != 2 || res.GPU.Slowdowns[0].Unsound() || !res.GPU.Slowdowns[1].Unsound()) {
				t.Errorf("held by %+v, want the power limit and the temperature", res.GPU.Slowdowns)
			}
			if wantClock := map[string]int{"absent": 0, "throttled": 1200}[mode]; wantClock != 0 && res.GPU.ClockMHz != wantClock {
				t.Errorf("clock %d, want %d", res.GPU.ClockMHz, wantClock)
			}
		})
	}
}

// nsys starts while the GPU is looked at. No run does before it is fit: not a profiled one, and not an unprofiled one.
func TestUnfit(t *testing.T) {
	ran := filepath.Join(t.TempDir(), "ran")
	p := session(t, 2, "touch", ran)
	p.Unprofiled = 2
	t.Setenv("NSGATE_FAKE_GPU", "busy")
	defer func(d time.Duration) { busyInterval = d }(busyInterval)
	busyInterval = 50 * time.Millisecond // time enough for nsys to start
	if _, err := Session(t.Context(), p, nil); model.KindOf(err) != "gpu-busy" {
		t.Errorf("%v, want that the GPU is busy", err)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("the workload ran on a GPU that another uses")
	}
}

func TestVisible(t *testing.T) {
	same := []GPU{
		{Index: 0, UUID: "GPU-aa", Name: "H200"}, {Index: 1, UUID: "GPU-ab", Name: "H200"},
		{Index: 2, UUID: "GPU-bc", Name: "H200"},
	}
	mixed := slices.Clone(same)
	mixed[0].Name = "T4"
	tests := []struct {
		gpus    []GPU
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
	}
	for _, tt := range tests {
		var got []int
		for _, g := range visible(tt.gpus, tt.devices, tt.set, tt.order) {
			got = append(got, g.Index)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("CUDA_VISIBLE_DEVICES=%q %s: %v, want %v", tt.devices, tt.order, got, tt.want)
		}
	}
}

func TestForeign(t *testing.T) {
	w := newWatcher()
	w.there[7] = true
	self := baseName(proc.CommandName(os.Getpid()))
	tests := []struct {
		app  app
		ours []int
		want bool
	}{
		{app{pid: 7}, nil, true},                       // there before
		{app{pid: os.Getpid(), name: self}, nil, true}, // seen here, and none of ours
		{app{pid: os.Getpid(), name: self}, []int{os.Getpid()}, false},
		{app{pid: os.Getpid(), name: "python3"}, nil, false}, // another namespace's pid
		{app{pid: os.Getpid()}, nil, false},                  // nvidia-smi cannot name it
		{app{pid: 1 << 22, name: self}, nil, false},          // not here
	}
	for _, tt := range tests {
		if got := w.foreign(tt.app, tt.ours); got != tt.want {
			t.Errorf("%+v of ours %v: foreign is %v", tt.app, tt.ours, got)
		}
	}
}
