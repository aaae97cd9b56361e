package history

import (
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/judge/stats"
	"github.com/nsgate/nsgate/gate/internal/measure"
)

const (
	// window is the number of points that are looked at together (Apache Otava's default).
	window = 50
	// weaker is by how much the test of the first pass is.
	weaker = 10
	// beside is the number of values on each side of a change point whose medians are compared. A change exceeds the
	// quantile usual of such differences elsewhere in the series standout × (1 + unsure/n) times, n the number of
	// values (chosen on 13,185 pairs of nights of mujoco_warp without a change of the code: none is a change of level).
	beside, usual, standout, unsure = 5, 0.9, 2.3, 30
	// lasting is the number of values from which on a level is known: two such levels that are known standard errors
	// apart differ where the change exceeds that quantile overNights times, and the spread beside it overValues times.
	lasting, known, overNights, overValues = 8, 7, 1.7, 1.2
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
// by one, until the rest is significant (Fleming et al., Hunter, 2023, 4.2 and 4.3), by the variance within all.
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

// divide splits a series where its parts differ most as long as they differ. Where one cut divides nothing, an
// excursion may: a level that returns, which a cut at either end leaves in one part with what it differs from.
func divide(series []float64, p float64) []int {
	var cuts []int
	d := distances(series)
	var within func(start, end int)
	within = func(start, end int) {
		if end-start < 2 {
			return
		}
		if _, at := d.widest(start, end); at > start && test(series[start:at], series[at:end]).P <= p {
			cuts = append(cuts, at)
			within(start, at)
			within(at, end)
			return
		}
		i, j := d.excursion(start, end)
		n := float64(end - start)
		outside := slices.Concat(series[start:i], series[j:end])
		if i < j && test(outside, series[i:j]).P <= p*2/(n*n) { // n²/2 parts are searched
			cuts = append(cuts, i, j)
			within(start, i)
			within(i, j)
			within(j, end)
		}
	}
	within(0, len(series))
	slices.Sort(cuts)
	return cuts
}

// sums are distances between values of a series, added up over rectangles: sums[i][j] over the first i and j.
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

func (s sums) between(a, b, c, d int) float64 { return s[b][d] - s[a][d] - s[b][c] + s[a][c] }

// widest is the cut of a range, or of a beginning of it, into the most different parts, and by how much; -1 for none.
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

// excursion is the part of a range, of two values or more, that differs most from the values on both sides of it
// (circular binary segmentation; Olshen and Venkatraman, 2004, by the distance of E-divisive); start twice for none.
func (s sums) excursion(start, end int) (from, to int) {
	best := math.Inf(-1)
	from, to = start, start
	for i := start + 1; i < end; i++ {
		for j := i + 2; j < end; j++ {
			n, m := float64(j-i), float64(end-start-(j-i))
			inside, outside := s.between(i, j, i, j), s.between(start, i, start, i)+s.between(j, end, j, end)+
				2*s.between(start, i, j, end)
			across := s.between(start, i, i, j) + s.between(i, j, j, end)
			q := 2/(m+n)*across - m/(m+n)/(n-1)*inside - n/(m+n)/(m-1)*outside
			if q > best {
				best, from, to = q, i, j
			}
		}
	}
	return from, to
}

// levelChanges returns the change points that also stand out from the series. The test takes the values of a level as
// independent; nightly values have outliers, noisy weeks and drift.
func levelChanges(series []float64, p float64) []changePoint {
	at := measure.Map(changePoints(series, p), func(c changePoint) int { return c.Index })
	return merge(series, standing(series, at), p)
}

// standing removes the faintest point until all stand out: the medians of the values beside it, within its parts,
// differ by more than those values vary, and by more than medians do elsewhere in the series. It changes at.
func standing(series []float64, at []int) []int {
	var changes []float64 // from the value with index beside on
	for i := beside; i+beside <= len(series); i++ {
		change, _ := across(series[i-beside:i], series[i:i+beside])
		changes = append(changes, change)
	}
	for {
		var elsewhere []float64
		for i, change := range changes {
			i += beside
			if !slices.ContainsFunc(at, func(j int) bool { return max(i-j, j-i) <= beside/2 }) {
				elsewhere = append(elsewhere, change)
			}
		}
		noise, faintest, least := 0., -1, 1.
		slices.Sort(elsewhere)
		if len(elsewhere) > 0 {
			noise = elsewhere[int(usual*float64(len(elsewhere)-1))]
		}
		for i, index := range at {
			from, to := segments(at, i, len(series))
			ofNoise := standout * (1 + unsure/float64(len(series)))
			ofSpread := ofNoise
			apart := math.Abs(stats.Mean(series[from:index]) - stats.Mean(series[index:to]))
			if min(index-from, to-index) >= lasting && apart > known*standardError(series, at, index-from, to-index) {
				ofNoise, ofSpread = min(ofNoise, overNights), overValues
			}
			from, to = max(from, index-beside), min(to, index+beside)
			change, spread := across(series[from:index], series[index:to])
			short := beside / float64(min(index-from, to-index))
			if by := change / max(ofNoise*noise*short*short*short, ofSpread*spread); by < least {
				faintest, least = i, by
			}
		}
		if faintest < 0 {
			return at
		}
		at = slices.Delete(at, faintest, faintest+1)
	}
}

// standardError is that of a difference of means of n and m values whose neighbours correlate as those of the series
// do within its parts, not at all where they do negatively (Bartlett, 1946, first order); NaN where nothing is sure.
func standardError(series []float64, at []int, n, m int) float64 {
	products, squares, start := 0., 0., 0
	for _, end := range append(slices.Clone(at), len(series)) {
		mean, before := stats.Mean(series[start:end]), 0.
		for _, v := range series[start:end] {
			products += (v - mean) * before
			before = v - mean
			squares += before * before
		}
		start = end
	}
	length := float64(len(series)) / float64(len(at)+1)
	r := max(0, (length*products/squares+1)/(length-3)) // without the bias of a part (Marriott and Pope, 1954)
	return math.Sqrt(within(series, at).S2 * (1/float64(n) + 1/float64(m)) * (1 + r) / (1 - r))
}

// across is the difference of the medians of two samples, and the larger of their spreads: the largest distance from
// the median, of four or five values the second.
func across(before, after []float64) (change, spread float64) {
	for _, x := range [][]float64{before, after} {
		m := stats.Median(x)
		far := measure.Map(x, func(v float64) float64 { return math.Abs(v - m) })
		slices.Sort(far)
		spread = max(spread, far[len(far)-1-len(far)/4])
	}
	return math.Abs(stats.Median(after) - stats.Median(before)), spread
}

// segments is the range of a series between the change points before and after one.
func segments(at []int, i, n int) (from, to int) {
	to = n
	if i > 0 {
		from = at[i-1]
	}
	if i+1 < len(at) {
		to = at[i+1]
	}
	return from, to
}

// merge removes the weakest point until all are significant.
func merge(series []float64, at []int, p float64) []changePoint {
	for {
		points := make([]changePoint, len(at))
		weakest, noise := -1, within(series, at)
		for i, index := range at {
			from, to := segments(at, i, len(series))
			points[i] = testAgainst(series[from:index], series[index:to], noise)
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

// within is the variance of a series within the parts between change points.
func within(series []float64, at []int) (v stats.Variance) {
	start := 0
	for _, end := range append(slices.Clone(at), len(series)) {
		v = stats.Pool(v, stats.SampleVariance(series[start:end]))
		start = end
	}
	return v
}

// test is Student's t test of two samples; one may be a single value.
func test(before, after []float64) changePoint {
	return testAgainst(before, after, stats.Pool(stats.SampleVariance(before), stats.SampleVariance(after)))
}

// testAgainst is that test with a given variance of a value.
func testAgainst(before, after []float64, v stats.Variance) changePoint {
	p := changePoint{P: 1, Before: stats.Mean(before), After: stats.Mean(after)}
	if v.DF > 0 {
		v.S2 *= 1/float64(len(before)) + 1/float64(len(after))
		p.P = stats.TwoSided(p.After-p.Before, v)
	}
	return p
}
