package result

import (
	"cmp"
	"slices"
)

// Explanation is what was found out about a report after its verdict. It changes none.
type Explanation struct {
	Causes         map[int]*Cause  // by the index of the finding
	Origins        map[int]*Origin // by the index of the finding
	Drawn          *Drawn
	Patterns       []Remark
	Measured       *Summary
	Remarks        []Remark
	Warnings, Next []string
}

// Context is what only the command knows of a report: where its baseline is, and the commands that repeat and accept it.
type Context struct {
	Workload, Baseline, Reproduce, Accept string
	Next, Warnings                        []string
	Spent                                 *Spent
}

// Clone is a copy of a report that shares nothing that is ever written to.
func (r *Report) Clone() *Report {
	out := *r
	out.Findings = slices.Clone(r.Findings)
	for i := range out.Findings {
		out.Findings[i].Facts = slices.Clone(r.Findings[i].Facts)
		out.Findings[i].Evidence = slices.Clone(r.Findings[i].Evidence)
	}
	out.Doubts, out.Remarks, out.Patterns = slices.Clone(r.Doubts), slices.Clone(r.Remarks), slices.Clone(r.Patterns)
	out.Next, out.Warnings, out.Notes = slices.Clone(r.Next), slices.Clone(r.Warnings), slices.Clone(r.Notes)
	return &out
}

// With is the report with an explanation beside its verdict; r stays as it is.
func (r *Report) With(x Explanation) *Report {
	out := r.Clone()
	for i, cause := range x.Causes {
		out.Findings[i].Cause = cause
	}
	for i, origin := range x.Origins {
		out.Findings[i].Origin = origin
	}
	out.Drawn, out.Measured = cmp.Or(x.Drawn, out.Drawn), cmp.Or(x.Measured, out.Measured)
	out.Note(x.Remarks...)
	out.Patterns = append(out.Patterns, x.Patterns...)
	for _, p := range x.Patterns {
		out.Notes = append(out.Notes, "new in the head: "+p.Sentence)
	}
	out.Warnings = append(out.Warnings, x.Warnings...)
	out.Next = append(out.Next, x.Next...)
	return out
}

// In is the report with what the command knows of it; r stays as it is. What is "" stays as it was.
func (r *Report) In(c Context) *Report {
	out := r.Clone()
	out.Workload, out.Baseline = cmp.Or(c.Workload, out.Workload), cmp.Or(c.Baseline, out.Baseline)
	out.Reproduce, out.Accept = cmp.Or(c.Reproduce, out.Reproduce), cmp.Or(c.Accept, out.Accept)
	out.Next = append(out.Next, c.Next...)
	out.Warnings = append(out.Warnings, c.Warnings...)
	out.Spent = cmp.Or(c.Spent, out.Spent)
	return out
}

// Found is the report without what only the command knows of it: how to go on, to repeat and to accept it. A file says
// nothing of that.
func (r *Report) Found() *Report {
	out := r.Clone()
	out.Next, out.Reproduce, out.Accept, out.Workloads = nil, "", "", nil
	for _, w := range r.Workloads {
		out.Workloads = append(out.Workloads, w.Found())
	}
	return out
}

// Map is the report with each of its workloads, or the report itself where it is of one, replaced by what f makes of it.
func (r *Report) Map(f func(i int, w *Report) *Report) *Report {
	if len(r.Workloads) == 0 {
		return f(0, r)
	}
	out := r.Clone()
	out.Workloads = make([]*Report, len(r.Workloads))
	for i, w := range r.Workloads {
		out.Workloads[i] = f(i, w)
	}
	return out
}
