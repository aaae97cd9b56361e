package insight

import (
	"math"
	"slices"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// TestInSomeRuns has the kernels of ncu that a run lacks, as rows of benchmark files: nothing else counts their
// launches. A kernel of nsys that a run lacks has fewer launches.
func TestInSomeRuns(t *testing.T) {
	for metric, want := range map[string][]string{measure.ReplayTime.Name: {"k"}, measure.Time.Name: nil} {
		m, _ := measure.MetricByName(metric)
		s := model.Session{Runs: make([]model.Run, 2), Series: []model.Series{
			{Subject: measure.Subject{Scope: measure.ScopeKernel, Name: "j"}, Metric: m, Values: []float64{1, 1}},
			{Subject: measure.Subject{Scope: measure.ScopeKernel, Name: "k"}, Metric: m,
				Values: []float64{1, math.NaN()}},
		}}
		if got := inSomeRuns([]model.Session{s}); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", metric, got, want)
		}
	}
}
