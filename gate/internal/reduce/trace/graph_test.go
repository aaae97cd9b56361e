package trace

import (
	"testing"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// graphs is a run that launches two graphs and a kernel in each of 20 steps, of 6, 170 and 10 µs, after a graph of the
// start-up. The numbers of the graphs begin with first, and increase with every step where they are instantiated anew.
func graphs(first int32, anew bool) model.Trace {
	t := model.Trace{Environment: model.Environment{GPUs: 1, Tick: 32}}
	known := map[int32]int32{}
	now := int64(1000)
	add := func(graph int32, length int64) {
		k, ok := known[graph]
		if !ok {
			k = int32(len(t.Kernels))
			name := "(CUDA graph)"
			if graph == 0 {
				name = "add"
			}
			subject := measure.Subject{Scope: measure.ScopeKernel, Name: name}
			known[graph], t.Kernels = k, append(t.Kernels, model.KernelInfo{Subject: subject, Graph: graph})
		}
		t.Launches = append(t.Launches, model.Launch{Kernel: k, API: now, Start: now, End: now + length, Range: -1})
		now += length + 1000
	}
	add(first, 50_000)
	for i := range int32(20) {
		a := first + 1
		if anew {
			a += 2 * i
		}
		add(a, 6_000)
		add(a+1, 170_000)
		add(0, 10_000)
	}
	return t
}

// Graphs that were recorded as a whole are told apart by their place in the step, whatever their numbers.
func TestGraphs(t *testing.T) {
	for _, tt := range []struct {
		name string
		runs []model.Trace
	}{
		{"the same numbers", []model.Trace{graphs(1, false), graphs(1, false)}},
		{"other numbers", []model.Trace{graphs(1, false), graphs(7, false)}},
		{"instantiated for each step", []model.Trace{graphs(1, true), graphs(4, true)}},
		{"instantiated for each step of one run", []model.Trace{graphs(1, false), graphs(4, true)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.runs[0].Source, tt.runs[1].Source = "a", "b"
			tt.runs[1].Launches[0].Stream = 1 // no copy of the other
			s := one(t, Options{}, tt.runs...)
			for name, ns := range map[string]float64{"(CUDA graph)": 6_000, "(CUDA graph 2)": 170_000, "add": 10_000} {
				subject := measure.Subject{Scope: measure.ScopeKernel, Name: name}
				value(t, s, subject, measure.Time, ns)
				value(t, s, subject, measure.Launches, 20)
				value(t, s, subject, measure.Owned, ns)
			}
		})
	}
}
