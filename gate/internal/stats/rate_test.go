package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Values drawn evenly lie as close together as often as is said, and some of them no more often than that.
func TestWithin(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, tt := range []struct {
		k, n int
		part float64
	}{{2, 2, 0.1}, {3, 3, 0.05}, {3, 3, 0.3}, {5, 5, 0.5}, {4, 5, 0.1}, {4, 5, 0.3}, {8, 10, 0.3}, {1, 1, 0.1}, {3, 3, 1}, {3, 3, math.NaN()}} {
		const draws = 20000
		close := 0
		for range draws {
			x := make([]float64, tt.n)
			for i := range x {
				x[i] = r.Float64()
			}
			slices.Sort(x)
			least := math.Inf(1)
			for i := range x[tt.k-1:] {
				least = math.Min(least, x[i+tt.k-1]-x[i])
			}
			if !(least > tt.part) {
				close++
			}
		}
		got, seen := Within(tt.k, tt.n, tt.part), float64(close)/draws
		sd := math.Sqrt(got*(1-got)/draws) + 1e-9
		if seen > got+4*sd || tt.k == tt.n && seen < got-4*sd {
			t.Errorf("Within(%d, %d, %v) = %v, of %d draws %v did", tt.k, tt.n, tt.part, got, draws, seen)
		}
	}
}
