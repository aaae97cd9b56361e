package decide

import (
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/recorded"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/stats"
	"github.com/nsgate/nsgate/gate/measure"
	"github.com/nsgate/nsgate/thresholds"
)

// comparison is what is judged: two sides under a policy.
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
	off         []result.Off             // runs that are left out
	few         *result.Remark           // why nothing is judged but bounds: too few runs, nil where there are enough
	single      string                   // the side that holds one run against several of the other, "" for none, see [comparison.singleRun]
	shift       float64                  // by which nearly all kernels moved together, 0 where they did not
	outlier     float64                  // by how much that run is off as a whole, 0 where it is not
	waterfall   *result.Waterfall        // of the typical step, nil where that is not known
}

func newComparison(base, head []model.Session, policy *thresholds.Policy) comparison {
	t := comparison{policy: policy, time: measure.Time, total: measure.Total, boards: boardsOf(base, head)}
	if recorded.ByLaunch(head) {
		t.time, t.total = model.NcuTime, model.NcuTime
	}
	t.base, t.head = recorded.New(base, t.total), recorded.New(head, t.total)
	for i := range base {
		for j := range head {
			if model.SameSession(base[i].Environment, head[j].Environment) {
				t.shared = append(t.shared, [2]int{i, j})
			}
			t.tick = math.Max(t.tick, math.Max(base[i].Tick, head[j].Tick))
		}
	}
	// Pairs leave out what has no partner. The base may have sessions to spare; all of the head is judged.
	for j := range head {
		if !slices.ContainsFunc(t.shared, func(p [2]int) bool { return p[1] == j }) {
			t.shared = nil
		}
	}
	// Nor may they leave out what only another session of the base holds, where what was accepted replaced a part of it.
	if partial(base) && !t.holdAll(base) {
		t.shared = nil
	}
	for _, p := range t.shared {
		b, h := &base[p[0]], &head[p[1]]
		t.batches = t.batches || !inTurn(b, h, false) || !inTurn(b, h, true)
	}
	return t.leaveOut().singleRun()
}

// holdAll reports whether the base sessions of the pairs together have every kernel of the base.
func (t comparison) holdAll(base []model.Session) bool {
	own := map[measure.Subject]bool{}
	for _, p := range t.shared {
		for _, x := range base[p[0]].Series {
			own[x.Subject] = true
		}
	}
	for _, x := range t.base.Subjects() {
		if x.Scope == measure.ScopeKernel && !own[x] {
			return false
		}
	}
	return true
}

// inTurn reports whether the traced or the untraced runs of two sides of one session were measured by turns, and saw the same
// clocks and temperatures: where the middle run of each lies among the runs of the other. Parts of one recording of which no run
// says its time are, and so is what one of them lacks.
func inTurn(a, b *model.Session, untraced bool) bool {
	if untraced && (a.Profiled() == len(a.Runs) || b.Profiled() == len(b.Runs)) {
		return true
	}
	times := func(s *model.Session) (out []float64) {
		for _, run := range s.Runs {
			if !run.Start.IsZero() && run.Unprofiled == untraced {
				out = append(out, float64(run.Start.UnixNano()))
			}
		}
		return out
	}
	x, y := times(a), times(b)
	if len(x) == 0 || len(y) == 0 {
		return len(x) == len(y) && a.Start.Equal(b.Start)
	}
	among := func(at float64, of []float64) bool { return slices.Min(of) <= at && at <= slices.Max(of) }
	return among(stats.Median(x), y) && among(stats.Median(y), x)
}

// hosts says how much is known of where sides of several sessions were measured: on "different" hosts, at different "times" on
// one GPU, or "unknown" where a profile does not name its GPU or time.
func (t comparison) hosts() string {
	if oneGPU(t.base.Sessions, t.head.Sessions) {
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
	return !t.batches && len(t.shared) == 0 && oneGPU(t.base.Sessions, t.head.Sessions)
}

// oneGPU reports whether all sessions of two sides are known to be of the same GPU.
func oneGPU(base, head []model.Session) bool {
	hash := head[len(head)-1].GPUHash
	return hash != "" && !slices.ContainsFunc(slices.Concat(base, head), func(s model.Session) bool { return s.GPUHash != hash })
}

// between is the least time between the beginnings of a base and a head session of one GPU, unknown where there are no such two.
func between(base, head []model.Session) result.Number {
	least := result.Unknown
	for _, b := range base {
		for _, h := range head {
			if b.GPUHash == "" || b.GPUHash != h.GPUHash || b.Start.IsZero() || h.Start.IsZero() {
				continue
			}
			if d := result.Number(h.Start.Sub(b.Start).Abs().Seconds()); !(least <= d) {
				least = d
			}
		}
	}
	return least
}
