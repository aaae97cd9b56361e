package insight

import (
	"github.com/nsgate/nsgate/gate/internal/explain/reason"
	"github.com/nsgate/nsgate/gate/internal/judge/decide"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// step says what most of a longer step is, and that outputs decide where they do.
func step(d *decide.Decision, x *result.Report) {
	if other := d.Matching.OtherCycle(); other != nil {
		x.Warn(*other)
	}
	x.Warn(d.Matching.OneStep()...)
	for i := range d.Findings {
		if m, _ := measure.MetricByName(d.Findings[i].Metric); m.OnHost() &&
			d.Findings[i].Subject() == measure.Workload {
			x.State(i, stepPart(d.Waterfall)...)
			x.State(i, result.SayIf(d.Yields(m.Name), reason.OutputDecides)...)
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
