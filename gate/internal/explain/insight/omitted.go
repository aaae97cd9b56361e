package insight

import (
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/explain/reason"
	"github.com/nsgate/nsgate/gate/internal/judge/decide"
	"github.com/nsgate/nsgate/gate/internal/judge/recorded"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// noDirection is why rows of an unknown unit are not judged without a rule.
const noDirection = "unknown unit"

// omitted names numbers of files and outputs of both sides that nothing judges, and rows that only some runs have.
func omitted(d *decide.Decision, x *result.Report) {
	judged, directed := map[measure.Subject]bool{}, map[measure.Subject]bool{} // by a rule
	for i := range d.Findings {
		f := &d.Findings[i]
		judged[f.Subject()] = true
		directed[f.Subject()] = directed[f.Subject()] || f.Metric == measure.Value.Name
	}
	sessions := slices.Concat(d.Base, d.Head)
	var without []model.LeftOut
	for i := range sessions {
		for j := range sessions[i].Series {
			s := &sessions[i].Series[j]
			if s.Subject.Scope != measure.ScopeBenchmark && s.Subject.Scope != measure.ScopeOutput {
				continue
			}
			limit, name := d.Policy.Limit(s.Subject, s.Metric), s.Subject.Name
			if judged[s.Subject] { // in another metric
				name += " " + s.Metric.Title()
			}
			switch {
			case s.Metric.Name == measure.Value.Name && !directed[s.Subject]:
				without = append(without, model.LeftOut{Name: s.Subject.Name, Why: noDirection})
			case limit.Severity == thresholds.Ignore:
				without = append(without, model.LeftOut{Name: name, Why: "ignored by " + limit.Rule})
			}
		}
	}
	x.Note(leftOut(sessions, without...)...)
	for i, side := range [][]model.Session{d.Base, d.Head} {
		names := inSomeRuns(side)
		if i == 1 { // the sessions of a baseline are of several days, and accepted ones hold parts
			names = slices.Compact(slices.Sorted(slices.Values(append(names, inSomeSessions(side)...))))
		}
		if len(names) > 0 {
			x.Note(result.Say(reason.SomeRuns{Side: recorded.SideNames[i], Names: names}))
		}
	}
}

// leftOut names what sessions leave out, by reason.
func leftOut(sessions []model.Session, more ...model.LeftOut) (out []result.Remark) {
	var all model.Session
	for i := range sessions {
		all.LeaveOut(sessions[i].LeftOut...)
	}
	all.LeaveOut(more...)
	var reasons model.Interned[string]
	names := map[string][]string{}
	for _, x := range all.LeftOut {
		reasons.Of(x.Why)
		names[x.Why] = append(names[x.Why], x.Name)
	}
	for _, why := range reasons.List {
		slices.Sort(names[why])
		out = append(out, result.Say(reason.Omitted{Why: why, Names: names[why]}))
	}
	return out
}

// inSomeRuns are the rows of benchmark files, and counted kernels, that a run of a session lacks and another has.
func inSomeRuns(sessions []model.Session) []string {
	var names model.Interned[string]
	for i := range sessions {
		for j := range sessions[i].Series {
			x := &sessions[i].Series[j]
			listed := x.Subject.Scope == measure.ScopeBenchmark || x.Metric.Name == measure.ReplayTime.Name
			missing := listed && slices.ContainsFunc(sessions[i].Of(x), math.IsNaN)
			rounded := model.LeftOut{Name: x.Subject.Name, Why: model.UnderClock}
			if missing && !slices.Contains(sessions[i].LeftOut, rounded) {
				names.Of(x.Subject.Short())
			}
		}
	}
	return names.List
}

// inSomeSessions are the rows of benchmark files that a session with rows lacks and another has.
func inSomeSessions(sessions []model.Session) (names []string) {
	with, times := 0, map[string]int{}
	for i := range sessions {
		rows := map[string]bool{}
		for _, x := range sessions[i].Series {
			if x.Subject.Scope == measure.ScopeBenchmark {
				rows[x.Subject.Name] = true
			}
		}
		with += min(len(rows), 1)
		for _, x := range sessions[i].LeftOut {
			rows[x.Name] = rows[x.Name] || x.Why == model.UnderClock && len(rows) > 0
		}
		for name, has := range rows {
			if has {
				times[name]++
			}
		}
	}
	for name, n := range times {
		if n < with {
			names = append(names, name)
		}
	}
	return names
}
