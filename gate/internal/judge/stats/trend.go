package stats

import "math"

// Trend looks for a steady rise or fall over equally spaced values. change is by how much they move from the first to
// the last: the median slope of all pairs (Theil 1950; Sen 1968) times the distance. p is the two-sided p-value of
// Kendall's S against the order (Mann 1945), exact for values that all differ, too large where some are equal. Fewer
// than two values have no trend: change 0, p 1.
func Trend(x []float64) (change, p float64) {
	n := len(x)
	if n < 2 {
		return 0, 1
	}
	var slopes []float64
	s := 0
	for i := range x {
		for j := i + 1; j < n; j++ {
			d := x[j] - x[i]
			slopes = append(slopes, d/float64(j-i))
			switch {
			case d > 0:
				s++
			case d < 0:
				s--
			}
		}
	}
	change = Median(slopes) * float64(n-1)
	// chance[k]: the probability of k inversions in a random order of the first i values (Knuth 1998, section 5.1.1).
	// |S| is beyond s where at most (pairs-|s|)/2 pairs are inverted, or as few are not.
	pairs := n * (n - 1) / 2
	chance := []float64{1}
	for i := 2; i <= n; i++ {
		next := make([]float64, len(chance)+i-1)
		window := 0.0
		for k := range next {
			if k < len(chance) {
				window += chance[k]
			}
			if k >= i {
				window -= chance[k-i]
			}
			next[k] = window / float64(i)
		}
		chance = next
	}
	for k := 0; k <= (pairs-max(s, -s))/2; k++ {
		p += 2 * chance[k]
	}
	return change, math.Min(p, 1)
}
