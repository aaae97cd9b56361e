package match

import (
	"slices"

	"github.com/nsgate/nsgate/gate/internal/explain/reason"
	"github.com/nsgate/nsgate/gate/internal/judge/recorded"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

type unmet struct {
	rule   *thresholds.Rule
	metric measure.Metric // that it names in full, the zero value for none
	nobody bool           // no subject of the head has the name that it selects
	idle   bool           // none of both sides has it, and another workload of the policy may
	first  string         // place of a rule that comes first and takes all that it is about, "" for none
	bounds bool           // it bounds values, and fails the gate: no pass
	of     int            // workloads of the policy, of what is idle
	how    string         // how to measure the metric
	// refused is true where the profiler of the head had to measure the metric: nothing is judged.
	refused bool
}

// unmetRules lists the rules that judge nothing: bounds, and metrics that the head's profiler measures, judge nothing
// of the head, all others nothing of either side.
func unmetRules(t Sides) (out []unmet) {
	byLaunch := t.Time == measure.ReplayTime
	sampled := t.Head.HasMetric(measure.Workload, measure.SamplingPeriod.Name)
	both := slices.Concat(t.Base.Sessions, t.Head.Sessions)
	for i := range t.Policy.Rules {
		rule := &t.Policy.Rules[i]
		if rule.Severity == thresholds.Ignore {
			continue
		}
		x := unmet{rule: rule, bounds: rule.Bounds() && rule.Severity != thresholds.Warn}
		x.metric, _ = rule.InFull()
		ofProfiler := x.metric.Name != "" && !x.metric.Judged() && (byLaunch || x.metric.Sampled())
		sessions := both
		if rule.Bounds() || ofProfiler {
			sessions = t.Head.Sessions
		}
		first := decides(rule, sessions, t.Policy)
		switch {
		case first == rule.Where:
			continue
		case first != "":
			out = append(out, unmet{rule: rule, first: first, idle: t.Policy.Several > 1, of: t.Policy.Several})
			continue
		}
		selects := func(s measure.Subject) bool { return rule.Selects(s, t.Policy.Categories) }
		x.nobody = !slices.ContainsFunc(subjects(t.Head.Sessions), selects)
		x.of, x.how = t.Policy.Several, x.metric.HowTo()
		if unprofiled(x.metric, t.Head.Sessions) {
			x.how = `profile the workload: profile = "always" in its [[workload]]`
		}
		x.idle = x.of > 1 && (!slices.ContainsFunc(subjects(both), selects) ||
			selects(measure.Workload) && elsewhere(x.metric, t.Head.Sessions))
		x.refused = ofProfiler && !x.nobody && rule.Severity != thresholds.Warn &&
			(!x.metric.Sampled() && byLaunch || x.metric.Sampled() && sampled)
		out = append(out, x)
	}
	return out
}

// elsewhere reports whether only other workloads can have a metric that sessions lack.
func elsewhere(m measure.Metric, sessions []model.Session) bool {
	return slices.Contains([]measure.Means{measure.ByTimeline, measure.ByOutput, measure.ByResults}, m.Means()) ||
		unprofiled(m, sessions)
}

// unprofiled reports whether a metric is missing in sessions because nothing of them was profiled.
func unprofiled(m measure.Metric, sessions []model.Session) bool {
	profiled := func(x model.Series) bool {
		return x.Metric.Means() == measure.ByTimeline || x.Metric.Means() == measure.ByCounters
	}
	return slices.Contains([]measure.Means{measure.ByMemory, measure.BySampling, measure.ByCounters}, m.Means()) &&
		!slices.ContainsFunc(sessions, func(s model.Session) bool { return slices.ContainsFunc(s.Series, profiled) })
}

// subjects are those of sessions, and the kernels of their device code.
func subjects(sessions []model.Session) (out []measure.Subject) {
	for i := range sessions {
		for _, x := range sessions[i].Series {
			out = append(out, x.Subject)
		}
		for _, k := range sessions[i].Code {
			out = append(out, measure.Subject{Scope: measure.ScopeKernel, Name: measure.NormalizeName(k.Name)})
		}
	}
	return append(out, measure.Workload)
}

// decides is the place of the rule that decides on what a rule is about in sessions, on values where it bounds them: its
// own place where that is so of any of it, "" where it is about nothing.
func decides(rule *thresholds.Rule, sessions []model.Session, policy *thresholds.Resolved) (first string) {
	alone := (&thresholds.Policy{Rules: []thresholds.Rule{*rule}, Categories: policy.Categories}).For("")
	decided := func(s measure.Subject, m measure.Metric) bool {
		if l := alone.Limit(s, m); l.Rule == rule.Where && l.Bounded() == rule.Bounds() {
			first = policy.Limit(s, m).Rule
		}
		return first == rule.Where
	}
	m, _ := rule.InFull()
	for i := range sessions {
		if slices.ContainsFunc(sessions[i].Series, func(x model.Series) bool { return decided(x.Subject, x.Metric) }) {
			return first
		}
		if m.Means() != measure.ByCode || m.Name == "" {
			continue
		}
		for _, k := range sessions[i].Code {
			if decided(measure.Subject{Scope: measure.ScopeKernel, Name: measure.NormalizeName(k.Name)}, m) {
				return first
			}
		}
	}
	return first
}

// say says what a rule does not judge, and how to measure it.
func (x *unmet) say() result.Remark {
	switch {
	case x.idle || x.nobody || x.metric.Name == "":
		return result.Say(reason.RuleIdle{Rule: x.rule.Where, Here: x.idle, Of: x.of, Unmet: x.bounds, First: x.first})
	}
	return result.Say(reason.NeedsProfiler{Metric: x.metric.Name, Rule: x.rule.Where, Sampled: x.metric.Sampled()})
}

// refuses is why a gate cannot pass without what the rule bounds, nil where it can.
func (x *unmet) refuses() *result.Remark {
	switch {
	case !x.bounds || x.idle:
		return nil
	case x.nobody || x.metric.Name == "":
		return result.Refuse(model.MetricMissing, "nsgate show lists what was measured: correct the rule, or remove it",
			"%s bounds a name that nothing in the head has", x.rule.Where)
	}
	return result.Refuse(model.MetricMissing, x.how, "%s bounds %s, which was not measured", x.rule.Where,
		x.metric.Title())
}

// Unmet is why a gate cannot pass whose policy bounds values that nothing in the head has, nil where there are none.
func (m Matching) Unmet() *result.Remark {
	for i := range m.rules {
		if because := m.rules[i].refuses(); because != nil {
			return because
		}
	}
	return nil
}

// UnusedRules names the rules of the policy that judge nothing, but for one that is the reason of the verdict: a renamed
// kernel loses its limit in silence. Where the policy has several workloads another one may have the subject, which is
// idle and only worth a remark.
func (m Matching) UnusedRules(verdict string) (unused, idle []result.Remark) {
	for i := range m.rules {
		x := &m.rules[i]
		because := x.refuses()
		switch {
		case because != nil && because.Sentence == verdict:
		case x.idle:
			idle = append(idle, x.say())
		default:
			unused = append(unused, x.say())
		}
	}
	return append(unused, result.SayIf(m.ofSteps != nil, reason.RuleOfSteps{Rules: m.ofSteps})...), idle
}

// OneSidedMetrics names the metrics of the whole program that only one side has, which are not judged: outputs, and
// metrics that an older baseline, another source or another option of the profiler leaves out.
func OneSidedMetrics(t Sides) []result.Remark {
	var out []result.Remark
	for i, sides := range [2][2]*recorded.Index{{t.Base, t.Head}, {t.Head, t.Base}} {
		lacks := func(s measure.Subject, m measure.Metric) bool {
			return sides[0].HasMetric(s, m.Name) && !sides[1].HasMetric(s, m.Name) &&
				t.Policy.Limit(s, m).Severity != thresholds.Ignore
		}
		var outputs, metrics []string
		for _, s := range sides[0].Subjects() {
			for _, m := range []measure.Metric{measure.Rate, measure.Cost} {
				if s.Scope == measure.ScopeOutput && lacks(s, m) {
					outputs = append(outputs, s.Short())
				}
			}
		}
		for _, m := range measure.Metrics {
			if m.Judged() && lacks(measure.Workload, m) {
				metrics = append(metrics, m.Title())
			}
		}
		if len(outputs) > 0 {
			out = append(out, result.Say(reason.OnOneSide{Names: outputs, With: recorded.SideNames[i],
				Without: recorded.SideNames[1-i], Outputs: true}))
		}
		if len(metrics) > 0 && t.OneStep() == nil {
			out = append(out, result.Say(reason.OnOneSide{Names: metrics, With: recorded.SideNames[i],
				Without: recorded.SideNames[1-i]}))
		}
	}
	return out
}
