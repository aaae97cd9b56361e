package stats

import (
	"math"
	"testing"
)

func TestWeighted(t *testing.T) {
	if got := WeightedMedian([]float64{3, 1, 2, 9}, []float64{1, 1, 1, 0}); got != 2 {
		t.Errorf("median %v, want 2", got)
	}
	if got := WeightedMedian([]float64{3, 1, 2}, []float64{10, 1, 1}); got != 3 {
		t.Errorf("median %v, want 3", got)
	}
	if got := WeightedMedian([]float64{3}, []float64{0}); !math.IsNaN(got) {
		t.Errorf("median of no weight %v", got)
	}
	weights := make([]float64, 40)
	for i := range weights {
		weights[i] = 1
	}
	weights[0] = 1000
	capped := Capped(weights, 0.05)
	if total := 39 + capped[0]; math.Abs(capped[0]/total-0.05) > 0.001 || capped[1] != 1 {
		t.Errorf("capped to %v of %v", capped[0], total)
	}
	if n := Effective(capped); n < 38 || n > 40 {
		t.Errorf("%v effective weights", n)
	}
	if n := Effective(nil); n != 0 {
		t.Errorf("%v effective weights of none", n)
	}
}
