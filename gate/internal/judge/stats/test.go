package stats

import (
	"cmp"
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/stat/combin"
	"gonum.org/v1/gonum/stat/distuv"
)

// student is Student's t distribution, the normal one from a million degrees of freedom on.
func student(df float64) distuv.StudentsT {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: math.Min(df, 1e6)}
}

// quantiles remembers quantiles of Student's t by degrees of freedom and probability: the comparisons of a report, like
// the gates of a calibration, share their degrees of freedom.
var quantiles = struct {
	sync.Mutex
	of map[[2]float64]float64
}{of: make(map[[2]float64]float64)}

func quantile(df, p float64) float64 {
	quantiles.Lock()
	defer quantiles.Unlock()
	key := [2]float64{df, p}
	t, ok := quantiles.of[key]
	if !ok {
		t = invert(student(df), p)
		if len(quantiles.of) == 1<<12 {
			clear(quantiles.of)
		}
		quantiles.of[key] = t
	}
	return t
}

// invert is d.Quantile(p) in a tenth of the time, and right far out too, where gonum's search gives up with many
// degrees of freedom. The logarithm of the tail over that of t is nearly straight where the tail is a power and concave
// where it is the normal distribution's, so Newton's method needs few steps.
func invert(d distuv.StudentsT, p float64) float64 {
	if !(p > 0.5 && p < 1) {
		return d.Quantile(p)
	}
	z := distuv.UnitNormal.Quantile(p)
	t := z + z*(z*z+1)/(4*d.Nu) + z*(5*z*z*z*z+16*z*z+3)/(96*d.Nu*d.Nu) // Cornish and Fisher's expansion
	a, _ := math.Lgamma((d.Nu + 1) / 2)
	b, _ := math.Lgamma(d.Nu / 2)
	peak := math.Exp(a-b) / math.Sqrt(math.Pi*d.Nu) // the density at zero
	for range 20 {
		tail := d.Survival(t)
		slope := t * peak * math.Exp(-(d.Nu+1)/2*math.Log1p(t*t/d.Nu)) / tail
		step := math.Log(tail/(1-p)) / slope
		t *= math.Exp(step)
		if math.Abs(step) < 1e-7 { // the remaining error is its square
			return t
		}
	}
	return d.Quantile(p)
}

// TwoSided is the probability of an estimate at least this far from zero when the truth is zero: a t test of estimate
// against its variance. NaN without degrees of freedom. A variance of exactly zero (exact metrics) gives 0 or 1.
func TwoSided(estimate float64, v Variance) float64 {
	switch {
	case math.IsNaN(estimate) || !(v.DF > 0):
		return math.NaN()
	case v.S2 == 0 && estimate == 0:
		return 1
	case v.S2 == 0:
		return 0
	}
	return math.Min(1, 2*student(v.DF).Survival(math.Abs(estimate)/math.Sqrt(v.S2)))
}

// Margin is the half width of a two-sided interval of the given confidence (0.9 for 90 %).
func Margin(v Variance, confidence float64) float64 {
	if !(v.DF > 0) {
		return math.NaN()
	}
	if v.S2 == 0 {
		return 0
	}
	return quantile(v.DF, (1+confidence)/2) * math.Sqrt(v.S2)
}

// NormalMargin is the half width of a two-sided interval in standard deviations, where these are known.
func NormalMargin(confidence float64) float64 {
	return distuv.UnitNormal.Quantile((1 + confidence) / 2)
}

// Holm corrects p-values so that the chance of one or more false rejections among them all stays below any level they
// are compared with (Holm 1979; with weights, section 4 there: a hypothesis of weight w gets w times the share of the
// error that one of weight 1 gets). NaN stays NaN, and with weights of zero or less takes no part. The input is not
// changed.
func Holm(p, weights []float64) []float64 {
	out := slices.Clone(p)
	var order []int
	remaining := 0.0
	for i, weight := range weights {
		if !math.IsNaN(p[i]) && weight > 0 {
			order = append(order, i)
			remaining += weight
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a]/weights[a], p[b]/weights[b]) })
	highest := 0.0
	for _, i := range order {
		highest = math.Max(highest, math.Min(1, p[i]/weights[i]*math.Max(remaining, weights[i])))
		out[i] = highest
		remaining -= weights[i]
	}
	return out
}

// Detectable is the effect that would be found in the given share of cases (power, 0.8 for 80 %) by a rule that wants
// an estimate beyond limit and a two-sided p-value below alpha. Effect, limit and result are on the scale of v. +Inf
// for an alpha of zero or less.
func Detectable(v Variance, limit, alpha, power float64) float64 {
	switch {
	case !(v.DF > 0):
		return math.NaN()
	case alpha <= 0:
		return math.Inf(1)
	}
	if v.S2 == 0 {
		return limit
	}
	se := math.Sqrt(v.S2)
	return math.Max(limit, quantile(v.DF, 1-alpha/2)*se) + quantile(v.DF, power)*se
}

// RunsFor is the number of runs a side (at most most) for an interval of the given confidence that reaches less than a
// gap from its middle. The variance between runs is run.S2; a further variance fixed does not shrink with runs. 0 if
// that many do not help.
func RunsFor(gap float64, run Variance, fixed, confidence float64, most int) int {
	// A change that the normal distribution rules out needs no quantile of Student's.
	z := NormalMargin(confidence)
	for n := 2; n <= most; n++ {
		se := math.Sqrt(2*run.S2/float64(n) + fixed)
		if z*se < gap && Margin(Variance{S2: se * se, DF: float64(2*n - 2)}, confidence) < gap {
			return n
		}
	}
	return 0
}

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
