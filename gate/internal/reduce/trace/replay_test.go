package trace

import (
	"math"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// ahead is a looping run whose host issues a kernel every 3 µs, so that the GPU, 12 µs a kernel, never waits for it.
func ahead(n int) model.Trace {
	t := looping("", "aabbc", n, 0)
	t.Calls = model.Calls{}
	for i := range t.Launches {
		api := 1000 + 3000*int64(i)
		t.Launches[i].API = api
		t.Calls.Add(model.Call{Start: api, End: api + 1000})
	}
	t.Calls.Settle(nil)
	return t
}

// A step that waits for the host depends on its speed as a whole, one that does not does not; both are replayed
// exactly.
func TestSensitivity(t *testing.T) {
	overlapping := ahead(40)
	for i := range overlapping.Launches[:100] {
		overlapping.Calls.Add(model.Call{Start: overlapping.Launches[i].API + 500,
			End: overlapping.Launches[i].API + 1500, Thread: 1})
	}
	overlapping.Calls.Settle(nil)
	for _, tt := range []struct {
		name  string
		trace model.Trace
		want  float64 // NaN where it is not replayed
	}{
		{"the host is late", looping("", "aabbc", 40, 30_000), 1},
		{"the host is ahead", ahead(40), 0},
		{"calls of two threads overlap", overlapping, math.NaN()},
		{"too few steps", looping("", "aabbc", 6, 30_000), math.NaN()},
	} {
		s := one(t, Options{Step: NoStep, Warmup: "0"}, tt.trace)
		of := func(m measure.Metric) float64 {
			if x, ok := s.Find(measure.Workload, m.Name); ok {
				return x.Values[0]
			}
			return math.NaN()
		}
		got, off := of(measure.Sensitivity), of(measure.ReplayError)
		if math.IsNaN(tt.want) != math.IsNaN(got) || math.Abs(got-tt.want) > 0.02 || off > 0.001 {
			t.Errorf("%s: sensitivity %v, want %v, with an error of %v", tt.name, got, tt.want, off)
		}
	}
}
