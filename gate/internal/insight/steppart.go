package insight

import (
	"github.com/nsgate/nsgate/gate/internal/reason"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/measure"
)

// StepPart is the part of a step that most of its change is, as a fact about it.
func StepPart(w *result.Waterfall) []result.Remark {
	if w == nil || len(w.Parts) == 0 || !(2*w.Parts[0].Change > w.Change) || w.Change < 0 {
		return nil
	}
	p := w.Parts[0]
	return []result.Remark{result.Say(reason.StepPart{Class: p.Class, Where: p.Where, Change: p.Change,
		Unit: measure.StepTime.Unit})}
}
