package result

import (
	"cmp"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/thresholds"
)

// Each lists the reports that hold findings: those of the workloads, or the report itself.
func (r *Report) Each() []*Report {
	return measure.Either(len(r.Workloads) > 0, r.Workloads, []*Report{r})
}

// OverDrift reports whether something drifted further than a rule allows: to accept it takes a new anchor.
func (r *Report) OverDrift() bool {
	return r.ReasonKey == KeyOverDrift ||
		slices.ContainsFunc(r.Doubts, func(x Remark) bool { return x.Key == KeyOverDrift })
}

// Addition is what is known of a report beside its verdict. Empty fields add nothing; lists are appended, other values
// replace those before.
type Addition struct {
	Workload, Baseline string
	Gate               Gate // the way, and the exit code of an interrupted gate
	// Doubts and Remarks become warnings and notes, in front of these.
	Doubts, Remarks       []Remark
	Warnings, Notes, Next []string
	First                 func(step string) string // completes the first of the next steps that are there
	Reproduce, Accept     string
	Calls                 *Calls
	Uncalled              bool // no command settles what is undecided
	Spent                 *Spent
	Drawn                 *Drawn
	Measured              *Summary
	HeadSessions          []model.Session
	// Basis completes the basis of a judgement.
	Basis func(*Basis)
	// Local is the basis of a report about a baseline of this user alone, which names none; else nil.
	Local *Basis
}

// Append adds to a report after its verdict. Nothing else changes it then, but [Report.State] and [Report.Explain],
// which explain findings.
func (r *Report) Append(x Addition) {
	if x.First != nil && len(r.Next) > 0 {
		r.Next[0] = x.First(r.Next[0])
	}
	r.Doubts, r.Remarks = append(r.Doubts, x.Doubts...), append(r.Remarks, x.Remarks...)
	r.Warnings = slices.Concat(r.Warnings, sentences(x.Doubts), x.Warnings)
	r.Notes = slices.Concat(r.Notes, sentences(x.Remarks), x.Notes)
	r.Next = slices.Concat(r.Next, x.Next)
	if x.Uncalled {
		r.Calls = nil
	}
	r.Workload, r.Baseline = cmp.Or(x.Workload, r.Workload), cmp.Or(x.Baseline, r.Baseline)
	r.Reproduce, r.Accept = cmp.Or(x.Reproduce, r.Reproduce), cmp.Or(x.Accept, r.Accept)
	r.Gate, r.Calls = cmp.Or(x.Gate, r.Gate), cmp.Or(x.Calls, r.Calls)
	r.Spent, r.Drawn, r.Measured = cmp.Or(x.Spent, r.Spent), cmp.Or(x.Drawn, r.Drawn), cmp.Or(x.Measured, r.Measured)
	if x.Basis != nil {
		x.Basis(r.Basis)
	}
	if x.HeadSessions != nil {
		r.HeadSessions = x.HeadSessions
	}
	if x.Local != nil {
		r.Baseline, r.Basis = "", x.Local
	}
}

// Warn adds doubts about the comparison.
func (r *Report) Warn(doubts ...Remark) { r.Append(Addition{Doubts: doubts}) }

// Note adds remarks on how the verdict came about.
func (r *Report) Note(remarks ...Remark) { r.Append(Addition{Remarks: remarks}) }

// Disarm takes the commands from a report of a file, and all steps and calls but harmless ones. Steps that begin with
// a text are added anew.
func (r *Report) Disarm(harmless func(string) bool, anew string) {
	for _, x := range append(slices.Clip(r.Workloads), r) {
		x.Reproduce, x.Accept = "", ""
		x.Calls = x.Calls.Shown(func(call string) string { return measure.Either(harmless(call), call, "") })
		x.Next = slices.DeleteFunc(slices.Clone(x.Next), func(step string) bool {
			return strings.HasPrefix(step, anew) || !harmless(step)
		})
	}
}

// State adds facts about a finding.
func (r *Report) State(finding int, facts ...Remark) { r.Findings[finding].State(facts...) }

// Explain adds causes and origins of findings, by index.
func (r *Report) Explain(causes map[int]*Cause, origins map[int]*Origin) {
	for i := range r.Findings {
		f := &r.Findings[i]
		f.Cause, f.Origin = cmp.Or(causes[i], f.Cause), cmp.Or(origins[i], f.Origin)
	}
}

// Shown is a copy whose sentences and commands are as a reader may see them, for nil as they are, with what the gate
// does. Counts and causes follow when it is written.
func (r *Report) Shown(as func(string) string) *Report {
	out := *r
	if as == nil {
		as = func(s string) string { return s }
	}
	for _, texts := range []*[]string{&out.Next, &out.Warnings, &out.Notes} {
		*texts = measure.Map(*texts, as)
	}
	out.Reason, out.Reproduce, out.Accept, out.Calls = as(r.Reason), as(r.Reproduce), as(r.Accept), r.Calls.Shown(as)
	out.Schema, out.Findings, out.Counts, out.Causes = Schema, slices.Clone(r.Findings), Counts{}, nil
	out.Workloads = measure.Map(r.Workloads, func(w *Report) *Report { return w.Shown(as) })
	out.Gate = out.Gated()
	out.Shadow = out.Gate.Way == InShadow
	return &out
}

// Basis is what a judgement depends on beside the sessions of the head: with them and the files of the baseline it can
// be repeated.
type Basis struct {
	// Policy is the one that held, with the keys that flags and variables set.
	Policy *thresholds.Resolved `json:"policy,omitempty"`
	// Against is "baseline", "local" for a local one, whose place is not kept, or "build" for a base build that was
	// measured beside the head; "" for other recordings.
	Against string `json:"against,omitempty"`
	// Root is the directory of all baselines, as Baseline of the report is one of them; Files are the names of those
	// that the baseline held, and Anchor is that from which drift was measured, "" for the oldest.
	Root   string   `json:"root,omitempty"`
	Files  []string `json:"files,omitempty"`
	Anchor string   `json:"anchor,omitempty"`
	// Kernels are the short names of those that are judged, none for all.
	Kernels []string `json:"kernels,omitempty"`
	// Looks are the numbers of runs after which to judge, and Look counts those that were taken.
	Looks []int `json:"looks,omitempty"`
	Look  int   `json:"look,omitempty"`
}

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
	FirstFails: {model.NoBaseline, model.NoBaselineHere, model.MetricMissing}}

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
