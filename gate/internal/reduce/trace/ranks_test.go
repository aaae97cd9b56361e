package trace

import (
	"testing"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

func TestRanks(t *testing.T) {
	at := func(source string, device int32, start, end int64) *cut {
		c := &cut{Trace: &model.Trace{Source: source, Environment: model.Environment{GPUs: 1},
			Launches: []model.Launch{{Start: start, End: start + 1, Device: device},
				{Start: end - 1, End: end, Device: device}}}}
		c.look(NoStep)
		return c
	}
	for _, tt := range []struct {
		name               string
		cuts               []*cut
		processes, devices int // of the first
	}{
		{"alone", []*cut{at("a", 0, 0, 10)}, 1, 1},
		{"one after the other", []*cut{at("a", 0, 0, 10), at("a", 0, 10, 20), at("a", 0, 30, 40)}, 1, 1},
		{"two ranks on two devices", []*cut{at("a", 0, 0, 10), at("a", 1, 2, 12), at("a", 0, 20, 30),
			at("a", 1, 21, 29)}, 2, 2},
		{"two ranks on one device", []*cut{at("a", 0, 0, 10), at("a", 0, 2, 12)}, 2, 1},
		{"processes that overlap for a short time", []*cut{at("a", 0, 0, 10), at("a", 0, 8, 18), at("a", 0, 16, 26)}, 1,
			1},
		{"two files", []*cut{at("a", 0, 0, 10), at("b", 1, 0, 10)}, 1, 1},
	} {
		all, err := jobs(tt.cuts)
		if err != nil || len(all[0].ranks) != tt.processes || all[0].devices() != tt.devices {
			t.Errorf("%s: %+v (%v), want %d processes on %d devices", tt.name, all, err, tt.processes, tt.devices)
		}
	}
}

func TestCopiesAreNoRuns(t *testing.T) {
	trace := func(source string, start int64) model.Trace {
		return model.Trace{Source: source,
			Kernels: []model.KernelInfo{{Subject: measure.Subject{Scope: measure.ScopeKernel, Name: "k"}}},
			Launches: []model.Launch{{Start: start, End: start + 10, Range: -1},
				{Start: start + 20, End: start + 35, Range: -1}}}
	}
	if _, err := Sessions([]model.Trace{trace("a", 0), trace("b", 5)}, Options{}); err != nil {
		t.Error(err)
	}
	_, err := Sessions([]model.Trace{trace("a", 0), trace("b", 5), trace("c", 0)}, Options{})
	if want := "a and c are the same recording, which is one run and not two; remove the copy"; err == nil ||
		err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
