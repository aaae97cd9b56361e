package history_test

import (
	"testing"

	"github.com/nsgate/nsgate/gate/internal/history"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// Ends that do not differ are told with the number of runs that would tell what they seem to differ by.
func TestUnproven(t *testing.T) {
	finding := func(metric string, change, noise, mde float64) *result.Finding {
		return &result.Finding{Metric: metric, Change: result.Number(change), Low: result.Number(change - noise),
			High: result.Number(change + noise), MDE: result.Number(mde)}
	}
	for _, tt := range []struct {
		name     string
		findings []*result.Finding
		nearest  int // of findings, -1 for none
		runs     int
	}{
		{"nothing", nil, -1, 0},
		{"four times the runs halve what is seen", []*result.Finding{finding("gpu_time", 0.01, 0.015, 0.02)}, 0, 20},
		{"that which is slowest", []*result.Finding{finding("gpu_time", 0.001, 0.02, 0.02),
			finding("step_time", 0.01, 0.02, 0.03)}, 1, 45},
		{"less output is worse", []*result.Finding{finding("rate", -0.01, 0.015, 0.02)}, 0, 20},
		{"more output is not", []*result.Finding{finding("rate", 0.01, 0.015, 0.02)}, 0, 0},
		{"faster", []*result.Finding{finding("gpu_time", -0.01, 0.015, 0.02)}, 0, 0},
		{"told already", []*result.Finding{finding("gpu_time", 0.01, 0.002, 0.003)}, 0, 0},
		{"one more at least", []*result.Finding{finding("gpu_time", 0.01, 0.011, 0.009)}, 0, 6},
		{"hopeless", []*result.Finding{finding("gpu_time", 1e-12, 0.1, 0.2)}, 0, 1e9},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := &history.Bisection{Ends: &result.Report{Base: result.Side{Runs: 5}, Head: result.Side{Runs: 6}}}
			b.Unproven(tt.findings)
			if b.RunsNeeded != tt.runs {
				t.Errorf("%d runs, want %d", b.RunsNeeded, tt.runs)
			}
			if (b.Nearest == nil) != (tt.nearest < 0) || b.Nearest != nil && b.Nearest != tt.findings[tt.nearest] {
				t.Errorf("nearest is %+v", b.Nearest)
			}
		})
	}
}
