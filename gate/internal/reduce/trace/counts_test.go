package trace

import (
	"testing"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/testdata/exporttest"
)

func TestCounts(t *testing.T) {
	trace := madeUp{steps: 40, warm: 5}.trace()
	trace.CallNames = []string{"cudaLaunchKernel", "cudaStreamSynchronize", "cudaMallocAsync", "cudaMemcpyAsync"}
	var calls []model.Call
	call := func(at int64, name int32) {
		calls = append(calls, model.Call{Start: at, End: at + 5, Name: name})
	}
	call(1, 1) // before the first step
	for _, r := range trace.Ranges {
		if r.Name == 0 { // a step
			call(r.Start, 0)
			call(r.Start+10, 1)
			call(r.Start+20, 2)
			call(r.Start+30, 3)
		}
	}
	trace.Calls = exporttest.Calls(calls...)
	s := one(t, Options{}, trace)
	value(t, s, measure.Workload, measure.SyncCalls, 1)
	value(t, s, measure.Workload, measure.Allocations, 1)
	value(t, s, measure.Workload, measure.SmallKernels, 0)
	value(t, s, measure.Workload, measure.PageableBytes, 4096)
	sync := measure.Subject{Scope: measure.ScopeCall, Name: "cudaStreamSynchronize"}
	value(t, s, sync, measure.SyncCalls, 1)
	if x, _ := s.Find(sync, measure.SyncCalls.Name); x.Role != "step" {
		t.Errorf("synchronises in %q", x.Role)
	}

	for i := range trace.Launches {
		if l := &trace.Launches[i]; l.Kernel == relu {
			l.End = l.Start + 9_000
		}
	}
	value(t, one(t, Options{}, trace), measure.Workload, measure.SmallKernels, 1)

	// Launches without a record count like calls: the first is of no step.
	trace.Lost = []int64{1}
	for _, r := range trace.Ranges {
		if r.Name == 0 {
			trace.Lost = append(trace.Lost, r.Start, r.Start+10)
		}
	}
	value(t, one(t, Options{}, trace), measure.Workload, measure.LostLaunches, 2)

	// A trace that does not list its calls has none of this.
	trace.Calls, trace.CallNames = model.Calls{}, nil
	s = one(t, Options{}, trace)
	if _, ok := s.Find(measure.Workload, measure.SyncCalls.Name); ok {
		t.Error("calls are counted where none were recorded")
	}
}
