package result

import (
	"slices"

	"github.com/nsgate/nsgate/gate/internal/model"
)

// Does is what a gate does: its exit code is 0 where it passes or warns.
type Does string

// What a gate does.
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

// applies are the verdicts that a way is for, and their reasons, none for any.
var applies = map[Way]struct {
	verdicts []Verdict
	reasons  []model.Kind
}{
	InShadow:    {[]Verdict{Pass, Fail, NoVerdict}, nil},
	Accepted:    {[]Verdict{Fail}, nil},
	FirstPasses: {[]Verdict{NoVerdict}, []model.Kind{model.NoBaseline}},
	FirstFails:  {[]Verdict{NoVerdict}, []model.Kind{model.NoBaseline, model.NoBaselineHere}},
	NotMeasured: {[]Verdict{NoVerdict}, []model.Kind{model.NoGPU}},
	OfDemo:      {[]Verdict{Pass, Fail}, nil},
	Interrupted: {[]Verdict{Pass, Fail, NoVerdict}, nil},
}

// Gated decides what a gate does, from the verdict, its reason and the [Way] of the report; of several workloads it is
// the worst. Nothing else decides it: not the exit code, and no format.
func (r *Report) Gated() Gate {
	if len(r.Workloads) > 0 {
		return worst(r.Workloads)
	}
	kind, of, g := model.Kind(r.ReasonKey), applies[r.Gate.Way], Gate{Does: NoAnswer, Code: 3}
	switch {
	case r.Verdict == NoVerdict && kind.Program(): // no way excuses it
		g.Code = 4
	case r.Verdict == Fail:
		g.Does, g.Code = Fails, 1
	case r.Verdict == Pass && r.Undecided:
		g.Does, g.Code = Warns, 0
	case r.Verdict == Pass:
		g.Does, g.Code = Passes, 0
	}
	if !slices.Contains(of.verdicts, r.Verdict) || of.reasons != nil && !slices.Contains(of.reasons, kind) {
		return g
	}
	switch g.Way = r.Gate.Way; {
	case g.Way == Interrupted:
		g.Code = max(r.Gate.Code, 129)
		if g.Does != Fails {
			g.Does = NoAnswer
		}
	case g.Way == FirstFails:
		g.Does, g.Code = Fails, 1
	case g.Code == 4:
		g.Way = ""
	case g.Code != 0:
		g.Does, g.Code = Warns, 0
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
