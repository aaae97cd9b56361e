package stats

import (
	"math"

	"gonum.org/v1/gonum/stat"
)

// WeightedMedian is the least value at which the values up to it have half of the weight. NaN for no weight.
func WeightedMedian(x, weights []float64) float64 {
	var values, positive []float64
	for i, w := range weights {
		if w > 0 {
			values, positive = append(values, x[i]), append(positive, w)
		}
	}
	if len(values) == 0 {
		return math.NaN()
	}
	stat.SortWeighted(values, positive)
	return stat.Quantile(0.5, stat.Empirical, values, positive)
}
