package stats

import "gonum.org/v1/gonum/stat/distuv"

// RateBound is the upper end of the one-sided interval of the given confidence for a rate of which k events were seen
// in n independent trials (Clopper and Pearson 1934). Without an event it is about 3/n at 95 %. 1 for no trial.
func RateBound(k, n int, confidence float64) float64 {
	if k >= n {
		return 1
	}
	return distuv.Beta{Alpha: float64(k + 1), Beta: float64(n - k)}.Quantile(confidence)
}
