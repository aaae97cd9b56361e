// Package device watches the GPUs of this machine before, during and after a measurement. A [Tool] of their vendor
// tells how they are.
package device

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/run/doctor"
	"github.com/nsgate/nsgate/gate/internal/run/host"
)

// ErrNone is the error of a machine that certainly has no GPU.
var ErrNone = errors.New("no GPU")

// Tool is a vendor's program that tells the state of its GPUs.
type Tool interface {
	// GPUs are those of this machine, at least one without an error. An error may be [ErrNone].
	GPUs(context.Context) ([]GPU, error)
	// Visible lists the GPUs that a program which is started here can use, all of them in case of doubt. first is true
	// where a program that takes one by itself takes the first of them, or one of its model.
	Visible([]GPU) (gpus []GPU, first bool)
	// Processes are those that compute on the GPUs.
	Processes(context.Context) ([]Process, error)
	// Hardware describes each GPU by its UUID, without its host; GPUs without an answer are left out.
	Hardware(context.Context) map[string]model.Hardware
	// File is the file that a program opens before it computes on a GPU, and holds open, "" where unknown.
	File() string
	// Examine looks at the GPUs of this machine, and at what keeps programs from measuring on them.
	Examine(context.Context) ([]GPU, doctor.Observations)
}

// GPU is the state of a device. A number that its tool does not give is NaN.
type GPU struct {
	Index  int
	UUID   string // identifies a machine: not for files or terminals
	Name   string
	Driver string
	// ClockMHz and MaxClockMHz are the current and the highest SM clock.
	ClockMHz, MaxClockMHz float64
	Utilization           float64 // part of the last sampling interval with a running kernel, in percent
	Throttle              Throttle
	MIG                   bool
	PState                string         // performance state, "P0" is the fastest
	Hardware              model.Hardware // of a session's GPUs, without the CPU
}

// Process has a compute context on a GPU. Its pid may be of another pid namespace.
type Process struct {
	Pid  int
	UUID string // of the GPU, "" where any may be meant
	Name string // of the program's file, without its directory; "" where another container hides it
}

func (p Process) String() string {
	if p.Name == "" {
		return fmt.Sprintf("pid %d", p.Pid)
	}
	return fmt.Sprintf("%s, pid %d", p.Name, p.Pid)
}

// Throttle is a set of reasons for lower clocks.
type Throttle uint64

// Locked is the reason of clocks that somebody has locked or set for applications.
const Locked Throttle = 0x2

// The reasons that slow a workload down. The others (idle, application clocks, sync boost) are choices.
const (
	PowerCap        Throttle = 0x4
	HardwareSlow    Throttle = 0x8
	SoftwareThermal Throttle = 0x20
	HardwareThermal Throttle = 0x40
	PowerBrake      Throttle = 0x80
)

var throttleNames = []struct {
	bit  Throttle
	name string
}{
	{PowerCap, "the power limit"}, {HardwareSlow, "a hardware slowdown"},
	{SoftwareThermal, "its temperature (software)"},
	{HardwareThermal, "its temperature (hardware)"}, {PowerBrake, "the power brake"},
}

// Slows names what slows the GPU down, "" for nothing.
func (t Throttle) Slows() string {
	var names []string
	for _, n := range throttleNames {
		if t&n.bit != 0 {
			names = append(names, n.name)
		}
	}
	return strings.Join(names, ", ")
}

// Hardware sums up the GPUs of a session and the machine around them.
func Hardware(gpus []GPU) model.Hardware {
	var h model.Hardware
	var boards, versions, cuts []string
	for i, g := range gpus {
		boards, versions, cuts = append(boards, g.Hardware.Board), append(versions, g.Hardware.VBIOS),
			append(cuts, g.Hardware.MIG)
		if i == 0 {
			h.MemoryMHz, h.PowerW = g.Hardware.MemoryMHz, g.Hardware.PowerW
		}
		if h.MemoryMHz != g.Hardware.MemoryMHz {
			h.MemoryMHz = 0
		}
		if h.PowerW != g.Hardware.PowerW {
			h.PowerW = 0
		}
	}
	h.Board, h.VBIOS, h.MIG = all(boards), all(versions), all(cuts)
	h.CPU, h.Sockets = host.Here().CPU()
	h.CPULimit = host.Here().Limit()
	return h
}

// all joins the names of all GPUs, "" if one is unknown.
func all(names []string) string {
	return measure.Either(slices.Contains(names, ""), "", model.Models(names))
}

// State is the GPUs during a session.
type State struct {
	// GPUs are the devices of the workload as they were before the runs; empty where no tool tells.
	GPUs []GPU
	// ClockMHz is the median SM clock while runs were going on, 0 where it was not sampled.
	ClockMHz int
	// Samples is how often each device was looked at during the runs.
	Samples int
	// Slowdowns are the reasons for lower clocks during the runs.
	Slowdowns []Slowdown
}

// Slowdown is a reason for lower clocks in some of the samples.
type Slowdown struct {
	By          Throttle
	Samples, Of int
}

// String is the warning.
func (h Slowdown) String() string {
	return fmt.Sprintf("the GPU was held back by %s in %d of %d samples during the runs", h.By.Slows(), h.Samples, h.Of)
}

// Unsound reports whether the GPU was too hot or short of power, so that its noise says nothing. A power limit is
// normal on some machines.
func (h Slowdown) Unsound() bool { return h.By != PowerCap }
