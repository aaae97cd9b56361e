package decide_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/judge/calibrate"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// Forecasts of a calibration come true in gates. A slowdown of a kernel's MDE is found in about 80 % of cases, more
// often if a quarter larger, less often if smaller.
func TestForetoldMDE(t *testing.T) {
	t.Parallel()
	const calibrations = 3 // of ten runs each, of every host
	for _, c := range []struct {
		name  string
		hosts []host
		runs  int
	}{
		{"kernels, 3 runs", loadHosts(t, "kernels", "a", "b"), 3},
		{"kernels, 5 runs", loadHosts(t, "kernels", "a", "b"), 5},
		{"PyTorch, 3 runs", loadHosts(t, "transformer", "b"), 3},
	} {
		policy := thresholds.Default()
		policy.Rules = []thresholds.Rule{{Metric: "time"}, {Severity: thresholds.Ignore}}
		strict := *policy
		strict.Threshold = 0.0005 // the noise alone decides
		r := rand.New(rand.NewPCG(5, 7))
		foretold := map[*host][]map[measure.Subject]float64{}
		for i := range c.hosts {
			h := &c.hosts[i]
			for range calibrations {
				seen := draw{host: h, runs: r.Perm(len(h.session.Runs))[:10]}
				slices.Sort(seen.runs)
				mde := map[measure.Subject]float64{}
				for _, n := range calibrate.NoiseOf(seen.session(), policy.For(""), c.runs) {
					of := result.Finding{Scope: n.Scope, Name: n.Name, Grid: n.Grid, Block: n.Block}
					mde[of.Subject()] = float64(n.MDE)
				}
				foretold[h] = append(foretold[h], mde)
			}
		}
		found, gates := map[float64]int{}, sample(180)
		for range gates {
			h := &c.hosts[r.IntN(len(c.hosts))]
			order := r.Perm(len(h.session.Runs))
			base, head := draw{host: h, runs: order[:c.runs]}, draw{host: h, runs: order[c.runs : 2*c.runs]}
			kernels := heavy(h.session)
			head.kernel = kernels[r.IntN(len(kernels))]
			mde := foretold[h][r.IntN(calibrations)]
			for _, part := range []float64{0.75, 1, 1.25} {
				head.effect = part * mde[head.kernel]
				report := compareSides([]model.Session{base.session()}, []model.Session{head.session()}, &strict)
				if slices.ContainsFunc(report.Findings, func(f result.Finding) bool {
					return f.Subject() == head.kernel && f.Metric == measure.Time.Name && f.Outcome == result.Slower
				}) {
					found[part]++
				}
			}
		}
		t.Logf("%s: found %v of %d at 0.75, 1, 1.25 of the foretold MDE", c.name, found, gates)
		if found[0.75] > gates*70/100 || found[1] < gates*60/100 || found[1.25] < gates*85/100 {
			t.Errorf("%s: found %v of %d at 0.75, 1, 1.25 of the foretold MDE", c.name, found, gates)
		}
	}
}
