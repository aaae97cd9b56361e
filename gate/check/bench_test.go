package check

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/nsgate/nsgate/gate"
	"github.com/nsgate/nsgate/gate/internal/baseline"
	"github.com/nsgate/nsgate/gate/measure"
	"github.com/nsgate/nsgate/thresholds"
)

// BenchmarkCompare compares two saved sessions of many kernels and ten runs.
func BenchmarkCompare(b *testing.B) {
	for _, kernels := range []int{20, 200, 2000} {
		b.Run(fmt.Sprint(kernels, " kernels"), func(b *testing.B) {
			random := rand.New(rand.NewPCG(1, 2))
			var dirs [2]string
			for i := range dirs {
				dirs[i] = filepath.Join(b.TempDir(), fmt.Sprint(i))
				_, err := baseline.Add(dirs[i], func(*baseline.Baseline) ([]baseline.Entry, error) {
					return []baseline.Entry{{Session: session(random, kernels, time.Unix(1e9+int64(i)*3600, 0).UTC())}}, nil
				})
				if err != nil {
					b.Fatal(err)
				}
			}
			c := Compare{Base: dirs[0], Head: dirs[1], Policy: thresholds.Default()}
			for b.Loop() {
				if r, err := c.Run(b.Context()); err != nil || r.Verdict == gate.NoVerdict {
					b.Fatal(r, err)
				}
			}
		})
	}
}

// session is one of ten runs, whose kernels scatter by 0.2 %.
func session(random *rand.Rand, kernels int, start time.Time) measure.Session {
	const runs = 10
	s := measure.Session{Environment: measure.Environment{GPU: "NVIDIA H200", Tool: "nsys 2025.3.2", Tick: 32, Start: start, GPUHash: "01234567"}, Step: "step"}
	for i := range runs {
		s.Runs = append(s.Runs, measure.Run{Total: 60, Skipped: 6, Launches: kernels, Steady: true, Start: start.Add(time.Duration(i) * time.Second)})
	}
	whole := make(measure.Values, runs)
	for k := range kernels {
		subject := measure.Subject{Scope: measure.ScopeKernel, Name: fmt.Sprintf("void ns::apply<ns::Op%d<float>>(int, float *)", k),
			Grid: measure.Dim3{X: 64, Y: 1, Z: 1}, Block: measure.Dim3{X: 128, Y: 1, Z: 1}}
		series := []measure.Series{{Metric: measure.Time}, {Metric: measure.Total}, {Metric: measure.Launches}}
		for i := range runs {
			v := math.Round((5000+100*float64(k%97))*(1+0.002*random.NormFloat64())*1000) / 1000
			for j, value := range []float64{v, 2 * v, 2} {
				series[j].Values = append(series[j].Values, value)
			}
			whole[i] += 2 * v
		}
		for _, x := range series {
			x.Subject, x.Role = subject, fmt.Sprintf("step/layer %d", k%12)
			s.Series = append(s.Series, x)
		}
	}
	s.Series = append(s.Series, measure.Series{Subject: measure.Workload, Metric: measure.GPUTime, Values: whole})
	s.SortSeries()
	return s
}
