package run

import (
	"context"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/proc"
)

// gpuMetricsRefusals are what nsys says where it cannot sample the GPU's metrics, and the keys of the refusals.
var gpuMetricsRefusals = []struct{ text, key string }{
	{"Already under profiling", "gpu-metrics-taken"},
	{"Insufficient privilege", "gpu-metrics-denied"},
	{"ERR_NVGPUCTRPERM", "gpu-metrics-denied"},
	{"None of the installed GPUs are supported", "gpu-metrics-unsupported"},
	{"Unsupported architecture", "gpu-metrics-unsupported"},
}

// gpuMetricsRefused is the key of the refusal that nsys's output stands for, "" for none.
func gpuMetricsRefused(said string) string {
	for _, x := range gpuMetricsRefusals {
		if strings.Contains(said, x.text) {
			return x.key
		}
	}
	return ""
}

// sampleable is a GPU in nsys's list of those whose metrics it can sample: "0: NVIDIA H200 PCI[0000:19:00.0]". What keeps it
// from one stands behind its name.
var sampleable = regexp.MustCompile(`(?m)^\s*\d+: .*\]\s*$`)

// GPUMetrics asks nsys whether it can sample the metrics of a GPU here. The error is a *model.Refusal where it says why
// not; known is false where it says neither.
func GPUMetrics(ctx context.Context, exe string) (known bool, err error) {
	path, err := exec.LookPath(exe)
	if err != nil {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	var out proc.Output
	proc.Run(ctx, "", &out, &out, path, "profile", "--gpu-metrics-devices=help") // its status says nothing
	said := out.String()
	if sampleable.MatchString(said) {
		return true, nil
	}
	if key := gpuMetricsRefused(said); key != "" {
		return true, Reasons.Refuse(key).(*model.Refusal)
	}
	return false, nil
}
