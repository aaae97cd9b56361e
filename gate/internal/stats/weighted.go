package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
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

// Capped are weights of which none has more than a part of their sum.
func Capped(weights []float64, most float64) []float64 {
	out := slices.Clone(weights)
	for range 20 {
		total := floats.Sum(out)
		for i, w := range out {
			out[i] = math.Min(w, most*total)
		}
	}
	return out
}

// Effective is the number of equal weights that are worth as much as these (Kish 1965): (Σw)² / Σw². 0 for no weight.
func Effective(weights []float64) float64 {
	squares := floats.Dot(weights, weights)
	if squares == 0 {
		return 0
	}
	return math.Pow(floats.Sum(weights), 2) / squares
}
