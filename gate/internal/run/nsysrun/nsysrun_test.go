//go:build unix

package nsysrun

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/run/profiler"
)

func TestGPUMetricsRefused(t *testing.T) {
	for said, want := range map[string]*model.Refusal{
		"Illegal --gpu-metrics-devices argument: 0.\nInsufficient privilege, see " +
			"https://developer.nvidia.com/ERR_NVGPUCTRPERM.": metricsDenied,
		"Some GPUs cannot be sampled:\n\t0: NVIDIA L40S PCI[0000:3d:00.0] - Already under " +
			"profiling": metricsTaken,
		"None of the installed GPUs are supported:\n\tTesla V100 - Unsupported architecture": metricsUnsupported,
		"unrecognised option '--gpu-metrics-devices=help'":                                   nil,
		"": nil,
	} {
		if got := gpuMetricsRefused(said); got != want {
			t.Errorf("%q is %v, want %v", said, got, want)
		}
		if sampleable().MatchString(said) {
			t.Errorf("%q lists a GPU that can be sampled", said)
		}
	}
}

func TestVersion(t *testing.T) {
	exe := filepath.Join(t.TempDir(), "nsys")
	script := "#!/bin/sh\necho NVIDIA Nsight Systems version 2025.3.1.90-253135822126v0\n"
	if err := os.WriteFile(exe, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	if v, err := askVersion(t.Context(), exe); err != nil || v != "2025.3.1" {
		t.Errorf("version %q, %v", v, err)
	}
	if v, err := askVersion(t.Context(), "true"); err == nil {
		t.Errorf("true has version %q", v)
	}
}

// TSL is left out unless the user chooses the domains or traces no NVTX.
func TestExcludesTSL(t *testing.T) {
	for args, want := range map[string]bool{
		"":                                true,
		"--cuda-flush-interval=100":       true,
		"--trace=cuda,nvtx,osrt":          true,
		"--trace=cuda":                    false,
		"--trace cuda":                    false,
		"-t cuda,nvtx":                    true,
		"-tcuda":                          false,
		"--nvtx-domain-include=mine":      false,
		"--nvtx-domain-exclude TSL,other": false,
	} {
		o := profiler.Options{Args: strings.Fields(args)}
		line := profileArgs(o)
		if got := slices.Contains(line, "--nvtx-domain-exclude=TSL"); got != want {
			t.Errorf("%q: %q", args, line)
		}
		o.AllDomains = true
		if line := profileArgs(o); slices.Contains(line, "--nvtx-domain-exclude=TSL") {
			t.Errorf("%q with all domains: %q", args, line)
		}
	}
	if line := strings.Join(profileArgs(profiler.Options{NoNVTX: true}), " "); !strings.Contains(line,
		"--trace=cuda ") ||
		strings.Contains(line, "nvtx") {
		t.Errorf("without NVTX: %s", line)
	}
}
