package decide_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// synthetic makes a session of n kernels whose noise between runs is known. Each kernel has its own spread, drawn
// around 0.2 %; tails are Student's t with three degrees of freedom where heavy; a host shifts each kernel by a normal
// amount.
type synthetic struct {
	kernels, runs int
	heavy         bool
	hostSD        float64
}

func (s synthetic) session(r *rand.Rand, times, spreads []float64, host string, slow int,
	effect float64) model.Session {
	p := program{runs: s.runs, host: host, start: noon, step: "step"}
	out := p.session()
	out.Series = nil
	whole := make(model.Values, s.runs)
	for k := range times {
		subject := measure.Subject{Scope: measure.ScopeKernel, Name: fmt.Sprint("k", k),
			Grid: measure.Dim3{X: 1, Y: 1, Z: 1}}
		shift := s.hostSD * r.NormFloat64()
		values, launches := make(model.Values, s.runs), make(model.Values, s.runs)
		for i := range values {
			z := r.NormFloat64()
			if s.heavy {
				var chi float64
				for range 3 {
					y := r.NormFloat64()
					chi += y * y
				}
				z /= math.Sqrt(chi / 3)
			}
			values[i] = times[k] * math.Exp(shift+spreads[k]*z)
			if k == slow {
				values[i] *= 1 + effect
			}
			launches[i] = 1
			whole[i] += values[i]
		}
		for _, x := range []struct {
			metric measure.Metric
			values model.Values
		}{{measure.Time, values}, {measure.Total, values}, {measure.Launches, launches}} {
			out.Series = append(out.Series, model.Series{Subject: subject, Metric: x.metric, Values: x.values})
		}
	}
	out.Series = append(out.Series, model.Series{Subject: measure.Workload, Metric: measure.GPUTime, Values: whole})
	out.SortSeries()
	return out
}

// gates counts false alarms of unchanged gates and what is found of an effect on the largest kernel.
func (s synthetic) gates(n int, threshold, effect float64) (alarms, undecided, found int) {
	r := rand.New(rand.NewPCG(41, 43))
	policy := thresholds.Default()
	policy.Threshold = threshold
	for range n {
		times, spreads := make([]float64, s.kernels), make([]float64, s.kernels)
		for k := range times {
			times[k] = 20000 * math.Exp(1.5*r.NormFloat64())
			spreads[k] = 0.002 * math.Exp(0.5*r.NormFloat64())
		}
		times[0] = 60000 * float64(s.kernels) // of weight in any program
		head := "GPU-a"
		if s.hostSD > 0 {
			head = "GPU-b"
		}
		base := []model.Session{s.session(r, times, spreads, "GPU-a", -1, 0)}
		same := compareSides(base, []model.Session{s.session(r, times, spreads, head, -1, 0)}, policy)
		if slices.ContainsFunc(same.Findings, func(f result.Finding) bool {
			return f.Outcome == result.Slower && !f.Increased()
		}) {
			alarms++
		}
		if same.Undecided {
			undecided++
		}
		slow := compareSides(base, []model.Session{s.session(r, times, spreads, head, 0, effect)}, policy)
		if f := find(slow, "k0", measure.Time.Name); f.Outcome == result.Slower {
			found++
		}
	}
	return alarms, undecided, found
}

// BenchmarkSweep prints false alarms and detection over programs of every size.
func BenchmarkSweep(b *testing.B) {
	for _, kernels := range []int{1, 6, 30, 200, 2000} {
		for _, runs := range []int{3, 5, 10, 20} {
			for _, shape := range []struct {
				name   string
				heavy  bool
				hostSD float64
			}{{"normal", false, 0}, {"heavy tails", true, 0}, {"another host", false, 0.005}} {
				b.Run(fmt.Sprintf("%d kernels/%d runs/%s", kernels, runs, shape.name), func(b *testing.B) {
					n := max(5, min(200, 4000/kernels))
					for b.Loop() {
						alarms, undecided, found := synthetic{kernels, runs, shape.heavy, shape.hostSD}.gates(n, 0.01,
							0.03)
						b.ReportMetric(0, "ns/op")
						b.ReportMetric(100*float64(alarms)/float64(n), "false-%")
						b.ReportMetric(100*float64(undecided)/float64(n), "undecided-%")
						b.ReportMetric(100*float64(found)/float64(n), "found+3%-%")
						b.ReportMetric(float64(n), "gates")
					}
				})
			}
		}
	}
}

// Made-up programs of several sizes, with and without heavy tails: hardly a false alarm, and what is large is found.
func TestSweep(t *testing.T) {
	t.Parallel()
	for _, s := range []synthetic{{1, 3, false, 0}, {6, 3, false, 0}, {30, 3, true, 0}, {30, 5, false, 0.005},
		{300, 5, true, 0}} {
		n := sample(min(200, 12000/s.kernels))
		alarms, _, found := s.gates(n, 0.01, 0.05)
		if alarms > 1 {
			t.Errorf("%+v: %d false alarms in %d gates", s, alarms, n)
		}
		if found < n*9/10 {
			t.Errorf("%+v: +5 %% found in %d of %d gates", s, found, n)
		}
	}
}
