// Package tools lists the programs of this machine that measurements are made with, one row each.
package tools

import (
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/run/device"
	"github.com/nsgate/nsgate/gate/internal/run/ncurun"
	"github.com/nsgate/nsgate/gate/internal/run/nsysrun"
	"github.com/nsgate/nsgate/gate/internal/run/nvidia"
	"github.com/nsgate/nsgate/gate/internal/run/profiler"
)

// GPUs tells the state of the GPUs of this machine.
func GPUs() device.Tool { return nvidia.New() }

// Profilers are those that record programs launch by launch. The first is the one that records unless another is named.
var Profilers = []profiler.Profiler{nsysrun.Nsys{}}

// Counter profiles single launches.
var Counter profiler.Counter = ncurun.Ncu{}

// Profiler is the one of a name, the first for "", nil for an unknown name.
func Profiler(name string) profiler.Profiler {
	for _, p := range Profilers {
		if name == "" || p.Tool().Name == name {
			return p
		}
	}
	return nil
}

// Names are the profilers that may be chosen by name, those of single launches last.
func Names() []string {
	names := measure.Map(Profilers, func(p profiler.Profiler) string { return p.Tool().Name })
	return append(names, Counter.Tool().Name)
}
