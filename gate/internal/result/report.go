package result

import (
	"cmp"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/measure"
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

// Warn adds doubts about the comparison.
func (r *Report) Warn(doubts ...Remark) {
	r.Doubts, r.Warnings = append(r.Doubts, doubts...), append(r.Warnings, sentences(doubts)...)
}

// Note adds remarks on how the verdict came about.
func (r *Report) Note(remarks ...Remark) {
	r.Remarks, r.Notes = append(r.Remarks, remarks...), append(r.Notes, sentences(remarks)...)
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
