// Package stats holds the numbers behind a verdict: centres, moderated variances, intervals, corrections, detectable
// effects and plans. It is independent of kernels and units.
package stats

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat"
)

// Median is the middle of the values, the mean of the two middle ones for an even number. NaN for none.
// (gonum's Quantile(0.5) is not: it is biased low for every even number.)
func Median(x []float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	s := slices.Clone(x)
	sortMiddle(s)
	return middle(s)
}

// sortMiddle puts the two middle values, at least one, where sorting would (Hoare 1961, algorithm 65).
func sortMiddle(s []float64) {
	m, low, high := len(s)/2, 0, len(s)-1
	for high-low > 30 {
		pivot, i, j := s[(low+high)/2], low, high
		for i <= j {
			for cmp.Less(s[i], pivot) {
				i++
			}
			for cmp.Less(pivot, s[j]) {
				j--
			}
			if i <= j {
				s[i], s[j] = s[j], s[i]
				i, j = i+1, j-1
			}
		}
		if m <= j {
			high = j
		} else {
			low = min(i, m)
		}
		if m > j && m < i {
			high = m
		}
	}
	slices.Sort(s[low : high+1])
	for i := range s[:max(0, min(low, m-1))] {
		if cmp.Less(s[m-1], s[i]) {
			s[i], s[m-1] = s[m-1], s[i]
		}
	}
}

// middle is the median of sorted values, at least one.
func middle(s []float64) float64 {
	m := len(s) / 2
	if len(s)%2 == 1 {
		return s[m]
	}
	return (s[m-1] + s[m]) / 2
}

// ShortestHalf is the length of the shortest interval with half of the values, scaled so that it estimates the standard
// deviation of normal data: of two groups, that of one (Rousseeuw 1984, section 3).
func ShortestHalf(x []float64) float64 {
	s, half, least := slices.Sorted(slices.Values(x)), (len(x)-1)/2, math.Inf(1)
	for i := range len(s) - half {
		least = math.Min(least, s[i+half]-s[i])
	}
	return least / (2 * NormalQuartile)
}

// MADEfficiency is the efficiency of MAD against the standard deviation, for normal values (Rousseeuw and Croux 1993,
// section 1).
const MADEfficiency = 0.37

// MAD is the median absolute deviation from the median, scaled by 1.4826 so that it estimates the standard deviation
// of normal data (Rousseeuw and Croux 1993, section 1). NaN for no values.
func MAD(x []float64) float64 {
	m := Median(x)
	d := make([]float64, len(x))
	for i, v := range x {
		d[i] = math.Abs(v - m)
	}
	return 1.4826 * Median(d)
}

// Resolution is the place of the last digit that any of the values has as it was printed: 0.1 of 1.2 and 1.3, a
// millisecond of nanoseconds that were printed as 0.001 and 0.002 s. It is 0 where that is not known: of whole numbers,
// which may be counts, unless they are known to be measured.
func Resolution(values []float64, measured bool) float64 {
	place := math.MaxInt
	for _, v := range values {
		if v == 0 {
			continue
		}
		// digits that survive a change of the unit
		digits, exponent, _ := strings.Cut(fmt.Sprintf("%.12e", math.Abs(v)), "e")
		power, _ := strconv.Atoi(exponent)
		_, decimals, _ := strings.Cut(strings.TrimRight(digits, "0"), ".")
		place = min(place, power-len(decimals))
	}
	if place == math.MaxInt || place >= 0 && !measured {
		return 0
	}
	return math.Pow10(place)
}

// TrimmedMean is the mean of values in ascending order without the given fraction (0 to 0.5), rounded down, at each end
// (Tukey and McLaughlin 1963). It is robust to outliers and, unlike a median, resolves changes below a timer's tick.
// NaN for no values.
func TrimmedMean(s []float64, fraction float64) float64 {
	if len(s) == 0 {
		return math.NaN()
	}
	cut := min(int(fraction*float64(len(s))), (len(s)-1)/2)
	return stat.Mean(s[cut:len(s)-cut], nil)
}

// Steady finds the warm-up of a series: it returns the number of leading values in it, and whether the rest is steady.
// Too short a series (under five values) is taken as it is.
//
// The second half of the series tells what "settled" means: its median, give or take four robust standard deviations
// or 2 %, whichever is more. The series has settled at the first value from which four of five values lie in that
// band. It never settles when that is after its middle, or when it drifts: when the medians of its third and fourth
// quarters differ by more than 5 % and by more than four standard deviations, taken from the differences of
// neighbours (von Neumann et al. 1941), which a drift does not inflate.
func Steady(x []float64) (skip int, steady bool) {
	const window, inside, spreads, slack, drift = 5, 4, 4, 0.02, 0.05
	n := len(x)
	if n < window {
		return 0, true
	}
	tail := x[n/2:]
	centre := Median(tail)
	if len(tail) >= 8 {
		differences := make([]float64, len(tail)-1)
		for i := range differences {
			differences[i] = tail[i+1] - tail[i]
		}
		noise := MAD(differences) / math.Sqrt2
		moved := math.Abs(Median(x[n/2:n-n/4]) - Median(x[n-n/4:]))
		if moved > math.Max(spreads*noise, drift*math.Abs(centre)) {
			return n / 2, false
		}
	}
	band := math.Max(spreads*MAD(tail), slack*math.Abs(centre))
	for at := 0; at <= n/2 && at+window <= n; at++ {
		if math.Abs(x[at]-centre) > band {
			continue
		}
		in := 0
		for _, v := range x[at : at+window] {
			if math.Abs(v-centre) <= band {
				in++
			}
		}
		if in >= inside {
			return at, true
		}
	}
	if n < 2*window {
		return 0, true
	}
	return n / 2, false
}

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
	return slices.DeleteFunc(slices.Concat(sessions...), math.IsNaN)
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

// MedianPolish fits rows of values (NaN where not known) by row + column (Tukey 1977, chapter 11), the rows to their
// first own columns only, whose median effect is zero. Moves are the values without the effects of their rows.
func MedianPolish(rows [][]float64, own int) (moves [][]float64, effects []float64) {
	if len(rows) == 0 {
		return nil, nil
	}
	const sweeps = 3 // eight give the same decision on every recorded run
	effects, moves = make([]float64, len(rows[0])), make([][]float64, len(rows))
	for range sweeps {
		for i, row := range rows {
			rest := make([]float64, own)
			for j := range rest {
				rest[j] = row[j] - effects[j]
			}
			centre := Median(Known(rest))
			moves[i] = Transform([][]float64{row}, func(v float64) float64 { return v - centre })[0]
		}
		column := make([]float64, len(rows))
		for j := range effects {
			for i := range moves {
				column[i] = moves[i][j]
			}
			effects[j] = Median(Known(column))
		}
		middle := Median(Known(effects[:own]))
		for j := range effects {
			effects[j] -= middle
			for i := range moves {
				moves[i][j] -= middle
			}
		}
	}
	return moves, effects
}

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

// Levels splits values into two levels at their widest gap. It reports ok where the gap is more than four times as wide
// as the wider of the two groups, and each holds at least so many values: the values fall on two levels rather than
// scatter around one. low and high are the groups' means.
func Levels(x []float64, least int) (low, high float64, lows int, ok bool) {
	const apart = 4
	s := slices.Sorted(slices.Values(x))
	if len(s) < 2*least {
		return 0, 0, 0, false
	}
	at := least
	for i := least; i <= len(s)-least; i++ {
		if s[i]-s[i-1] > s[at]-s[at-1] {
			at = i
		}
	}
	gap := s[at] - s[at-1]
	width := max(s[at-1]-s[0], s[len(s)-1]-s[at])
	if !(gap > 0 && gap > apart*width) {
		return 0, 0, 0, false
	}
	return stat.Mean(s[:at], nil), stat.Mean(s[at:], nil), at, true
}

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
