package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// RateBound is the upper end of the one-sided interval of the given confidence for a rate of which k events were seen
// in n independent trials (Clopper and Pearson 1934). Without an event it is about 3/n at 95 %. 1 for no trial.
func RateBound(k, n int, confidence float64) float64 {
	if k >= n {
		return 1
	}
	return distuv.Beta{Alpha: float64(k + 1), Beta: float64(n - k)}.Quantile(confidence)
}

// Apart is the p-value of a count: that at least some of all runs of one side are off and at most few of the others, where a run
// of either side has the same chance of it, whatever that is (the unconditional exact test of Barnard 1945, one-sided).
func Apart(some, all, few, others int) float64 {
	const step = 0.005
	worst := 0.0
	for q := step; q < 1; q += step {
		off, other := distuv.Binomial{N: float64(all), P: q}, distuv.Binomial{N: float64(others), P: q}
		worst = math.Max(worst, off.Survival(float64(some)-1)*other.CDF(float64(few)))
	}
	return worst
}

// AtLeast is the chance of at least k events in n independent trials of chance p.
func AtLeast(k, n int, p float64) float64 {
	return distuv.Binomial{N: float64(n), P: p}.Survival(float64(k) - 1)
}

// Split is the largest chance that n runs of one side all meet one of two levels and m runs of the other all the other one, when
// a run of either side has the same chance of each.
func Split(n, m int) float64 {
	all := float64(n + m)
	return math.Pow(float64(n)/all, float64(n)) * math.Pow(float64(m)/all, float64(m))
}
