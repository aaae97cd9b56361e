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

// Groups of kernels without a limit of their own.
const (
	groupIgnored = "ignored kernels"
	groupSmall   = "kernels that cost too little"
	groupNew     = "new kernels"
	groupFree    = "kernels without a limit"
)

// limits tells which parts of the head have a finding with a limit.
type limits struct {
	head     *recorded.Index
	cost     float64 // smallest share of the GPU time at which a kernel may fail the gate
	findings []result.Finding
	kernels  map[measure.Subject]string // the group of each kernel with a finding, "" where it has a limit
	names    map[string]bool            // kernels of the head that share a limit with others
}

// Coverage is the part of the head that no limit covers, nil where the sections of its runs are unknown. The step's
// period covers the steps and the time between them. Kernels need a limit of their own or of those that they were
// matched with. The total GPU time covers new kernels only; nothing covers kernels below the least cost of a slowdown.
func Coverage(head *recorded.Index, cost float64, findings []result.Finding) *result.Unjudged {
	l := limits{head: head, cost: cost, findings: findings, kernels: map[measure.Subject]string{},
		names: map[string]bool{}}
	var parts []result.UnjudgedPart
	inSteps := 0.0
	for _, s := range measure.Sections {
		part := result.UnjudgedPart{What: s.Name}
		if gpu := head.ShareOfRun(s, measure.GPUTime); s == measure.Steps || s == measure.Between {
			inSteps += gpu
		} else if !l.has(s, measure.GPUTime) {
			part.GPUShare = result.Number(gpu)
		}
		if !l.times(s) {
			part.WallShare = result.Number(head.ShareOfRun(s, measure.Elapsed))
		}
		parts = append(parts, part)
	}
	out := &result.Unjudged{GPUShare: result.Unknown, WallShare: result.Unknown}
	if head.WholeRun(measure.GPUTime) > 0 {
		out.GPUShare = 0
		parts = append(parts, l.unlimitedKernels(inSteps)...)
	}
	if head.WholeRun(measure.Elapsed) > 0 {
		out.WallShare = 0
	}
	if !out.GPUShare.Known() && !out.WallShare.Known() {
		return nil
	}
	for _, part := range parts {
		if part.GPUShare > 0 || part.WallShare > 0 {
			out.GPUShare, out.WallShare = min(out.GPUShare+part.GPUShare, 1), min(out.WallShare+part.WallShare, 1)
			out.Parts = append(out.Parts, part)
		}
	}
	return out
}

// has reports whether a subject has a finding with a limit on one of these metrics.
func (l *limits) has(s measure.Subject, metrics ...measure.Metric) bool {
	return slices.ContainsFunc(l.findings, func(f result.Finding) bool {
		return f.Scope == s.Scope && f.Name == s.Name && l.limited(&f) &&
			slices.ContainsFunc(metrics, func(m measure.Metric) bool { return m.Name == f.Metric })
	})
}

// limited reports whether a finding has a limit that is compared. A kernel with a smaller share than the least cost
// fails no gate.
func (l *limits) limited(f *result.Finding) bool {
	if f.Outcome == result.New || f.Outcome == result.Gone || !f.Limit.Known() && f.AtMost == nil && f.AtLeast == nil {
		return false
	}
	return f.Gates || f.Subject() == measure.Workload || float64(f.Share) >= l.cost
}

// times reports whether the wall time of a section has a limit.
func (l *limits) times(s measure.Subject) bool {
	switch s {
	case measure.Steps, measure.Between:
		return l.has(measure.Workload, measure.MeanStep, measure.StepTime, measure.RunTime)
	case measure.Warmup:
		return l.has(s, measure.Elapsed) || l.has(measure.Workload, measure.RunTime)
	}
	return l.has(s, measure.Elapsed)
}

// unlimitedKernels are the groups of kernels in the steps without a limit. inSteps is the part of the GPU time in the
// steps.
func (l *limits) unlimitedKernels(inSteps float64) (out []result.UnjudgedPart) {
	for i := range l.findings {
		l.take(&l.findings[i])
	}
	total := l.has(measure.Workload, measure.GPUTime)
	shares := map[string]float64{}
	for _, s := range recorded.Kernels(l.head.Subjects()) {
		group, known := l.kernels[s]
		group = measure.Either(known, group, groupIgnored)
		if group != "" && !l.names[s.Name] && !(group == groupNew && total) {
			shares[group] += l.head.Share(s) * inSteps
		}
	}
	groups := []string{groupSmall, groupNew, groupFree, groupIgnored}
	return measure.Map(groups, func(group string) result.UnjudgedPart {
		return result.UnjudgedPart{What: group, GPUShare: result.Number(math.Min(shares[group], inSteps))}
	})
}

// take notes what a finding says of the kernels that it is about.
func (l *limits) take(f *result.Finding) {
	s := f.Subject()
	if s.Scope != measure.ScopeKernel || f.Metric != measure.Time.Name && f.Metric != measure.Total.Name {
		return
	}
	old, known := l.kernels[s]
	switch {
	case l.limited(f):
		l.kernels[s] = ""
		for _, name := range f.HeadNames {
			l.names[name] = true
		}
	case known && old == "":
	case f.Outcome == result.New:
		l.kernels[s] = groupNew
	case float64(f.Share) < l.cost:
		l.kernels[s] = groupSmall
	default:
		l.kernels[s] = groupFree
	}
}

// coverage says which part of the head no limit covers, and where the steps are less of it than they were.
func coverage(d *decide.Decision, x *result.Report) {
	t := d.Matching
	if t.OneStep() != nil {
		return // whole runs are judged
	}
	x.Warn(uncovered(t.Base, t.Head)...)
	if repeats := t.OtherRepeats(); repeats != nil && t.OtherCycle() == nil {
		x.Warn(*repeats)
	}
	if !d.FewRuns() {
		x.Unjudged = Coverage(t.Head, d.Cost(), d.Findings)
	}
}

// uncovered says where the steps are less than most of the head, and where it left out more of them as warm-up than
// the baseline.
func uncovered(base, head *recorded.Index) (out []result.Remark) {
	const most, startUp = 0.9, 0.1
	step, covered := head.Sessions[len(head.Sessions)-1].Step, 0.0
	for _, s := range []measure.Subject{measure.Warmup, measure.Steps, measure.Between} {
		covered += head.ShareOfRun(s, measure.GPUTime)
	}
	if step != "" && covered > 0 && covered < most {
		out = append(out, result.Say(reason.StepsCover{Range: step, Share: result.Number(covered)}))
	}
	before := head.ShareOfRun(measure.Before, measure.GPUTime)
	if repeats := head.HasMetric(measure.Workload, measure.Repeats.Name); step == "" && repeats && before > startUp {
		out = append(out, result.Say(reason.StartUp{Share: result.Number(before)}))
	}
	if before, now := base.WarmupSteps(), head.WarmupSteps(); now > before {
		out = append(out, result.Say(reason.SkipsMore{Base: result.Number(before), Head: result.Number(now)}))
	}
	return out
}

// omitted names numbers of files and outputs of both sides that nothing judges, and rows that only some runs have.
func omitted(d *decide.Decision, x *result.Report) {
	const noDirection = "unknown unit"                                         // without a rule
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
