//go:build linux

package run

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/run/device"
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
			if mode == "throttled" && (len(res.GPU.Slowdowns) != 2 || res.GPU.Slowdowns[0].Unsound() ||
				!res.GPU.Slowdowns[1].Unsound()) {
				t.Errorf("held by %+v, want the power limit and the temperature", res.GPU.Slowdowns)
			}
			if wantClock := map[string]int{"absent": 0, "throttled": 1200}[mode]; wantClock != 0 &&
				res.GPU.ClockMHz != wantClock {
				t.Errorf("clock %d, want %d", res.GPU.ClockMHz, wantClock)
			}
		})
	}
}

// The end of a session counts as the first of two idle looks before the next. A neighbour that appears between them is
// found.
func TestLooksBetweenSessions(t *testing.T) {
	calls := filepath.Join(t.TempDir(), "calls")
	defer func(d time.Duration) { device.SampleEvery = d }(device.SampleEvery)
	device.SampleEvery = time.Hour
	p := session(t, 1, "true")
	for i := range 4 {
		if i == 1 { // the session before the first is another test's, or none
			t.Setenv("NSGATE_FAKE_GPU_CALLS", calls)
		}
		if _, err := Session(t.Context(), p, nil); err != nil {
			t.Fatal(err)
		}
	}
	text, _ := os.ReadFile(calls)
	if n := strings.Count(string(text), "call"); n != 3*4 { // GPUs and processes before, GPUs twice after
		t.Errorf("%d questions in 3 sessions, want 12", n)
	}
	for _, mode := range []string{"process", "busy"} {
		t.Setenv("NSGATE_FAKE_GPU", "")
		if _, err := Session(t.Context(), p, nil); err != nil {
			t.Fatal(err)
		}
		t.Setenv("NSGATE_FAKE_GPU", mode)
		if _, err := Session(t.Context(), p, nil); model.KindOf(err) != model.GPUBusy {
			t.Errorf("%s: %v, want that the GPU is busy", mode, err)
		}
	}
}

// A program that was killed holds its GPU for a moment, which is no other program's.
func TestEndedUser(t *testing.T) {
	defer func(d time.Duration) { device.BusyInterval = d }(device.BusyInterval)
	device.BusyInterval = 100 * time.Millisecond
	ended := exec.Command("sleep", "60")
	if err := ended.Start(); err != nil {
		t.Fatal(err)
	}
	apps := filepath.Join(t.TempDir(), "apps")
	if err := os.WriteFile(apps, []byte(strconv.Itoa(ended.Process.Pid)), 0o666); err != nil {
		t.Fatal(err)
	}
	p := session(t, 1, "true")
	t.Setenv("NSGATE_FAKE_GPU", "shared")
	t.Setenv("NSGATE_FAKE_GPU_APPS", apps)
	if _, err := Session(t.Context(), p, nil); model.KindOf(err) != model.GPUBusy {
		t.Errorf("%v, want that the GPU is busy", err)
	}
	go func() {
		time.Sleep(150 * time.Millisecond)
		ended.Process.Kill()
		ended.Wait()
	}()
	if _, err := Session(t.Context(), p, nil); err != nil {
		t.Error(err)
	}
}

// nsys starts while the GPU is looked at. No run does before it is fit: not a profiled one, and not an unprofiled one.
func TestUnfit(t *testing.T) {
	ran := filepath.Join(t.TempDir(), "ran")
	p := session(t, 2, "touch", ran)
	p.Unprofiled = 2
	t.Setenv("NSGATE_FAKE_GPU", "busy")
	defer func(d time.Duration) { device.BusyInterval = d }(device.BusyInterval)
	device.BusyInterval = 50 * time.Millisecond // time enough for nsys to start
	if _, err := Session(t.Context(), p, nil); model.KindOf(err) != "gpu-busy" {
		t.Errorf("%v, want that the GPU is busy", err)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("the workload ran on a GPU that another uses")
	}
}
