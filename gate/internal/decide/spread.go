package decide

import (
	"math"

	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/stats"
	"github.com/nsgate/nsgate/gate/measure"
)

// spreads is how much sessions of a kernel are expected to differ before its own are seen: where they are batches of one GPU, and
// where they are of several hosts.
type spreads struct {
	common stats.Variance // of all that is of no family
	// bound is that of memory-bound kernels, where the sides were measured on one board. There a baseline of
	// several sessions may narrow the prior.
	bound stats.Variance
	prior float64 // the policy's variance
	// heaviest is the largest part of GPU time that a kernel has.
	heaviest float64
}

// newSpreads learns from all kernels of this gate: most of them did not change, so their typical change between the sides is the
// effect of the hosts. The estimate is robust against the few that did change, and joined with
// the policy's prior. On one board the sessions of the base count as well, each kernel's among the others.
func newSpreads(t comparison, estimates []estimate) spreads {
	sd, least := t.policy.SessionSD, stats.PoolLeast
	switch {
	case t.batches:
		sd, least = batchSD, batchLeast
		if t.trend != nil {
			sd = math.Hypot(sd, trendError*t.trend.shift)
		}
	case t.oneGPU():
		sd, least = math.Min(sd, daySD), batchLeast
	}
	s := spreads{prior: sd * sd, common: stats.Variance{S2: sd * sd, DF: stats.SessionWeight}, bound: stats.Variance{S2: sd * sd * boundPart * boundPart, DF: boundDF}}
	var scaled []float64
	var own, bound, runs []stats.Variance
	for _, e := range estimates {
		w := e.contrast.SessionWeight
		if !e.compared() || w == 0 || e.metric.Name != t.time.Name || t.share(e.pair) < t.policy.Impact {
			continue
		}
		s.heaviest = math.Max(s.heaviest, t.share(e.pair))
		runs = append(runs, e.contrast.Run)
		scaled = append(scaled, math.Abs(e.contrast.Estimate)/math.Sqrt(w))
		if t.bound[e.subject] {
			bound = append(bound, e.contrast.Session)
		} else {
			own = append(own, e.contrast.Session)
		}
	}
	if t.severalOnBoard() {
		if narrowed := stats.Pool(append(own, stats.Variance{S2: s.prior, DF: boardWeight})...); len(own) >= familyLeast || narrowed.S2 > s.common.S2 {
			s.common = narrowed
		}
		s.bound = stats.Pool(append(bound, s.bound)...)
	}
	if n := float64(len(scaled)); len(scaled) >= least {
		seen := stats.Median(scaled) / stats.NormalQuartile
		if together := stats.Pool(s.common, stats.Variance{S2: seen * seen, DF: medianEfficiency * n}); !t.severalOnBoard() || together.S2 > s.common.S2 {
			s.common = together
		}
		// Beyond that it is not hosts of one model that differ, nor sessions of one GPU.
		most := sessionMost * sessionMost * t.policy.SessionSD * t.policy.SessionSD
		if known := stats.Positive(runs); t.batches || t.oneGPU() {
			most = s.prior
			if len(known) > 0 {
				most = math.Max(most, batchMost*batchMost*stats.Typical(known))
			}
		}
		s.common.S2 = math.Min(s.common.S2, most)
	}
	return s
}

// oneBoard reports whether the sides are sessions of their own on one known board.
func (t comparison) oneBoard() bool { return t.boards == result.SameBoard && !t.batches }

// severalOnBoard reports whether they are, and a side has several of them, which show the spread between sessions.
func (t comparison) severalOnBoard() bool {
	return t.oneBoard() && len(t.base.Sessions)+len(t.head.Sessions) > 2
}

// of is the variance between sessions of an estimate, moderated by that of its family.
func (s *spreads) of(t comparison, e *estimate) stats.Variance {
	if e.dependsOnHost() {
		expected := outputSessions(t)
		if e.isStep() {
			expected = stepSessions(t, e.metric)
		}
		if t.oneGPU() {
			return stats.Moderate(e.contrast.Session, expected) // sessions of this GPU show how far it differs from itself
		}
		v := stats.Variance{S2: math.Max(stats.Pool(e.contrast.Session, expected).S2, expected.S2), DF: stats.SessionDF}
		if t.batches {
			v.DF = expected.DF
		}
		return v
	}
	if t.batches {
		v := stats.Pool(e.contrast.Session, s.common)
		return stats.Variance{S2: math.Max(v.S2, s.common.S2), DF: s.common.DF}
	}
	var v stats.Variance
	switch {
	case t.oneBoard() && t.bound[e.subject]:
		v = stats.Moderate(e.contrast.Session, s.bound)
	case !t.severalOnBoard():
		// What this kernel's own sessions show can widen the term, not narrow it: two or three hosts may well be of one
		// kind, and the next of another.
		v = stats.Pool(e.contrast.Session, s.common)
		v = stats.Variance{S2: math.Max(v.S2, s.common.S2), DF: stats.SessionDF}
	case e.subject.Scope == measure.ScopeWorkload && e.subject != measure.Workload:
		v = stats.Moderate(e.contrast.Session, stats.Variance{S2: math.Max(s.prior, s.common.S2), DF: stats.SessionWeight})
	default:
		v = stats.Moderate(e.contrast.Session, s.common)
	}
	if e.metric.Name == measure.Time.Name {
		v.S2 = math.Max(v.S2, math.Pow(hostTicks*t.tick/stats.Average(e.base), 2))
	}
	return v
}

// hostEffect is the relative change up to which an estimate may be the host's, whatever its variance: a single kernel's, or the part that
// it has in a sum. Nothing where hosts of one board show that the kernel is quiet.
func (s *spreads) hostEffect(t comparison, e *estimate) float64 {
	shown := t.severalOnBoard() || t.oneBoard() && t.bound[e.subject]
	if t.batches || t.oneGPU() || e.dependsOnHost() || shown && e.session.S2 < quietPart*s.prior || e.metric.Unit != measure.Time.Unit {
		return 0
	}
	if share := t.share(e.pair); e.subject.Scope != measure.ScopeKernel && share > 0 {
		return hostEffectMost * math.Min(1, s.heaviest/share)
	}
	return hostEffectMost
}
