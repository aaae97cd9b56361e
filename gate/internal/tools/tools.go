// Package tools lists the programs of this machine that measurements are made with, one row each.
package tools

import (
	"github.com/nsgate/nsgate/gate/internal/device"
	"github.com/nsgate/nsgate/gate/internal/nvidia"
)

// GPUs tells the state of the GPUs of this machine.
func GPUs() device.Tool { return nvidia.New() }
