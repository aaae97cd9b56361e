package decide

import (
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/recorded"
	"github.com/nsgate/nsgate/gate/internal/stats"
	"github.com/nsgate/nsgate/gate/measure"
	"github.com/nsgate/nsgate/thresholds"
)

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
	// Sessions of the baseline without a partner are left out. All of the head is judged.
	for j := range head {
		if !slices.ContainsFunc(t.shared, func(p [2]int) bool { return p[1] == j }) {
			t.shared = nil
		}
	}
	// Where an accepted part replaced kernels of the baseline, no session with other kernels may be left out.
	if partial(base) && !t.holdAll(base) {
		t.shared = nil
	}
	for _, p := range t.shared {
		b, h := &base[p[0]], &head[p[1]]
		t.batches = t.batches || !interleaved(b, h, false) || !interleaved(b, h, true)
	}
	t = t.leaveOut().singleRun()
	t.trend = t.findTrend()
	return t
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

// interleaved reports whether the profiled, or the unprofiled, runs of two sides of one session alternate, so that both saw the same
// clocks and temperatures: the middle run of each lies among the runs of the other. Parts of one recording without times are
// interleaved, and so are runs that one side lacks.
func interleaved(a, b *model.Session, unprofiled bool) bool {
	if unprofiled && (a.Profiled() == len(a.Runs) || b.Profiled() == len(b.Runs)) {
		return true
	}
	times := func(s *model.Session) (out []float64) {
		for _, run := range s.Runs {
			if !run.Start.IsZero() && run.Unprofiled == unprofiled {
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
