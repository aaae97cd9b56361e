package decide

import (
	"math"

	"github.com/nsgate/nsgate/gate/internal/reason"
	"github.com/nsgate/nsgate/gate/internal/recorded"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/measure"
)

// wholeRun is the wall time or GPU time of a typical run, 0 where it is not known.
func wholeRun(s *recorded.Index, m measure.Metric) float64 {
	sum := 0.0
	for _, section := range measure.Sections {
		if v := s.Typical(section, m.Name); !math.IsNaN(v) {
			sum += v
		}
	}
	return sum
}

// shareOfRun is the part of the run that a section takes.
func shareOfRun(s *recorded.Index, section measure.Subject, m measure.Metric) float64 {
	part, whole := s.Typical(section, m.Name), wholeRun(s, m)
	if math.IsNaN(part) || !(whole > 0) {
		return 0
	}
	return math.Min(part/whole, 1)
}

// sectioned reports whether a section is comparable: both sides know it, and as warm-up they left out as many steps.
func (t comparison) sectioned(s measure.Subject) bool {
	if !t.head.Has(s) {
		return false
	}
	if s != measure.Warmup {
		return true
	}
	base, head := t.skipped()
	return base == head
}

// uncovered says where the steps are less than most of the head, and where it left out more of them as warm-up than the baseline.
func uncovered(t comparison) (out []result.Remark) {
	const most = 0.9
	step := t.head.Sessions[len(t.head.Sessions)-1].Step
	covered := shareOfRun(t.head, measure.Warmup, measure.GPUTime) + shareOfRun(t.head, measure.Steps, measure.GPUTime) +
		shareOfRun(t.head, measure.Between, measure.GPUTime)
	if step != "" && covered > 0 && covered < most {
		out = append(out, result.Say(reason.StepsCover{Range: step, Share: result.Number(covered)}))
	}
	if base, head := t.skipped(); head > base {
		out = append(out, result.Say(reason.SkipsMore{Base: result.Number(base), Head: result.Number(head)}))
	}
	return out
}

// skipped is how many steps the sides left out as warm-up, NaN where that is not known.
func (t comparison) skipped() (base, head float64) {
	return t.base.Typical(measure.Warmup, measure.Repeats.Name), t.head.Typical(measure.Warmup, measure.Repeats.Name)
}
