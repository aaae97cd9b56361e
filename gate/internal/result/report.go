package result

import (
	"cmp"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// Each lists the reports that hold findings: those of the workloads, or the report itself.
func (r *Report) Each() []*Report {
	if len(r.Workloads) > 0 {
		return r.Workloads
	}
	return []*Report{r}
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
	Only                  string                   // next step in place of all others
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
	if x.Only != "" {
		r.Next = []string{x.Only}
	}
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
		x.Calls = x.Calls.Shown(func(call string) string {
			if harmless(call) {
				return call
			}
			return ""
		})
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
	out.Schema, out.Findings, out.Counts, out.Causes, out.Workloads = Schema, slices.Clone(r.Findings), Counts{}, nil,
		nil
	for _, w := range r.Workloads {
		out.Workloads = append(out.Workloads, w.Shown(as))
	}
	out.Gate = out.Gated()
	out.Shadow = out.Gate.Way == InShadow
	return &out
}
