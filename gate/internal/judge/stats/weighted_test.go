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
}
