package decide

import (
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/recorded"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/measure"
	"github.com/nsgate/nsgate/thresholds"
)

// comparison is two sides under a policy.
type comparison struct {
	policy *thresholds.Policy
	// time is how long one launch takes by the profiler of both sides, total what a kernel costs: by Nsight Compute, which
	// profiles a few launches of each kernel, both are the duration of a launch.
	time, total measure.Metric
	base, head  *recorded.Index
	shared      [][2]int // pairs of a base and a head session that are one session
	batches     bool     // they are one session, but not measured in turn
	tick        float64
	boards      result.Boards
	bound       map[measure.Subject]bool // kernels that are known to be memory-bound
	outlierRuns []result.OutlierRun      // runs that are left out
	trend       *trend                   // of two batches, nil where there is none
	few         *result.Remark           // why nothing is judged but bounds: too few runs, nil where there are enough
	single      string                   // the side that holds one run against several of the other, "" for none, see [comparison.singleRun]
	shift       float64                  // by which nearly all kernels moved together, 0 where they did not
	outlier     float64                  // by how much that run differs as a whole, 0 where it does not
	speed       *hostSpeed               // of the head's host, nil where it is not known
	noSpeed     hostRefusal              // why
	waterfall   *result.Waterfall        // of the typical step, nil where that is not known
}

// hosts says how much is known of where sides of several sessions were measured: on "different" hosts, at different "times" on
// one GPU, or "unknown" where a profile does not name its GPU or time.
func (t comparison) hosts() string {
	if recorded.OneGPU(t.base.Sessions, t.head.Sessions) {
		return "times"
	}
	for _, s := range slices.Concat(t.base.Sessions, t.head.Sessions) {
		if s.GPUHash == "" || s.Start.IsZero() {
			return "unknown"
		}
	}
	return "different"
}

// oneGPU reports whether the sides are sessions of one GPU at different times.
func (t comparison) oneGPU() bool {
	return !t.batches && len(t.shared) == 0 && recorded.OneGPU(t.base.Sessions, t.head.Sessions)
}

// share is the part of the workload's GPU time that a pair is about, the larger of base and head.
func (t comparison) share(p pair) float64 {
	if p.subject.Scope == measure.ScopeSection {
		return math.Max(t.base.ShareOfRun(p.subject, p.metric), t.head.ShareOfRun(p.subject, p.metric))
	}
	if p.match != "" && p.match != "exact" && p.metric.Name == t.total.Name {
		return math.Max(recorded.Typical(p.base)/t.base.Whole, recorded.Typical(p.head)/t.head.Whole)
	}
	return math.Max(t.base.Share(p.subject), t.head.Share(p.subject))
}
