package trace

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// An unprofiled run belongs to its session, behind the profiled runs, and its missing metrics are NaN.
func TestAddUntraced(t *testing.T) {
	start := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	nan := math.NaN()
	session := func(at time.Time) model.Session {
		return model.Session{
			Environment: model.Environment{Start: at}, Runs: []model.Run{{Steady: true, Total: 60}},
			Series: []model.Series{{Subject: measure.Workload, Metric: measure.GPUTime, Values: model.Values{5}}},
		}
	}
	sessions := []model.Session{session(start), session(start.Add(2 * time.Hour))}
	rate, cost := measure.Output{Name: "tokens/s", Better: measure.Higher},
		measure.Output{Name: "loss", Better: measure.Lower}
	AddUnprofiled(sessions, []model.Unprofiled{
		{Start: start.Add(time.Second), Wall: 3 * time.Second, Outputs: []float64{10, 1}},
		{Start: start.Add(2 * time.Hour), Wall: 4 * time.Second, Outputs: []float64{12, 3}},
		{Start: start.Add(time.Minute), Wall: 2 * time.Second, Outputs: []float64{11, 2}},
		{Start: start.Add(2 * time.Minute), Wall: 9 * time.Second, Overlapped: true, Outputs: []float64{13, 4}},
	}, []measure.Output{rate, cost})

	for i, want := range []map[string]model.Values{
		{"gpu_time": {5, nan, nan, nan}, "wall_time": {nan, 3e9, 2e9, nan}, "rate": {nan, 10, 11, 13},
			"cost": {nan, 1, 2, 4}},
		{"gpu_time": {5, nan}, "wall_time": {nan, 4e9}, "rate": {nan, 12}, "cost": {nan, 3}},
	} {
		s := &sessions[i]
		if err := s.Check(); err != nil || s.Profiled() != 1 {
			t.Errorf("session %d: %v, %d traced runs", i, err, s.Profiled())
		}
		got := map[string]model.Values{}
		for _, x := range s.Series {
			got[x.Metric.Name] = x.Values
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("session %d (-want +got):\n%s", i, diff)
		}
	}
}
