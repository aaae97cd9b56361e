package stats

import (
	"math"
	"slices"
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
