package gate_test

import (
	"testing"

	"github.com/nsgate/nsgate/gate/internal/decide"
)

// Ends that do not differ are told with the number of runs that would tell what they seem to differ by.
func TestUnproven(t *testing.T) {
	finding := func(metric string, change, noise, mde float64) *decide.Finding {
		return &decide.Finding{Metric: metric, Change: decide.Number(change), Low: decide.Number(change - noise), High: decide.Number(change + noise), MDE: decide.Number(mde)}
	}
	for _, tt := range []struct {
		name     string
		findings []*decide.Finding
		nearest  int // of findings, -1 for none
		runs     int
	}{
		{"nothing", nil, -1, 0},
		{"four times the runs halve what is seen", []*decide.Finding{finding("gpu_time", 0.01, 0.015, 0.02)}, 0, 20},
		{"that which is slowest", []*decide.Finding{finding("gpu_time", 0.001, 0.02, 0.02), finding("step_time", 0.01, 0.02, 0.03)}, 1, 45},
		{"less output is worse", []*decide.Finding{finding("rate", -0.01, 0.015, 0.02)}, 0, 20},
		{"more output is not", []*decide.Finding{finding("rate", 0.01, 0.015, 0.02)}, 0, 0},
		{"faster", []*decide.Finding{finding("gpu_time", -0.01, 0.015, 0.02)}, 0, 0},
		{"told already", []*decide.Finding{finding("gpu_time", 0.01, 0.002, 0.003)}, 0, 0},
		{"one more at least", []*decide.Finding{finding("gpu_time", 0.01, 0.011, 0.009)}, 0, 6},
		{"hopeless", []*decide.Finding{finding("gpu_time", 1e-12, 0.1, 0.2)}, 0, 1e9},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := &decide.Bisection{Ends: &decide.Report{Base: decide.Side{Runs: 5}, Head: decide.Side{Runs: 6}}}
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
