package gate

import (
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/stats"
	"github.com/nsgate/nsgate/gate/internal/timeline"
	"github.com/nsgate/nsgate/gate/measure"
)

// The period of a step is judged like other times, but for its noise. What the GPU does moves by tenths of a per cent between
// runs; what the CPU does in between is a mixture: most runs of a program that keeps its GPU busy have none of it, some have
// milliseconds, and under a profiler more (one unchanged PyTorch program, traced in one session: 7.5 to 12.6 ms a step,
// untraced 7.5 to 8.1).
const (
	// stepRunSD is the sd between runs that is expected of a steady program: 0.5 % of 40 runs on an H200.
	stepRunSD = 0.005
	// stepHostSD is that between hosts: of thirteen, twelve were within half a per cent and one 13 % slower, and a PyTorch program
	// near its launch limit took 40 % longer on one of two hosts with CPUs of one model. stepHostDF says how well it is known.
	stepHostSD, stepHostDF = 0.13, 12
	// stepBatchSD is that between batches of runs on one host.
	stepBatchSD = 0.01
	// strayFrom is how many sds from the middle of its side a run is a stray one, which counts as if it were so far.
	strayFrom = 3
	// first is the weight in the family-wise correction of what says whether the program is slower.
	first = 3
)

// steadied draws runs that are far from the others of their side, on either side of them, to where they are just so (Tukey's
// winsorizing), and keeps how far they were: a run that is off neither makes a finding nor hides one.
func steadied(p pair) pair {
	var residuals []float64
	middle := func(values []float64) float64 { return math.Log(stats.Median(known(values))) }
	sides := [2][][]float64{p.base, p.head}
	for _, side := range sides {
		for _, session := range side {
			for _, v := range known(session) {
				residuals = append(residuals, math.Abs(math.Log(v)-middle(session)))
			}
		}
	}
	p.spread = slices.Max(append(residuals, 0))
	most := strayFrom * math.Max(stats.Median(residuals)/normalQuartile, stepRunSD)
	for i, side := range sides {
		sides[i] = make([][]float64, len(side))
		for j, session := range side {
			m := middle(session)
			sides[i][j] = slices.Clone(session)
			for k, v := range session {
				if by := math.Log(v) - m; math.Abs(by) > most {
					p.strays = append(p.strays, math.Abs(by))
					sides[i][j][k] = math.Exp(m + math.Copysign(most, by))
				}
			}
		}
	}
	p.base, p.head = sides[0], sides[1]
	return p
}

// stepPool is what is expected of a step's variance between runs before it was seen.
func stepPool(p pool) pool {
	for _, v := range []*stats.Variance{&p.prior, &p.sides[0], &p.sides[1]} {
		*v = stats.Variance{S2: stepRunSD * stepRunSD, DF: runPrior.DF}
	}
	return p
}

// stepSessions is the variance of steps between sessions.
func stepSessions(t trial) stats.Variance {
	if t.batches {
		return stats.Variance{S2: stepBatchSD * stepBatchSD, DF: stepHostDF}
	}
	return stats.Variance{S2: stepHostSD * stepHostSD, DF: stepHostDF}
}

// stepLuck is the chance that so many runs of the head lie beyond the base by being stray ones, as some of both sides are that
// are at least half as far off as the change: the variance knows nothing of those.
func (t trial) stepLuck(e *estimate) float64 {
	n := len(known(slices.Concat(slices.Concat(e.base, e.head)...)))
	head := len(known(slices.Concat(e.head...)))
	if n == 0 || head == 0 {
		return 0
	}
	off := head // what it takes to be sure of the smallest change that can be found
	if sign := math.Copysign(1, e.contrast.Estimate); e.natural(sign*e.contrast.Estimate) > e.limit.Max {
		off = len(apart(*e, e.limit.Max, sign))
	}
	stray := 0.5
	for _, by := range e.strays {
		if 2*by >= math.Abs(e.contrast.Estimate) {
			stray++
		}
	}
	luck := stats.AtLeast(off, head, stray/float64(n+1))
	// Where runs of a side differ by a good part of the change, they may fall on levels of which each takes its own.
	near := 4*e.spread >= math.Abs(e.contrast.Estimate)
	switch {
	case near:
		luck = math.Max(luck, stats.Apart(off, head, n-head))
	case t.lone != "" && stray < 1:
		return 0 // no run is anything like that, and of so few it says no more: see [trial.byChance]
	}
	return luck
}

// decideStep is what an open period of a step comes to, for which a.because and a.undecided say what they would of another
// time. That a profiler, or a host, makes steps too noisy to say anything is no reason to hold up a merge, and is said; that they
// probably got longer is.
func decideStep(t trial, e estimate, f Finding, a answer, least, limit float64) answer {
	across := e.contrast.SessionWeight > 0 && !t.batches
	longer := e.contrast.Estimate > stats.Margin(e.variance, confidence) && float64(a.change) > limit
	a.doubted = f.Gates && least > limit
	a.undecided = a.doubted || f.Gates && longer && !across
	return a
}

// reach widens an interval to no change at all where stray runs alone make one of this size too often for a gate.
func (e *estimate) reach(t trial, low, high float64) (float64, float64) {
	if e.isStep() && e.luck >= t.policy.Alpha/2 {
		return math.Min(low, 0), math.Max(high, 0)
	}
	return low, high
}

// mostly is the part of a step that most of its change is, as a fact about it.
func mostly(w *Waterfall) []Remark {
	if w == nil || len(w.Parts) == 0 || !(2*w.Parts[0].Change > w.Change) || w.Change < 0 {
		return nil
	}
	p := w.Parts[0]
	return []Remark{remark("step-part", Args{"class": p.Class, "where": p.Where, "change": p.Change, "unit": measure.StepTime.Unit})}
}

// heldUp reports whether most of what a step grew by is time in which an operation was issued and nothing else of the program
// ran: then the GPU worked for another program, or waited for something that the recording does not show.
func heldUp(w *Waterfall) bool {
	if w == nil {
		return false
	}
	for _, p := range w.Parts {
		if p.Class == timeline.Stalled.String() {
			return 2*p.Change > w.Change
		}
	}
	return false
}

// isStep reports whether a pair is the period of a step.
func (p *pair) isStep() bool { return p.metric.Name == measure.StepTime.Name }
