package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Spend divides the two-sided error alpha of one decision over several looks at growing data. looks holds how much
// data (the runs so far) each look has, ascending; the result holds what each look may spend, and adds up to alpha: a
// rule that tests at its share at every look is wrong in at most that share of cases, however the looks hang together
// (Bonferroni).
//
// Until a look alpha(t) = 2 - 2Φ(z/√t) is spent, with t its part of the last look's data and z the normal quantile
// at 1 - alpha/2: the spending function of Lan and DeMets (1983) that resembles the boundaries of O'Brien and Fleming.
// Early looks are strict, and the last keeps most of alpha.
func Spend(alpha float64, looks []int) []float64 {
	shares := make([]float64, len(looks))
	before := 0.0
	for i, n := range looks {
		spent := spentAt(alpha, float64(n)/float64(looks[len(looks)-1]))
		shares[i] = spent - before
		before = spent
	}
	return shares
}

// spentAt is the error spent when the part t (0 to 1) of the data is there.
func spentAt(alpha, t float64) float64 {
	if t >= 1 {
		return alpha
	}
	return math.Erfc(distuv.UnitNormal.Quantile(1-alpha/2) / math.Sqrt(2*t))
}
