package baseline

import (
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/stats"
	"github.com/nsgate/nsgate/gate/measure"
)

// mergeUncertainty is the largest relative error of a metric predicted for a merge commit that was never measured,
// against the mean of its branches. Each branch changed the metric of what both replace; the merge has one of these
// changes, or all.
func (s *state) mergeUncertainty(c *claims, subject measure.Subject, metric string) float64 {
	base := math.NaN()
	for _, i := range c.old {
		if v := s.typical(i, subject, metric); !math.IsNaN(v) {
			base = v // the newest stays
		}
	}
	sum, n := 0.0, 0.0
	var values []float64
	for _, i := range c.live {
		v := s.typical(i, subject, metric)
		if math.IsNaN(v) {
			continue
		}
		n++
		if slices.Contains(c.apart, i) {
			values = append(values, v)
			sum += math.Abs(change(base, v))
		}
	}
	if math.IsNaN(sum) { // the replaced session was removed
		sum = 0
		for _, v := range values {
			sum += math.Abs(change(slices.Min(values), v))
		}
	}
	if n > 1 {
		sum *= 1 - 1/n
	}
	return math.Expm1(sum)
}

// change is the change from a to b on the log scale. A change from or to nothing counts as doubling.
func change(a, b float64) float64 {
	switch {
	case a == b:
		return 0
	case a == 0 || b == 0:
		return math.Ln2
	}
	return math.Log(b / a)
}

// typical is the median of an entry's runs, NaN without a value.
func (s *state) typical(i int, subject measure.Subject, metric string) float64 {
	x, ok := s.b.Entries[i].Find(subject, metric)
	if !ok {
		return math.NaN()
	}
	return stats.Median(slices.DeleteFunc(slices.Clone(x.Values), math.IsNaN))
}
