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
	bounds bool           // it bounds values, and fails the gate: no pass
	of     int            // workloads of the policy, of idle bounds
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
		if applies(rule, sessions, t.Policy) {
			continue
		}
		selects := func(s measure.Subject) bool { return rule.Selects(s, t.Policy.Categories) }
		x.nobody = !slices.ContainsFunc(subjects(t.Head.Sessions), selects)
		x.idle = t.Policy.Several > 1 && !slices.ContainsFunc(subjects(both), selects)
		if x.idle && x.bounds {
			x.of = t.Policy.Several
		}
		x.refused = ofProfiler && !x.nobody && rule.Severity != thresholds.Warn &&
			(!x.metric.Sampled() && byLaunch || x.metric.Sampled() && sampled)
		out = append(out, x)
	}
	return out
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

// applies reports whether a rule is about anything in sessions, whatever stands before it, and bounds values if it has
// bounds.
func applies(rule *thresholds.Rule, sessions []model.Session, policy *thresholds.Resolved) bool {
	alone := (&thresholds.Policy{Rules: []thresholds.Rule{*rule}, Categories: policy.Categories}).For("")
	limits := func(s measure.Subject, m measure.Metric) bool {
		l := alone.Limit(s, m)
		return l.Rule == rule.Where && l.Bounded() == rule.Bounds()
	}
	for i := range sessions {
		if slices.ContainsFunc(sessions[i].Series, func(x model.Series) bool { return limits(x.Subject, x.Metric) }) {
			return true
		}
		for _, k := range sessions[i].Code {
			s := measure.Subject{Scope: measure.ScopeKernel, Name: measure.NormalizeName(k.Name)}
			if m, _ := rule.InFull(); m.Means() == measure.ByCode && m.Name != "" && limits(s, m) {
				return true
			}
		}
	}
	return false
}

// say says what a rule does not judge, and how to measure it.
func (x *unmet) say() result.Remark {
	switch {
	case x.nobody || x.metric.Name == "":
		return result.Say(reason.RuleIdle{Rule: x.rule.Where, Here: x.idle, Of: x.of})
	}
	return result.Say(reason.NeedsProfiler{Metric: x.metric.Name, Rule: x.rule.Where, Sampled: x.metric.Sampled()})
}

// Unmet is why a gate cannot pass whose policy bounds values that nothing in the head has, nil where there are none.
func (m Matching) Unmet() *result.Remark {
	for i := range m.rules {
		if x := &m.rules[i]; x.bounds && !x.idle {
			if x.nobody || x.metric.Name == "" {
				return result.Refuse(model.MetricMissing,
					"nsgate show lists what was measured: correct the rule, or remove it",
					"%s bounds a name that nothing in the head has", x.rule.Where)
			}
			return result.Refuse(model.MetricMissing, x.metric.HowTo(), "%s bounds %s, which was not measured",
				x.rule.Where, x.metric.Title())
		}
	}
	return nil
}

// UnusedRules names the rules of the policy that judge nothing: a renamed kernel loses its limit in silence. Where the
// policy has several workloads another one may have the subject, which is idle and only worth a remark.
func (m Matching) UnusedRules() (unused, idle []result.Remark) {
	refused := false
	for i := range m.rules {
		switch x := &m.rules[i]; {
		case x.bounds && !x.idle && !refused: // see [Matching.Unmet]
			refused = true
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
