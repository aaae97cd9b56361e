package insight

import (
	"cmp"
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/explain/reason"
	"github.com/nsgate/nsgate/gate/internal/judge/decide"
	"github.com/nsgate/nsgate/gate/internal/judge/recorded"
	"github.com/nsgate/nsgate/gate/internal/judge/stats"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// step says what most of a longer step is.
func step(d *decide.Decision, x *result.Report) {
	if other := d.Matching.OtherCycle(); other != nil {
		x.Warn(*other)
	}
	x.Warn(d.Matching.OneStep()...)
	for i := range d.Findings {
		if m, _ := measure.MetricByName(d.Findings[i].Metric); m.OnHost() &&
			d.Findings[i].Subject() == measure.Workload {
			x.State(i, stepPart(d.Waterfall)...)
		}
	}
}

// stepPart is the part of a step that most of its change is, as a fact about it.
func stepPart(w *result.Waterfall) []result.Remark {
	if w == nil || len(w.Parts) == 0 || !(2*w.Parts[0].Change > w.Change) || w.Change < 0 {
		return nil
	}
	p := w.Parts[0]
	return []result.Remark{result.Say(reason.StepPart{Class: p.Class, Where: p.Where, Change: p.Change,
		Unit: measure.StepTime.Unit})}
}

// factsOf explains the finding on a metric of the whole workload by facts about both sides.
func factsOf(m measure.Metric, facts func(base, head *recorded.Index) []result.Remark) func(*decide.Decision,
	*result.Report) {
	return func(d *decide.Decision, x *result.Report) {
		for i := range d.Findings {
			if f := &d.Findings[i]; f.Metric == m.Name && f.Subject() == measure.Workload {
				x.State(i, facts(d.Matching.Base, d.Matching.Head)...)
			}
		}
	}
}

// subjects are those of both sides, sorted.
func subjects(base, head *recorded.Index) []measure.Subject {
	all := slices.Concat(base.Subjects(), head.Subjects())
	slices.SortFunc(all, measure.Subject.Compare)
	return slices.Compact(all)
}

// changedCalls names the functions with a changed count of synchronising calls, and the range of these calls.
func changedCalls(base, head *recorded.Index) []result.Remark {
	typical := func(s *recorded.Index, subject measure.Subject) float64 {
		var values []float64
		for i, all := range s.Values(measure.Workload, measure.SyncCalls.Name) {
			of := s.Values(subject, measure.SyncCalls.Name)[i]
			for run, v := range all {
				if !math.IsNaN(v) { // the run has a list of calls, perhaps without this one
					values = append(values, float64(result.Number(of[run]).Or(0)))
				}
			}
		}
		return stats.Median(values)
	}
	var out []result.Remark
	for _, s := range subjects(base, head) {
		if s.Scope != measure.ScopeCall {
			continue
		}
		if b, h := typical(base, s), typical(head, s); b != h {
			role := ""
			if x := head.Find(s, measure.SyncCalls.Name); x != nil {
				role = x.Role
			}
			out = append(out, result.Say(reason.Calls{Call: s.Name, Base: result.Number(b), Head: result.Number(h),
				Range: role}))
		}
	}
	return out
}

// utilization lists the steps and the ranges with sampled metrics of the GPU in the head, the ranges with the most GPU
// time first, and notes those that were too short for it.
func utilization(d *decide.Decision, x *result.Report) {
	base, head := d.Matching.Base, d.Matching.Head
	if !head.HasMetric(measure.Workload, measure.SamplingPeriod.Name) {
		return
	}
	isRange := func(s measure.Subject) bool { return s.Scope == measure.ScopeRange }
	subjects := append([]measure.Subject{measure.Workload}, measure.Where(head.Subjects(), isRange)...)
	slices.SortStableFunc(subjects[1:], func(a, b measure.Subject) int {
		return cmp.Compare(head.Share(b), head.Share(a))
	})
	var without []string
	for _, s := range subjects {
		u := result.Utilization{Range: s.Name}
		for _, m := range measure.GPUMetrics {
			if v := head.Typical(s, m.Name); !math.IsNaN(v) {
				u.Metrics = append(u.Metrics, result.CauseMetric{Name: m.Name, Unit: m.Unit,
					Base: result.Number(base.Typical(s, m.Name)), Head: result.Number(v)})
			}
		}
		if len(u.Metrics) > 0 {
			x.Utilization = append(x.Utilization, u)
		} else {
			without = append(without, s.Name)
		}
	}
	if len(without) > 0 {
		period := result.Number(head.Typical(measure.Workload, measure.SamplingPeriod.Name))
		x.Note(result.Say(TooShort{without, period, measure.SamplingPeriod.Unit}))
	}
}

// memoryGrowth are the facts that go with a peak of device memory: where it is, and the ranges that request more of it,
// the largest increase first.
func memoryGrowth(base, head *recorded.Index) []result.Remark {
	var out []result.Remark
	peak := func(s *recorded.Index) string { return s.Note(measure.Workload, measure.MemoryPeak.Name) }
	if at, was := peak(head), peak(base); at != "" {
		out = append(out, result.Say(PeakAt{at, measure.Either(was == at, "", was)}))
	}
	type growth struct {
		name       string
		base, head float64
	}
	var all []growth
	rest := growth{"", base.Typical(measure.Workload, measure.MemoryPeak.Name),
		head.Typical(measure.Workload, measure.MemoryPeak.Name)}
	held := func(s *recorded.Index, of measure.Subject) float64 { // 0 where nothing was requested
		return float64(result.Number(s.Typical(of, measure.MemoryHeld.Name)).Or(0))
	}
	for _, s := range subjects(base, head) {
		g := growth{s.Name, held(base, s), held(head, s)}
		if s.Scope == measure.ScopeRange && (g.base > 0 || g.head > 0) {
			all = append(all, g)
			rest.base, rest.head = rest.base-g.base, rest.head-g.head
		}
	}
	all = append(all, rest)
	measure.Sort(all, func(a, b growth) int { return cmp.Compare(b.head-b.base, a.head-a.base) })
	for _, g := range all[:min(len(all), 3)] {
		if g.head > g.base {
			out = append(out, result.Say(MemoryGrew{g.name, result.Number(g.base), result.Number(g.head),
				measure.MemoryHeld.Unit}))
		}
	}
	return out
}
