package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

const (
	// MinRuns is the fewest runs of a side with a known spread between runs.
	MinRuns = 2
	// PoolLeast is the fewest kernels for a learnt prior; fewer give its place only.
	PoolLeast = 8
	// priorMost bounds a learnt prior's degrees of freedom: kernels never share one variance exactly.
	priorMost = 10
	// StepRunSD is the expected sd between runs of a steady program: 0.5 % of 40 runs on an H200.
	StepRunSD = 0.005
	// placeLeast is the fewest variances that place a prior below the expected one.
	placeLeast = 3
	// outlierFrom is how many sds from the middle of its side a run is an outlier, which counts as if it were so far.
	outlierFrom = 3
	// NormalQuartile is the median absolute deviation of a normal distribution, in standard deviations.
	NormalQuartile = 0.6745
	// SessionWeight is how many sessions beyond the first it takes to outweigh the prior of the variance between
	// sessions; SessionDF are the degrees of freedom of the result. The prior is known from 12 hosts and some thirty
	// kernels, so it counts as known.
	SessionWeight, SessionDF = 8, 1000
)

// RunPrior is the variance between runs that is expected of a metric before seeing it: on H200 GPUs kernels move by
// 0.05 to 0.3 % between runs of one host.
var RunPrior = Variance{S2: 0.002 * 0.002, DF: 3}

// LevelStep is the least relative distance of two levels, of runs or of hosts: unchanged runs of kernels stay within
// 0.5 %, and the two kinds of H200 host are 1.5 % apart.
const LevelStep = 0.01

// Prior is the common distribution of pooled variances. Too few variances to learn its width give its place alone, with
// the expected one among them; fewer than placeLeast give no place below that.
func Prior(v []Variance) Variance {
	known := Positive(v)
	if len(known) < PoolLeast {
		expected := Variance{S2: RunPrior.S2, DF: math.Inf(1)}
		place := Typical(append(known, expected))
		if len(known) < placeLeast {
			place = math.Max(RunPrior.S2, place)
		}
		return Variance{S2: place, DF: RunPrior.DF}
	}
	p := fitPrior(known)
	p.DF = math.Min(p.DF, priorMost)
	return p
}

// Positive are the variances that are known and not zero.
func Positive(v []Variance) []Variance {
	return slices.DeleteFunc(slices.Clone(v), func(x Variance) bool { return !(x.DF > 0 && x.S2 > 0) })
}

// CountMoved takes winsorised runs of a side, which show no spread, from its degrees of freedom (Yuen 1974).
func (c *Contrast) CountMoved(side, moved int) {
	if v := &c.Sides[side]; moved > 0 {
		left := math.Max(1, v.DF-float64(moved))
		*v = Variance{S2: v.S2 * v.DF / left, DF: left}
		c.Run = Pool(c.Sides[:]...)
	}
}

// Winsorised draws runs that are far from the others of their side, on either side of them, to where they are just so
// (Tukey's winsorizing), and returns how far they were: a run that is off neither makes a finding nor hides one.
func Winsorised(sessions [][]float64) (winsorised [][]float64, far []float64) {
	middle := func(values []float64) float64 { return math.Log(Median(Known(values))) }
	var residuals []float64
	for _, session := range sessions {
		for _, v := range Known(session) {
			residuals = append(residuals, math.Abs(math.Log(v)-middle(session)))
		}
	}
	most := outlierFrom * math.Max(Median(residuals)/NormalQuartile, StepRunSD)
	winsorised = make([][]float64, len(sessions))
	for j, session := range sessions {
		winsorised[j] = slices.Clone(session)
		for k, v := range session {
			if by := math.Log(v) - middle(session); math.Abs(by) > most {
				far = append(far, math.Abs(by))
				winsorised[j][k] = math.Exp(middle(session) + math.Copysign(most, by))
			}
		}
	}
	return winsorised, far
}

// Variance is an estimated variance and the degrees of freedom behind it.
type Variance struct{ S2, DF float64 }

// Pool joins variance estimates, each weighted by its degrees of freedom. Without any the result has DF 0.
func Pool(v ...Variance) Variance {
	var out Variance
	for _, x := range v {
		if x.DF > 0 {
			out.S2 += x.S2 * x.DF
			out.DF += x.DF
		}
	}
	if out.DF > 0 {
		out.S2 /= out.DF
	}
	return out
}

// SampleVariance is the variance of a sample with its n-1 degrees of freedom; DF 0 for fewer than two values.
func SampleVariance(x []float64) Variance {
	if len(x) < 2 {
		return Variance{}
	}
	return Variance{S2: stat.Variance(x, nil), DF: float64(len(x) - 1)}
}

// fitPrior estimates the common scaled inverse chi-square prior of many variances by the method of moments on their
// logarithms: limma's fitFDist (Smyth 2004, section 6.2). Estimates with DF 0 or S2 0 are left out; with fewer than
// two the result is the zero Variance. DF is +Inf where the estimates spread no more than chance explains.
func fitPrior(v []Variance) Variance {
	var e, tri []float64
	for _, x := range Positive(v) {
		e = append(e, logVariance(x))
		tri = append(tri, trigamma(x.DF/2))
	}
	if len(e) < 2 {
		return Variance{}
	}
	mean, spread := stat.MeanVariance(e, nil)
	excess := spread - stat.Mean(tri, nil)
	if excess <= 0 {
		return Variance{S2: math.Exp(mean), DF: math.Inf(1)}
	}
	half := trigammaInverse(excess)
	return Variance{S2: math.Exp(mean + mathext.Digamma(half) - math.Log(half)), DF: 2 * half}
}

// Unequal is the distance of the logarithms of the second variances of pairs from those of the first in standard
// errors. It is about normal where the variances of a pair are equal. Their differences spread at least as much as
// their degrees of freedom imply (Smyth 2004, section 6.2). Pairs with a zero or unknown variance take no part; NaN for
// fewer than two.
func Unequal(pairs [][2]Variance) float64 {
	var d []float64
	var expected float64
	for _, x := range pairs {
		if x[0].DF > 0 && x[1].DF > 0 && x[0].S2 > 0 && x[1].S2 > 0 {
			d = append(d, logVariance(x[1])-logVariance(x[0]))
			expected += trigamma(x[0].DF/2) + trigamma(x[1].DF/2)
		}
	}
	if len(d) < 2 {
		return math.NaN()
	}
	mean, spread := stat.MeanVariance(d, nil)
	n := float64(len(d))
	return mean / math.Sqrt(math.Max(spread, expected/n)/n)
}

// Typical is the geometric mean of variances, each without the bias of its few degrees of freedom.
func Typical(v []Variance) float64 {
	sum := 0.0
	for _, x := range v {
		sum += logVariance(x)
	}
	return math.Exp(sum / float64(len(v)))
}

// logVariance is the logarithm of a variance without the bias of few degrees of freedom (Smyth 2004, section 6.2).
func logVariance(v Variance) float64 {
	half := v.DF / 2
	if math.IsInf(half, 1) {
		return math.Log(v.S2)
	}
	return math.Log(v.S2) - mathext.Digamma(half) + math.Log(half)
}

// Moderate shrinks an estimate toward a prior (the moderated variance of limma; Smyth 2004, section 3): the weighted
// mean of both by their degrees of freedom, which add up. An estimate that the prior cannot have produced (it is
// beyond the 99 % point of their F distribution) keeps its own value and degrees of freedom, so that one noisy
// kernel does not pass for a quiet one (after Phipson et al. 2016, section 3).
func Moderate(v, prior Variance) Variance {
	if prior.DF <= 0 {
		return v
	}
	if v.DF > 0 && v.S2 > prior.S2 {
		f := distuv.F{D1: v.DF, D2: math.Min(prior.DF, 1e6)}
		if f.Survival(v.S2/prior.S2) < 0.01 {
			return v
		}
	}
	return Pool(v, prior)
}

// Satterthwaite is the variance of a weighted sum of independent variance estimates, with the degrees of freedom that
// make its distribution close to a chi-square (Satterthwaite 1946, equation 17). Weight i belongs to v[i].
func Satterthwaite(weights []float64, v []Variance) Variance {
	var sum, denominator float64
	for i, w := range weights {
		term := w * v[i].S2
		sum += term
		if term > 0 {
			denominator += term * term / v[i].DF
		}
	}
	if denominator == 0 {
		df := math.Inf(1)
		for _, x := range v {
			df = math.Min(df, x.DF)
		}
		return Variance{S2: sum, DF: df}
	}
	return Variance{S2: sum, DF: sum * sum / denominator}
}

// trigamma is the second derivative of log gamma: the Hurwitz zeta function at 2.
func trigamma(x float64) float64 { return mathext.Zeta(2, x) }

// trigammaInverse solves trigamma(y) = x by Newton's method on 1/trigamma (Smyth 2004, appendix).
func trigammaInverse(x float64) float64 {
	switch {
	case x > 1e7:
		return 1 / math.Sqrt(x)
	case x < 1e-6:
		return 1 / x
	}
	y := 0.5 + 1/x
	for range 50 {
		tri := trigamma(y)
		step := tri * (1 - tri/x) / (-2 * mathext.Zeta(3, y)) // the derivative of trigamma
		y += step
		if -step/y < 1e-10 {
			break
		}
	}
	return y
}

// Contrast is the difference head minus base between two sets of sessions, and the parts of its variance:
// RunWeight times the variance between runs plus SessionWeight times the variance between sessions. Both variances
// are as estimated from this one contrast; moderate them before use.
type Contrast struct {
	Estimate      float64
	Means         [2]float64 // of base and head, whose difference is Estimate
	Run           Variance
	RunWeight     float64
	Session       Variance
	SessionWeight float64
	// PairWeight is the weight of a variance between the two of each pair that was measured as one session, 0 without
	// any.
	PairWeight float64
	// Sides are the variances between the runs of base and head alone, SideWeights their parts of RunWeight.
	Sides       [2]Variance
	SideWeights [2]float64
}

// NewContrast compares sessions, each a list of run values (NaN where a run has none; sessions without any value
// take no part). shared lists pairs of a base and a head session, by index, that were measured as one session: where
// there are such pairs only they are compared, difference by difference, and the session variance cancels. Else each
// side is the unweighted mean of its sessions' means, because sessions differ by more than runs do. The estimate is
// NaN where a side has no value. Pairs of single runs have the variance that their differences show.
func NewContrast(base, head [][]float64, shared [][2]int) Contrast {
	var c Contrast
	var b, h []summary
	b, c.Sides[0] = summarise(base)
	h, c.Sides[1] = summarise(head)
	c.Run = Pool(c.Sides[:]...)

	var weight, sum, squares, pairs float64
	for _, p := range shared {
		x, y := b[p[0]], h[p[1]]
		if x.n == 0 || y.n == 0 {
			continue
		}
		w := 1 / (1/x.n + 1/y.n)
		sum, squares, pairs = sum+w*(y.mean-x.mean), squares+w*(y.mean-x.mean)*(y.mean-x.mean), pairs+1
		weight += w
		c.PairWeight += 2 * w * w
		for i, s := range [...]summary{x, y} {
			c.Means[i] += w * s.mean
			c.SideWeights[i] += w * w / s.n
		}
	}
	if weight > 0 {
		for i := range c.Means {
			c.Means[i] /= weight
			c.SideWeights[i] /= weight * weight
		}
		c.PairWeight /= weight * weight
		c.Estimate, c.RunWeight = sum/weight, 1/weight
		if c.Run.DF == 0 && pairs > 1 {
			c.Run = Variance{S2: math.Max(0, squares-sum*sum/weight) / (pairs - 1), DF: pairs - 1}
		}
		return c
	}
	var sessions [2]Variance
	for i, side := range [][]summary{b, h} {
		means, inverse := sessionMeans(side)
		n := float64(len(means))
		c.Means[i], c.SideWeights[i], sessions[i] = Mean(means), inverse/(n*n), between(means, inverse, c.Run.S2)
		c.SessionWeight += 1 / n
	}
	c.Estimate, c.RunWeight = c.Means[1]-c.Means[0], c.SideWeights[0]+c.SideWeights[1]
	c.Session = Pool(sessions[:]...)
	return c
}

type summary struct{ n, mean float64 }

// summarise sums up each session, and the variance between the runs of all.
func summarise(sessions [][]float64) ([]summary, Variance) {
	out, v := make([]summary, len(sessions)), make([]Variance, len(sessions))
	for i, runs := range sessions {
		x := Known(runs)
		out[i], v[i] = summary{float64(len(x)), stat.Mean(x, nil)}, SampleVariance(x)
	}
	return out, Pool(v...)
}

// sessionMeans are the means of the sessions with values, and the sum of one over their numbers of runs.
func sessionMeans(s []summary) (means []float64, inverse float64) {
	for _, x := range s {
		if x.n > 0 {
			means = append(means, x.mean)
			inverse += 1 / x.n
		}
	}
	return means, inverse
}

// between is the variance between session means beyond what the variance between runs explains (method of moments
// for a one-way random-effects layout; Searle, Casella and McCulloch 1992, section 3.6).
func between(means []float64, inverse, run float64) Variance {
	v := SampleVariance(means)
	if v.DF > 0 {
		v.S2 = math.Max(0, v.S2-run*inverse/float64(len(means)))
	}
	return v
}
