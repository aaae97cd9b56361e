package stats

import (
	"math"
	"slices"
)

// Average is the mean of the known values of all sessions.
func Average(sessions [][]float64) float64 { return Mean(Pooled(sessions)) }

// Mean is the mean of values, NaN of none.
func Mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// Pooled are the values that are known, of all sessions.
func Pooled(sessions [][]float64) []float64 {
	n := 0
	for _, s := range sessions {
		n += len(s)
	}
	out := make([]float64, 0, n)
	for _, s := range sessions {
		for _, v := range s {
			if !math.IsNaN(v) {
				out = append(out, v)
			}
		}
	}
	return out
}

// Known leaves out the runs that have no value.
func Known(values []float64) []float64 {
	return slices.DeleteFunc(slices.Clone(values), math.IsNaN)
}

// Transform applies a function to every value.
func Transform(sessions [][]float64, f func(float64) float64) [][]float64 {
	out := make([][]float64, len(sessions))
	for i, s := range sessions {
		out[i] = make([]float64, len(s))
		for j, v := range s {
			out[i][j] = f(v)
		}
	}
	return out
}
