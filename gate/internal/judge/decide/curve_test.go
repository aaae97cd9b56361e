package decide_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// curveGates is the number of gates behind each cell.
const curveGates = 400

// BenchmarkOperatingCurve prints what share of gates fails for a true change of so many times the limit, in one of
// seven kernels that has 22 % of GPU time. Base and head are made up like recordings of one host: kernels differ
// between runs by 0.1 to 0.2 %.
//
//	go test -run=NONE -bench=OperatingCurve -benchtime=1x ./gate/internal/judge/decide
func BenchmarkOperatingCurve(b *testing.B) {
	changes := []float64{0, 0.25, 0.5, 0.75, 0.9, 1, 1.1, 1.25, 1.5, 2}
	for _, limit := range []float64{0.01, 0.03} {
		for _, runs := range []int{3, 5, 10} {
			b.Run(fmt.Sprintf("limit %g %%/%d runs", 100*limit, runs), func(b *testing.B) {
				for b.Loop() {
					b.ReportMetric(0, "ns/op")
					for _, c := range changes {
						failed, open := curve(limit, runs, c*limit)
						b.ReportMetric(100*float64(failed)/curveGates, fmt.Sprintf("failed-%%@%.2f", c))
						b.ReportMetric(100*float64(open)/curveGates, fmt.Sprintf("undecided-%%@%.2f", c))
					}
				}
			})
		}
	}
}

// curve counts the gates that fail and those that are undecided.
func curve(limit float64, runs int, change float64) (failed, undecided int) {
	r := rand.New(rand.NewPCG(19, 23))
	policy := thresholds.Default()
	policy.Threshold = limit
	s := synthetic{kernels: 7, runs: runs}
	times := []float64{88000, 150000, 70000, 40000, 30000, 15000, 7000}
	for range curveGates {
		spreads := make([]float64, len(times))
		for k := range spreads {
			spreads[k] = 0.001 * math.Exp2(r.Float64())
		}
		base := s.session(r, times, spreads, "GPU-a", -1, 0)
		head := s.session(r, times, spreads, "GPU-a", 0, change)
		report := compareSides([]model.Session{base}, []model.Session{head}, policy)
		if report.Verdict == result.Fail {
			failed++
		}
		if report.Undecided {
			undecided++
		}
	}
	return failed, undecided
}
