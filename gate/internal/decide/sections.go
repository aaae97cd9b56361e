package decide

import (
	"github.com/nsgate/nsgate/gate/internal/reason"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/measure"
)

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
	covered := t.head.ShareOfRun(measure.Warmup, measure.GPUTime) + t.head.ShareOfRun(measure.Steps, measure.GPUTime) +
		t.head.ShareOfRun(measure.Between, measure.GPUTime)
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
