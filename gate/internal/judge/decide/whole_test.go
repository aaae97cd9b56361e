package decide_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// TestWholeKernel wants one answer on the GPU time and on the kernel that makes it up, with one launch a run: small
// and quiet kernels beside it say nothing of its noise.
func TestWholeKernel(t *testing.T) {
	session := func(small int, noise, effect float64, seed uint64, start time.Time) model.Session {
		p := quiet()
		p.step, p.sd, p.seed, p.start = "", 0.001, seed, start
		p.kernels = []madeUp{{name: "lookup", time: 13.6e6, launches: 1}}
		for i := range small {
			p.kernels = append(p.kernels, madeUp{name: fmt.Sprint("small", i), time: 12e3, launches: 1})
		}
		s := p.session()
		r := rand.New(rand.NewPCG(seed, 3))
		for run := range p.runs {
			factor := (1 + effect) * math.Exp(noise*r.NormFloat64())
			for _, x := range s.Series {
				if x.Metric.Unit == "ns" && (x.Subject.Short() == "lookup" || x.Subject == measure.Workload) {
					x.Values[run] *= factor
				}
			}
		}
		return s
	}
	slower := 0
	for small := range 3 {
		for _, noise := range []float64{0.002, 0.02, 0.04} {
			for _, later := range []time.Duration{0, 24 * time.Hour} {
				for seed := range uint64(20) {
					base, head := session(small, noise, 0, 2*seed, noon),
						session(small, noise, 0.06, 2*seed+1, noon.Add(later))
					r := evaluate([]model.Session{base}, []model.Session{head}, thresholds.Default())
					whole, kernel := find(r, "workload", measure.GPUTime.Name), find(r, "lookup", measure.Time.Name)
					if whole.Outcome != kernel.Outcome {
						t.Errorf("%d small kernels, noise %g, %s later, draw %d: GPU time %s, its kernel %s (%s)",
							small, noise, later, seed, whole.Outcome, kernel.Outcome, kernel.Reason)
					}
					if whole.Outcome == result.Slower {
						slower++
					}
				}
			}
		}
	}
	if slower < 200 || slower > 340 {
		t.Errorf("%d of 360 slower", slower)
	}
}
