//go:build linux

package device

import (
	"os"
	"testing"
	"time"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/proc"
)

func TestHardware(t *testing.T) {
	one := GPU{Hardware: model.Hardware{Board: "692-2G520-0282-001", VBIOS: "96.00.A5.00.1A", MemoryMHz: 3201,
		PowerW: 700}}
	two := one
	two.Hardware.Board, two.Hardware.PowerW = "692-2G520-0282-000", 500
	for name, c := range map[string]struct {
		gpus []GPU
		want model.Hardware
	}{
		"none":  {nil, model.Hardware{}},
		"alike": {[]GPU{one, one}, one.Hardware},
		"unlike": {[]GPU{one, two}, model.Hardware{Board: "692-2G520-0282-000 + 692-2G520-0282-001",
			VBIOS: "96.00.A5.00.1A", MemoryMHz: 3201}},
		"unknown": {[]GPU{one, {}}, model.Hardware{}},
	} {
		got := Hardware(c.gpus)
		got.CPU, got.Sockets, got.CPULimit = "", 0, 0
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func TestForeign(t *testing.T) {
	w := Watch(nil, time.Now, false, false)
	w.there[7] = true
	self := ProgramName(proc.CommandName(os.Getpid()))
	tests := []struct {
		process Process
		ours    []int
		want    bool
	}{
		{Process{Pid: 7}, nil, true},                       // there before
		{Process{Pid: os.Getpid(), Name: self}, nil, true}, // seen here, and none of ours
		{Process{Pid: os.Getpid(), Name: self}, []int{os.Getpid()}, false},
		{Process{Pid: os.Getpid(), Name: "python3"}, nil, false}, // another namespace's pid
		{Process{Pid: os.Getpid()}, nil, false},                  // nvidia-smi cannot name it
		{Process{Pid: 1 << 22, Name: self}, nil, false},          // not here
	}
	for _, tt := range tests {
		if got := w.foreign(tt.process, tt.ours); got != tt.want {
			t.Errorf("%+v of ours %v: foreign is %v", tt.process, tt.ours, got)
		}
	}
}
