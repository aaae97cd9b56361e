package decide

import (
	"math"

	"github.com/nsgate/nsgate/gate/internal/judge/align"
	"github.com/nsgate/nsgate/gate/internal/judge/match"
	"github.com/nsgate/nsgate/gate/internal/judge/recorded"
	"github.com/nsgate/nsgate/gate/internal/judge/stats"
	"github.com/nsgate/nsgate/gate/internal/judge/verdict"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/reduce/attribution"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// Forecast is one comparison of a gate that is planned.
type Forecast struct {
	estimate
	Finding result.Finding
	alpha   float64 // the part of the gate's error that it may spend
}

// forecasts are those of the outputs, of rows of benchmark files, of the workload's GPU time and of the times of
// kernels from the policy's impact on. The alphas are those of the first step of Holm's procedure.
func forecasts(policy *thresholds.Resolved, estimates []estimate, findings []result.Finding) []Forecast {
	total := 0.0
	for i, e := range estimates {
		if findings[i].Gates {
			total += e.weight()
		}
	}
	var out []Forecast
	for i, e := range estimates {
		f := findings[i]
		kernel := f.Scope == measure.ScopeKernel && f.Metric == measure.Time.Name &&
			float64(f.Share) >= recorded.KernelShare
		workload := e.Subject == measure.Workload && f.Metric == measure.GPUTime.Name
		row := e.Subject.Scope == measure.ScopeBenchmark && f.Gates
		output := e.Compared() && (e.Subject.Scope == measure.ScopeOutput || row)
		if e.Listed == "" && f.Base > 0 && (kernel || workload || output) {
			out = append(out, Forecast{e, f, policy.Alpha * e.weight() / total})
		}
	}
	return out
}

// Detectable are the smallest relative effects that gates of 0, 1, 2 … runs a side or more would find in 80 % of cases,
// if the spread between runs is what it is here. A noisy kernel's real spread counts even where few runs would moderate
// it away.
func (f *Forecast) Detectable(limit float64) []float64 {
	out := make([]float64, MaxRuns+1)
	limit = f.working(math.Max(limit, float64(f.Finding.Floor/f.Finding.Base)))
	most := 0.0
	if f.contrast.Run.DF == 0 {
		most = math.Inf(1) // in too few runs to know its spread
	}
	for n := MaxRuns; n >= 0; n-- {
		if n >= stats.MinRuns {
			raw := stats.Variance{S2: f.contrast.Run.S2, DF: float64(2*n - 2)}
			v := f.pool.moderate(raw, f.pool.prior)
			v.S2 = math.Max(v.S2, raw.S2) * 2 / float64(n)
			most = math.Max(most, f.natural(stats.Detectable(v, limit, f.alpha, result.Power)))
		}
		out[n] = most
	}
	return out
}

// JudgeHalves compares two halves of a session, and returns a forecast of every comparison, or why there is none.
func JudgeHalves(base, head []model.Session, policy *thresholds.Resolved) ([]Forecast, *result.Remark) {
	if _, r := align.Comparable(base, head); r != nil {
		return nil, r
	}
	t := newComparison(base, head, policy)
	t.waterfall = attribution.NewWaterfall(t.Base, t.Head, nil, t.outlierRuns)
	estimates := estimates(&t, match.Pairs(t.Sides))
	findings, family := decide(t, estimates)
	if family == 0 {
		return nil, verdict.NothingJudged(t.Policy)
	}
	return forecasts(policy, estimates, findings), nil
}
