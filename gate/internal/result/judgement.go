package result

import (
	"cmp"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"maps"
	"slices"
)

// Context is known to the command alone: the place of the baseline, the commands that repeat, accept and settle a
// judgement, and the time spent. See the fields of a [Report].
type Context struct {
	Workload, Baseline, Reproduce, Accept string
	Calls                                 *Calls
	Gate                                  Gate // its way, and the code of a signal
	Spent                                 *Spent
}

// Judgement is the input of a report.
type Judgement struct {
	Decision
	Explanation
	Context
	Workloads []*Judgement
}

// Each lists the judgements that hold findings: those of the workloads, or the judgement itself.
func (j *Judgement) Each() []*Judgement {
	if len(j.Workloads) > 0 {
		return j.Workloads
	}
	return []*Judgement{j}
}

// OverDrift reports whether something drifted further than a rule allows: to accept it takes a new anchor.
func (j *Judgement) OverDrift() bool {
	return j.ReasonKey == KeyOverDrift ||
		slices.ContainsFunc(j.Doubts, func(x Remark) bool { return x.Key == KeyOverDrift })
}

// Explain adds causes of findings.
func (x *Explanation) Explain(causes map[int]*Cause) {
	if x.Causes == nil {
		x.Causes = map[int]*Cause{}
	}
	maps.Copy(x.Causes, causes)
}

// Report builds the report. Its sentences and commands are as shown gives them, for nil as they are.
func (j *Judgement) Report(shown func(string) string) *Report {
	d, x, c := &j.Decision, &j.Explanation, &j.Context
	if shown == nil {
		shown = func(s string) string { return s }
	}
	all := func(texts []string) []string {
		return measure.Map(texts, shown)
	}
	r := &Report{Schema: Schema, Verdict: d.Verdict, Reason: shown(d.Reason), ReasonKey: d.ReasonKey,
		ReasonArgs: d.ReasonArgs, Next: all(x.Next), Undecided: d.Undecided, Workload: c.Workload, Base: x.Base, Head: x.Head, Paired: d.Paired,
		Boards: d.Boards, Batches: d.Batches, OneGPU: d.OneGPU, Apart: d.Apart, Alpha: d.Alpha, Family: d.Family,
		Confidence: d.Confidence, Detects: d.Detects, Unjudged: x.Unjudged, OutlierRuns: d.OutlierRuns,
		Waterfall: d.Waterfall, Code: d.Code, Ranks: x.Ranks, Utilization: x.Utilization, Overview: x.Overview,
		Drawn: x.Drawn, Patterns: x.Patterns, Findings: slices.Clone(d.Findings),
		Warnings: all(x.Warnings), Notes: all(x.Notes), Doubts: x.Doubts, Remarks: x.Remarks, Baseline: c.Baseline,
		Reproduce: shown(c.Reproduce), Accept: shown(c.Accept), Calls: c.Calls.Shown(shown), Spent: c.Spent, Gate: c.Gate,
		Measured:     x.Measured,
		HeadSessions: d.HeadSessions, Basis: d.Basis}
	for i := range r.Findings {
		f := &r.Findings[i]
		f.Facts, f.Evidence = slices.Clip(f.Facts), slices.Clip(f.Evidence)
		f.State(x.Facts[i]...)
		f.Cause, f.Origin = cmp.Or(x.Causes[i], f.Cause), cmp.Or(x.Origins[i], f.Origin)
	}
	for _, w := range j.Workloads {
		r.Workloads = append(r.Workloads, w.Report(shown))
	}
	r.Gate = r.Gated()
	r.Shadow = r.Gate.Way == InShadow
	return r
}

// Judgement is the judgement of a report. The judgement of a file can be explained further, with its facts, causes and
// origins at its findings.
func (r *Report) Judgement() *Judgement {
	j := &Judgement{
		Decision: Decision{Verdict: r.Verdict, Reason: r.Reason, ReasonKey: r.ReasonKey, ReasonArgs: r.ReasonArgs,
			Undecided: r.Undecided, Alpha: r.Alpha, Confidence: r.Confidence, Family: r.Family, Boards: r.Boards,
			Paired: r.Paired, Batches: r.Batches, OneGPU: r.OneGPU, Apart: r.Apart, Detects: r.Detects,
			OutlierRuns: r.OutlierRuns, Waterfall: r.Waterfall, Code: r.Code, Findings: r.Findings,
			HeadSessions: r.HeadSessions, Basis: r.Basis},
		Explanation: Explanation{Base: r.Base, Head: r.Head, Unjudged: r.Unjudged, Ranks: r.Ranks, Utilization: r.Utilization,
			Overview: r.Overview, Drawn: r.Drawn, Measured: r.Measured, Patterns: r.Patterns, Doubts: r.Doubts,
			Remarks: r.Remarks, Warnings: r.Warnings, Notes: r.Notes, Next: r.Next},
		Context: Context{r.Workload, r.Baseline, r.Reproduce, r.Accept, r.Calls, r.Gate, r.Spent},
	}
	for _, w := range r.Workloads {
		j.Workloads = append(j.Workloads, w.Judgement())
	}
	return j
}
