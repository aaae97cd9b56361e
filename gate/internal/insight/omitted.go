package insight

import (
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/decide"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/reason"
	"github.com/nsgate/nsgate/gate/internal/recorded"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// noDirection is why numbers of an unknown unit are shown and not judged.
const noDirection = "unknown unit"

// omitted names what the files of both sides hold and nothing judges, and the rows that only some runs have.
func omitted(d *decide.Decision, x *result.Explanation) {
	var shown []model.LeftOut
	for i := range d.Findings {
		if f := &d.Findings[i]; f.Metric == measure.Value.Name && !f.Gates {
			shown = append(shown, model.LeftOut{Name: f.Name, Why: noDirection})
		}
	}
	x.Note(leftOut(slices.Concat(d.Baseline, d.Head), shown...)...)
	for i, side := range [][]model.Session{d.Base, d.Head} {
		if names := inSomeRuns(side); len(names) > 0 {
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

// inSomeRuns are the rows of benchmark files that a run of a session lacks and another has.
func inSomeRuns(sessions []model.Session) []string {
	var names model.Interned[string]
	for i := range sessions {
		for j := range sessions[i].Series {
			x := &sessions[i].Series[j]
			rounded := slices.Contains(sessions[i].LeftOut, model.LeftOut{Name: x.Subject.Name, Why: model.UnderClock})
			if x.Subject.Scope == measure.ScopeBenchmark && !rounded && slices.ContainsFunc(sessions[i].Of(x), math.IsNaN) {
				names.Of(x.Subject.Short())
			}
		}
	}
	return names.List
}
