package app

import (
	"context"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/proc"
	"github.com/nsgate/nsgate/gate/internal/run/doctor"
	"github.com/nsgate/nsgate/gate/internal/run/host"
	"github.com/nsgate/nsgate/gate/internal/run/tools"
)

// Examine looks at what measuring here takes: the profilers, the GPUs, the host, the room for reports. exe is the
// executable of the usual profiler, "" for that on the PATH. models are those of the GPUs, as in baselines.
func Examine(ctx context.Context, exe string) (seen doctor.Observations, models []string) {
	for _, p := range tools.Profilers {
		seen = append(seen, p.Examine(ctx, exe)...)
		exe = ""
	}
	seen = append(seen, tools.Counter.Examine(ctx)...)
	gpus, about := tools.GPUs().Examine(ctx)
	for _, g := range gpus {
		models = measure.Once(models, g.Name)
	}
	seen = append(seen, about...)
	examineHost(host.Here(), &seen)
	examineRoom(os.TempDir(), &seen)
	return seen, models
}

// examineHost says what the CPUs are, how many of them the control group allows, and what else uses them now.
func examineHost(h host.Host, seen *doctor.Observations) {
	name, sockets := h.CPU()
	if name != "" {
		if sockets > 1 {
			name = fmt.Sprintf("%s, %d sockets", name, sockets)
		}
		seen.Add(doctor.Good, "CPU", name)
	}
	before := h.Count()
	time.Sleep(300 * time.Millisecond)
	load := h.Count().Since(before)
	if limit := h.Limit(); limit > 0 {
		seen.Add(doctor.Note, "CPU limit", fmt.Sprintf("the control group allows %.4g CPUs (cpu.max): "+
			"a program that needs more is held back, which is host time that does not compare", limit))
	}
	switch {
	case load.Throttled > 0:
		seen.Add(doctor.Note, "CPU load", "this control group is at its CPU limit now: wait, or give it more CPUs")
	case load.Steal >= 0.01:
		seen.Add(doctor.Note, "CPU load", fmt.Sprintf("the hypervisor takes %.0f %% of the CPU time: "+
			"steps that wait for the CPU do not compare", 100*load.Steal))
	case load.Foreign >= 1:
		seen.Add(doctor.Note, "CPU load", fmt.Sprintf("other processes use %.1f CPUs: "+
			"steps that wait for the CPU get slower; measure on a quiet host", load.Foreign))
	default:
		seen.Add(doctor.Good, "CPU load", "quiet")
	}
}

// The free disk space in bytes for a session: tens of megabytes for a short workload, a gigabyte for a long one.
const (
	minRoom  = 200 << 20
	goodRoom = 2 << 30
)

// examineRoom looks at the free space of a directory for reports.
func examineRoom(dir string, seen *doctor.Observations) {
	probe, err := os.MkdirTemp(dir, "nsgate-")
	if err != nil {
		seen.Add(doctor.Bad, "TMPDIR", "cannot be written to: set TMPDIR to a local directory of your own")
		return
	}
	os.Remove(probe)
	free := proc.Room(dir)
	detail := measure.Quantity(measure.Round(float64(free)), "B") + " free"
	switch {
	case free == math.MaxInt64:
		seen.Add(doctor.Note, "TMPDIR", "can be written to; its free space is unknown")
	case free < minRoom:
		seen.Add(doctor.Bad, "TMPDIR", detail+": too little for a report; clean up, or set TMPDIR to a larger disk")
	case free < goodRoom:
		seen.Add(doctor.Note, "TMPDIR", detail+": enough for short workloads")
	default:
		seen.Add(doctor.Good, "TMPDIR", detail)
	}
}
