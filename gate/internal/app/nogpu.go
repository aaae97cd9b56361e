package app

import (
	"context"
	"path/filepath"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/run"
)

// devices are where drivers show a GPU: on Linux, and in Windows' Linux.
var devices = []string{"/dev/nvidia[0-9]*", "/dev/dxg"}

// NoGPU is the report of a machine without a GPU; nil if there is or may be one.
func NoGPU(ctx context.Context) *result.Report {
	if gpus, err := run.Probe(ctx); err == nil && len(gpus) > 0 {
		return nil
	}
	for _, pattern := range devices {
		if found, _ := filepath.Glob(pattern); len(found) > 0 {
			return nil
		}
	}
	r, _ := refused(nil, model.Refuse(model.NoGPU, "run the check where there is one",
		"this machine has no NVIDIA GPU: nothing was measured and nothing judged"))
	return r
}
