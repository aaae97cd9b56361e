package history

import (
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/stats"
)

const (
	// window is the number of points that are looked at together (Apache Otava's default).
	window = 50
	// weaker is by how much the test of the first pass is.
	weaker = 10
)

// changePoint is a change of level: Index is the first value of the new one.
type changePoint struct {
	Index         int
	P             float64 // two-sided, of the values since the change point before against those until the next
	Before, After float64 // means of the same
}

// changePoints returns the change points of a series of finite values up to a p-value, in order. A window of the series
// is split where its parts differ most (E-divisive; Matteson and James, 2014, section 2.2), repeatedly, while Student's
// t test says that they do. In that first pass the test is ten times weaker; then the weakest points are removed, one
// by one, until the rest is significant (Fleming et al., Hunter, 2023, sections 4.2 and 4.3).
func changePoints(series []float64, p float64) []changePoint {
	return merge(series, split(series, weaker*p), p)
}

func split(series []float64, p float64) []int {
	var all []int
	for start := 0; start < len(series); {
		end := min(start+window, len(series))
		found := divide(series[start:end], p)
		next := start + window/2
		for _, i := range found {
			all = append(all, start+i)
			next = max(next, start+i)
		}
		start = next
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// divide splits a series where its parts differ most as long as they differ.
func divide(series []float64, p float64) []int {
	cuts := []int{0, len(series)}
	d := distances(series)
	for {
		best, at := math.Inf(-1), -1
		for i := range len(cuts) - 1 {
			if q, j := d.widest(cuts[i], cuts[i+1]); q > best {
				best, at = q, j
			}
		}
		if at < 0 {
			break
		}
		i, _ := slices.BinarySearch(cuts, at)
		if test(series[cuts[i-1]:at], series[at:cuts[i]]).P > p {
			break
		}
		cuts = slices.Insert(cuts, i, at)
	}
	return cuts[1 : len(cuts)-1]
}

// sums are the distances between the values of a series, added up over rectangles from its start: sums[i][j] over the
// first i and the first j values.
type sums [][]float64

func distances(series []float64) sums {
	s := make(sums, len(series)+1)
	s[0] = make([]float64, len(series)+1)
	for i, x := range series {
		s[i+1] = make([]float64, len(series)+1)
		row := 0.
		for j, y := range series {
			row += math.Abs(x - y)
			s[i+1][j+1] = s[i][j+1] + row
		}
	}
	return s
}

// between are the distances from the values of one range to those of another.
func (s sums) between(a, b, c, d int) float64 { return s[b][d] - s[a][d] - s[b][c] + s[a][c] }

// widest is the place in a range that divides it, or a beginning of it, into the parts that differ most, and by how
// much; -1 for a range of one value.
func (s sums) widest(start, end int) (best float64, at int) {
	best, at = math.Inf(-1), -1
	for cut := start + 1; cut < end; cut++ {
		for stop := cut + 1; stop <= end; stop++ {
			n, m := float64(cut-start), float64(stop-cut)
			q := 2 / (m + n) * s.between(start, cut, cut, stop)
			if n > 1 {
				q -= m / (m + n) / (n - 1) * s.between(start, cut, start, cut)
			}
			if m > 1 {
				q -= n / (m + n) / (m - 1) * s.between(cut, stop, cut, stop)
			}
			if q > best {
				best, at = q, cut
			}
		}
	}
	return best, at
}

// merge removes the weakest point until all are significant.
func merge(series []float64, at []int, p float64) []changePoint {
	for {
		points := make([]changePoint, len(at))
		weakest := -1
		for i, index := range at {
			from, to := 0, len(series)
			if i > 0 {
				from = at[i-1]
			}
			if i+1 < len(at) {
				to = at[i+1]
			}
			points[i] = test(series[from:index], series[index:to])
			points[i].Index = index
			if weakest < 0 || points[i].P > points[weakest].P {
				weakest = i
			}
		}
		if weakest < 0 || points[weakest].P < p {
			return points
		}
		at = slices.Delete(at, weakest, weakest+1)
	}
}

// test is Student's t test of two samples, of which one may be a single value.
func test(before, after []float64) changePoint {
	p := changePoint{P: 1, Before: stats.Mean(before), After: stats.Mean(after)}
	if v := stats.Pool(stats.SampleVariance(before), stats.SampleVariance(after)); v.DF > 0 {
		v.S2 *= 1/float64(len(before)) + 1/float64(len(after))
		p.P = stats.TwoSided(p.After-p.Before, v)
	}
	return p
}
