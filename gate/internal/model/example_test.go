package model_test

import (
	"fmt"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// A session of three runs with one measured kernel, from any tool.
func Example() {
	saxpy := measure.Subject{Scope: measure.ScopeKernel, Name: measure.NormalizeName("_Z5saxpymfPKfPf"),
		Grid: measure.Dim3{X: 1056, Y: 1, Z: 1}, Block: measure.Dim3{X: 256, Y: 1, Z: 1}}
	s := model.Session{
		Environment: model.Environment{GPU: "NVIDIA H200", GPUs: 1, Tool: "stopwatch 1.0", Tick: 32},
		Runs:        make([]model.Run, 3),
		Series: []model.Series{
			{Subject: saxpy, Metric: measure.Time, Values: model.Values{47264, 47328, 47296}},
			{Subject: measure.Workload, Metric: measure.GPUTime, Values: model.Values{402016, 401024, 401440}},
		},
	}
	s.SortSeries()
	if err := s.Check(); err != nil {
		fmt.Println(err)
		return
	}
	for _, x := range s.Series {
		fmt.Println(x.Subject.Short(), x.Metric.Title(), measure.Quantity(x.Values[0], x.Metric.Unit))
	}
	// Output:
	// workload GPU time 402.0 µs
	// saxpy time 47.26 µs
}
