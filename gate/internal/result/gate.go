package result

import (
	"slices"

	"github.com/nsgate/nsgate/gate/internal/model"
)

// Does is what a gate does: its exit code is 0 where it passes or warns.
type Does string

// Results of a gate.
const (
	Passes   Does = "passes"
	Warns    Does = "warns"
	NoAnswer Does = "no verdict"
	Fails    Does = "fails"
)

// Way is why a gate does something else than its verdict says.
type Way string

// The ways, "" for none.
const (
	InShadow    Way = "shadow"
	Accepted    Way = "accepted" // by a label
	FirstPasses Way = "no-baseline=pass"
	FirstFails  Way = "no-baseline=fail"
	NotMeasured Way = "no-gpu=skip"
	OfDemo      Way = "demo"
	Interrupted Way = "interrupted"
)

// Gate is what a gate does about a report, and the exit code for it. Every format prints it.
type Gate struct {
	Does Does `json:"does"`
	Code int  `json:"exit_code"`
	Way  Way  `json:"way,omitempty"`
}

// refusals are those that a way is for; shadow is for all.
var refusals = map[Way][]model.Kind{FirstPasses: {model.NoBaseline}, NotMeasured: {model.NoGPU},
	FirstFails: {model.NoBaseline, model.NoBaselineHere}}

// Gated decides what a gate does, from the verdict, its reason and the [Way] of the report; of several workloads it is
// the worst. Nothing else decides it: not the exit code, and no format.
func (r *Report) Gated() Gate {
	if len(r.Workloads) > 0 {
		return worst(r.Workloads)
	}
	way, kind, g := r.Gate.Way, model.Kind(r.ReasonKey), Gate{Does: NoAnswer, Code: 3}
	switch {
	case r.Verdict == Fail:
		g.Does, g.Code = Fails, 1
	case r.Verdict == Pass && r.Undecided:
		g.Does, g.Code = Warns, 0
	case r.Verdict == Pass:
		g.Does, g.Code = Passes, 0
	case kind.Program(): // no way excuses it
		g.Code = 4
	}
	refused := g.Code == 3 && (way == InShadow || slices.Contains(refusals[way], kind))
	switch {
	case way == Interrupted:
		g = Gate{NoAnswer, max(r.Gate.Code, 129), way}
		if r.Verdict == Fail {
			g.Does = Fails
		}
	case refused && way == FirstFails:
		g = Gate{Fails, 1, way}
	case refused, g.Code == 1 && (way == InShadow || way == Accepted || way == OfDemo):
		g = Gate{Warns, 0, way}
	case g.Code == 0 && (way == InShadow || way == OfDemo):
		g.Way = way
	}
	return g
}

// worst is the gate of several workloads, with a way where one excuses the worst of those that do not fail.
func worst(workloads []*Report) (all Gate) {
	rank := func(g Gate) int {
		n := 4 * slices.Index([]Does{Passes, Warns, NoAnswer, Fails}, g.Does)
		switch {
		case g.Code == 4, g.Code == 0 && g.Way != "", g.Does == Fails && g.Way == "":
			n++
		}
		return n
	}
	for _, w := range workloads {
		if g := w.Gated(); all.Does == "" || rank(g) > rank(all) {
			all = g
		}
	}
	return all
}
