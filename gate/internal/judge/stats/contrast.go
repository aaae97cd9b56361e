package stats

import (
	"math"

	"gonum.org/v1/gonum/stat"
)

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
// NaN where a side has no value.
func NewContrast(base, head [][]float64, shared [][2]int) Contrast {
	var c Contrast
	var b, h []summary
	b, c.Sides[0] = summarise(base)
	h, c.Sides[1] = summarise(head)
	c.Run = Pool(c.Sides[:]...)

	var weight, sum float64
	for _, p := range shared {
		x, y := b[p[0]], h[p[1]]
		if x.n == 0 || y.n == 0 {
			continue
		}
		w := 1 / (1/x.n + 1/y.n)
		sum += w * (y.mean - x.mean)
		c.Means[0] += w * x.mean
		c.Means[1] += w * y.mean
		weight += w
		c.PairWeight += 2 * w * w
		c.SideWeights[0] += w * w / x.n
		c.SideWeights[1] += w * w / y.n
	}
	if weight > 0 {
		c.Means[0] /= weight
		c.Means[1] /= weight
		c.PairWeight /= weight * weight
		c.SideWeights[0] /= weight * weight
		c.SideWeights[1] /= weight * weight
		c.Estimate = sum / weight
		c.RunWeight = 1 / weight
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
