package decide

import (
	"cmp"
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/large"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/measure"
)

// Utilization is how the workload's steps, or a range, used the GPU: what was sampled of it in base and head. It judges
// nothing; a rule that names one of the metrics makes a [Finding] of it.
type Utilization struct {
	Range   string        `json:"range,omitempty"` // "" for the steps
	Metrics []CauseMetric `json:"metrics"`         // medians over the runs
}

// utilization lists the steps and the ranges of which the GPU's metrics were sampled in the head, the ranges with the most
// GPU time first; and those that were too short for it.
func utilization(t trial) (out []Utilization, short []Remark) {
	if !t.head.hasMetric(measure.Workload, model.SamplingPeriod.Name) {
		return nil, nil
	}
	subjects := []measure.Subject{measure.Workload}
	for _, s := range t.head.subjects() {
		if s.Scope == measure.ScopeRange {
			subjects = append(subjects, s)
		}
	}
	large.Sort(subjects[1:], func(a, b measure.Subject) int { return cmp.Compare(t.head.share(b), t.head.share(a)) })
	var without []string
	for _, s := range subjects {
		u := Utilization{Range: s.Name}
		for _, m := range measure.GPUMetrics {
			if head := t.head.typical(s, m.Name); !math.IsNaN(head) {
				u.Metrics = append(u.Metrics, CauseMetric{m.Name, m.Unit, Number(t.base.typical(s, m.Name)), Number(head)})
			}
		}
		if len(u.Metrics) > 0 {
			out = append(out, u)
		} else {
			without = append(without, s.Name)
		}
	}
	if len(without) > 0 {
		short = append(short, remark("too-short", Args{"ranges": without, "unit": model.SamplingPeriod.Unit,
			"period": Number(t.head.typical(measure.Workload, model.SamplingPeriod.Name))}))
	}
	return out, short
}

// grown are the facts that go with a peak of device memory: where it is, and what of it grew, the most first.
func grown(t trial) []Remark {
	var out []Remark
	peak := func(s *side) string { return s.note(measure.Workload, measure.MemoryPeak.Name) }
	if at, was := peak(t.head), peak(t.base); at != "" {
		if was == at {
			was = ""
		}
		out = append(out, remark("peak-at", Args{"head": at, "base": was}))
	}
	type growth struct {
		name       string
		base, head float64
	}
	var all []growth
	rest := growth{"", t.base.typical(measure.Workload, measure.MemoryPeak.Name), t.head.typical(measure.Workload, measure.MemoryPeak.Name)}
	held := func(s *side, of measure.Subject) float64 {
		if v := s.typical(of, measure.MemoryHeld.Name); !math.IsNaN(v) {
			return v
		}
		return 0 // nothing was requested there
	}
	known := slices.Concat(t.base.subjects(), t.head.subjects())
	slices.SortFunc(known, measure.Subject.Compare)
	for _, s := range slices.Compact(known) {
		g := growth{s.Name, held(t.base, s), held(t.head, s)}
		if s.Scope == measure.ScopeRange && (g.base > 0 || g.head > 0) {
			all = append(all, g)
			rest.base, rest.head = rest.base-g.base, rest.head-g.head
		}
	}
	all = append(all, rest)
	large.Sort(all, func(a, b growth) int { return cmp.Compare(b.head-b.base, a.head-a.base) })
	for _, g := range all[:min(len(all), 3)] {
		if g.head > g.base {
			out = append(out, remark("grew", Args{"range": g.name, "base": Number(g.base), "head": Number(g.head), "unit": measure.MemoryHeld.Unit}))
		}
	}
	return out
}
