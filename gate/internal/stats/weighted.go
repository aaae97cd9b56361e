package stats

import (
	"math"
	"slices"
)

// WeightedMedian is the least value at which the values up to it have half of the weight. NaN for no weight.
func WeightedMedian(x, weights []float64) float64 {
	type weighed struct{ x, w float64 }
	all, total := make([]weighed, 0, len(x)), 0.0
	for i, w := range weights {
		if w > 0 {
			all = append(all, weighed{x[i], w})
			total += w
		}
	}
	slices.SortFunc(all, func(a, b weighed) int {
		switch {
		case a.x < b.x:
			return -1
		case a.x > b.x:
			return 1
		}
		return 0
	})
	sum := 0.0
	for _, v := range all {
		if sum += v.w; 2*sum >= total {
			return v.x
		}
	}
	return math.NaN()
}

// Capped are weights of which none has more than a part of their sum.
func Capped(weights []float64, most float64) []float64 {
	out := slices.Clone(weights)
	for range 20 {
		total := 0.0
		for _, w := range out {
			total += w
		}
		for i, w := range out {
			out[i] = math.Min(w, most*total)
		}
	}
	return out
}

// Effective is the number of equal weights that are worth as much as these (Kish 1965): (Σw)² / Σw². 0 for no weight.
func Effective(weights []float64) float64 {
	total, squares := 0.0, 0.0
	for _, w := range weights {
		total += w
		squares += w * w
	}
	if squares == 0 {
		return 0
	}
	return total * total / squares
}
