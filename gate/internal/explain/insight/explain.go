package insight

import (
	"slices"

	"github.com/nsgate/nsgate/gate/internal/explain/code"
	"github.com/nsgate/nsgate/gate/internal/explain/reason"
	"github.com/nsgate/nsgate/gate/internal/explain/why"
	"github.com/nsgate/nsgate/gate/internal/judge/align"
	"github.com/nsgate/nsgate/gate/internal/judge/decide"
	"github.com/nsgate/nsgate/gate/internal/judge/match"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// explainers look at both sides and the decision afterwards, in the order of their remarks in a report. Each runs from
// a stage of the judgement on.
var explainers = []struct {
	from    decide.Stage
	explain func(*decide.Decision, *result.Report)
}{
	{decide.Refused, sides},
	{decide.Measured, overview},
	{decide.Aligned, differences},
	{decide.Compared, baseline},
	{decide.Compared, utilization},
	{decide.Compared, singleRun},
	{decide.Compared, step},
	{decide.Compared, ranks},
	{decide.Compared, outlierValues},
	{decide.Compared, coverage},
	{decide.Compared, unjudged},
	{decide.Measured, omitted},
	{decide.Compared, shifts},
	{decide.Compared, factsOf(measure.SyncCalls, changedCalls)},
	{decide.Compared, factsOf(measure.MemoryPeak, memoryGrowth)},
	{decide.CodeAlone, changedCode},
	{decide.Compared, rules},
	{decide.CodeAlone, deviceCode},
	{decide.Compared, drift},
	{decide.Compared, look},
	{decide.Compared, patterns},
	{decide.Compared, counters},
	{decide.CodeAlone, operations},
}

// explained is a decision with its explanations.
func explained(d *decide.Decision) *result.Report {
	for _, e := range explainers {
		if d.Stage >= e.from {
			e.explain(d, &d.Report)
		}
	}
	return &d.Report
}

// Judge judges and explains.
func Judge(in decide.Input) *result.Report { return explained(decide.Judge(in)) }

// JudgeCode judges device code alone and explains.
func JudgeCode(in decide.Input, unchanged *result.Remark, lacking error) *result.Report {
	return explained(decide.JudgeCode(in, unchanged, lacking))
}

// Refuse explains why a measurement could not be judged at all.
func Refuse(in decide.Input, why error) *result.Report { return explained(decide.Refuse(in, why)) }

func sides(d *decide.Decision, x *result.Report) {
	x.Base, x.Head = Describe(d.Base), Describe(d.Head)
}

// differences of the hosts, clocks and versions of the sides, and of their work.
func differences(d *decide.Decision, x *result.Report) {
	x.Warn(slices.Concat(align.Differences(d.Base, d.Head, d.Policy), d.Scaled, d.Assumed)...)
}

// baseline notes the compared sessions and warns of missing data in them.
func baseline(d *decide.Decision, x *result.Report) {
	x.Note(align.OnOthers(d.Baseline, d.Base)...)
	x.Warn(d.Matching.LostRemarks()...)
}

func singleRun(d *decide.Decision, x *result.Report) { x.Note(d.Single...) }

func outlierValues(d *decide.Decision, x *result.Report) { x.Warn(d.Moved...) }

// unjudged names the metrics and runs that were left out.
func unjudged(d *decide.Decision, x *result.Report) {
	x.Warn(match.OneSidedMetrics(d.Matching.Sides)...)
	x.Warn(d.LeftOut...)
}

// changedCode says how the device code differs.
func changedCode(d *decide.Decision, x *result.Report) {
	if d.Code != nil {
		x.Note(code.Notes(d.Code, d.Baseline, d.Stage == decide.CodeAlone)...)
	}
}

// rules names those without effect, and recordings that stand on both sides.
func rules(d *decide.Decision, x *result.Report) {
	unused, idle := d.Matching.UnusedRules(d.Reason)
	x.Warn(slices.Concat(unused, align.Duplicates(d.Baseline, d.Head))...)
	x.Note(slices.Concat(idle, d.Idle)...)
	x.Warn(measure.Where(d.Ratios, func(r result.Remark) bool { return r.Sentence != d.Reason })...)
}

// deviceCode tells findings whether the code of their kernel changed.
func deviceCode(d *decide.Decision, x *result.Report) {
	if d.Code == nil {
		return
	}
	facts, doubts := code.Explain(&d.Report, d.Baseline)
	for i, fact := range facts {
		x.State(i, fact)
	}
	x.Warn(slices.Concat(doubts, code.Limits(d.Code))...)
}

// drift says what drifted, where that is not the reason of the verdict.
func drift(d *decide.Decision, x *result.Report) {
	x.Warn(measure.Where(d.Drift, func(r result.Remark) bool { return r.Key != d.ReasonKey })...)
}

// look says which of several judgements of growing data this is.
func look(d *decide.Decision, x *result.Report) {
	if l := d.Look; l.Of > 1 {
		x.Note(result.Say(reason.Looked{Look: l.Number, Looks: l.Of, Runs: l.Runs, Most: l.MostRuns}))
	}
}

// patterns are those that the head has and the baseline has not.
func patterns(d *decide.Decision, x *result.Report) {
	if len(d.Findings) == 0 {
		return
	}
	x.Patterns = NewPatterns(d.Baseline, d.Head)
	for _, p := range result.Narrowest(x.Patterns) {
		x.Notes = append(x.Notes, "new in the head: "+p.Sentence)
	}
}

// counters explains the kernels of profiles of counters.
func counters(d *decide.Decision, x *result.Report) {
	x.Explain(why.Counted(d.Findings, d.Baseline, d.HeadSessions), nil)
}
