package stats

import (
	"math"
	"sync"

	"gonum.org/v1/gonum/stat/combin"
	"gonum.org/v1/gonum/stat/distuv"
)

// RateBound is the upper end of the one-sided interval, at the given confidence, of k events in n trials (Clopper and
// Pearson 1934). Without an event it is about 3/n at 95 %. 1 for no trial.
func RateBound(k, n int, confidence float64) float64 {
	if k >= n {
		return 1
	}
	return distuv.Beta{Alpha: float64(k + 1), Beta: float64(n - k)}.Quantile(confidence)
}

// Apart is the p-value of a count: at least some of all runs of one side are outliers and at most few of the others,
// where a run of either side has the same chance of it, whatever that is (the unconditional exact test of Barnard 1945,
// one-sided).
func Apart(some, all, few, others int) float64 {
	const grid = 200 // the chances that are tried are 1/grid, 2/grid, …
	at := func(i int) float64 {
		q := float64(i) / grid
		one, other := distuv.Binomial{N: float64(all), P: q}, distuv.Binomial{N: float64(others), P: q}
		return one.Survival(float64(some)-1) * other.CDF(float64(few))
	}
	// Both factors are distribution functions of Beta distributions, which are log-concave: there is one peak, near the
	// pooled rate.
	start := min(max((some+few)*grid/max(all+others, 1), 1), grid-1)
	worst := at(start)
	for _, step := range []int{-1, 1} {
		for i := start + step; 0 < i && i < grid; i += step {
			p := at(i)
			if p < worst {
				break
			}
			worst = p
		}
	}
	return worst
}

// Within bounds the chance that some k of n values, drawn evenly from an interval, lie as close together as a part of
// it: that of k values by the distribution of their range (David and Nagaraja, Order Statistics, 2003, section 2.3),
// for each choice of them.
func Within(k, n int, part float64) float64 {
	if !(part < 1) || k < 2 {
		return 1
	}
	chance := float64(k)*math.Pow(part, float64(k-1)) - float64(k-1)*math.Pow(part, float64(k))
	return math.Min(1, float64(combin.Binomial(n, k))*chance)
}

// Split is the largest chance that n runs of one side all meet one of two levels and m runs of the other all the other
// one, when a run of either side has the same chance of each.
func Split(n, m int) float64 {
	all := float64(n + m)
	return math.Pow(float64(n)/all, float64(n)) * math.Pow(float64(m)/all, float64(m))
}

// Fisher is the p-value of a count: that at least so many of the head's runs are among all that have a property, if
// each run is as likely to have it (Fisher's exact test, 1922, one-sided).
func Fisher(some, all, few, others int) (p float64) {
	choose := func(n, k int) float64 { return logFactorial(n) - logFactorial(k) - logFactorial(n-k) }
	total := choose(all+others, some+few)
	for k := some; k <= min(all, some+few); k++ {
		p += math.Exp(choose(all, k) + choose(others, some+few-k) - total)
	}
	return math.Min(1, p)
}

// logFactorial is the logarithm of n!.
func logFactorial(n int) float64 {
	if known := logFactorials(); n < len(known) {
		return known[n]
	}
	l, _ := math.Lgamma(float64(n) + 1)
	return l
}

// logFactorials are those of as many runs as a plan has, see [RunsForShares].
var logFactorials = sync.OnceValue(func() []float64 {
	out := make([]float64, 400)
	for n := range out {
		out[n], _ = math.Lgamma(float64(n) + 1)
	}
	return out
})

// RunsForShares is the least number of runs a side, at most most, with which [Fisher] tells a share of the head's runs
// from a smaller one of the baseline's at this alpha and power; 0 where so many do not.
func RunsForShares(share, other, alpha, power float64, most int) int {
	for n := MinRuns; n <= most; n++ {
		head, base := distuv.Binomial{N: float64(n), P: share}, distuv.Binomial{N: float64(n), P: other}
		found, some := 0.0, 0
		for few := 0; few < n; few++ {
			some = max(some, few+1) // the least count that is certain
			for some <= n && Fisher(some, n, few, n) >= alpha {
				some++
			}
			if some > n {
				break
			}
			power := head.Survival(float64(some) - 1)
			if other == 0 {
				found = power
				break
			}
			found += base.Prob(float64(few)) * power
		}
		if found >= power {
			return n
		}
	}
	return 0
}
