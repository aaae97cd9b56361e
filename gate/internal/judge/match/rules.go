package match

import (
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/explain/reason"
	"github.com/nsgate/nsgate/gate/internal/judge/recorded"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

type unmet struct {
	rule    *thresholds.Rule
	metric  measure.Metric // that it names in full, the zero value for none
	idle    bool           // another workload of the policy may have what it is about
	refused bool           // the profiler of the head had to measure the metric: nothing is judged
	says    result.Remark  // the rest that is not judged, and how to measure it
	because *result.Remark // why a gate cannot pass whose values nothing in the head has, nil where it can
}

// unmetRules lists the rules that judge nothing: bounds, and metrics that the head's profiler measures, judge nothing
// of the head, all others nothing of either side.
func unmetRules(t Sides) (out []unmet) {
	byLaunch := t.Time == measure.ReplayTime
	sampled := t.Head.HasMetric(measure.Workload, measure.SamplingPeriod.Name)
	both := slices.Concat(t.Base.Sessions, t.Head.Sessions)
	for i := range t.Policy.Rules {
		x := unmet{rule: &t.Policy.Rules[i]}
		if x.rule.Severity == thresholds.Ignore {
			continue
		}
		x.metric, _ = x.rule.InFull()
		ofProfiler := x.metric.Name != "" && !x.metric.Judged() && (byLaunch || x.metric.Sampled())
		sessions := measure.Either(x.rule.Bounds() || ofProfiler, t.Head.Sessions, both)
		first := decides(x.rule, sessions, t.Policy, func(measure.Metric) bool { return true })
		if first == x.rule.Where {
			if x.floorless(t, sessions) {
				out = append(out, x)
			}
			continue
		}
		selects := func(s measure.Subject) bool { return x.rule.Selects(s, t.Policy.Categories) }
		named := first == "" && slices.ContainsFunc(subjects(t.Head.Sessions), selects)
		x.idle = t.Policy.Several > 1 && (first != "" || !slices.ContainsFunc(subjects(both), selects) ||
			selects(measure.Workload) && elsewhere(x.metric, t.Head.Sessions))
		x.refused = ofProfiler && named && x.rule.Severity != thresholds.Warn && (sampled || !x.metric.Sampled())
		x.explain(t, first, named && x.metric.Name != "")
		out = append(out, x)
	}
	return out
}

// floorless reports, and says, that nothing which a rule judges has the unit of its floor.
func (x *unmet) floorless(t Sides, sessions []model.Session) bool {
	f := x.rule.Floor
	if f == nil || decides(x.rule, sessions, t.Policy, f.Fits) == x.rule.Where {
		return false
	}
	x.idle = t.Policy.Several > 1
	x.says = result.Say(reason.RuleIdle{Rule: x.rule.Where, Floor: f.String()})
	return true
}

// explain says why a rule judges nothing: another one comes first, subjects that it names lack its metric, or nothing
// has the name.
func (x *unmet) explain(t Sides, first string, unmeasured bool) {
	needed := x.rule.Bounds() && x.rule.Severity != thresholds.Warn && first == ""
	idle := reason.RuleIdle{Rule: x.rule.Where, First: first, Here: x.idle, Unmet: needed, Of: t.Policy.Several}
	all := subjects(t.Head.Sessions)
	if i := slices.IndexFunc(all, x.rule.Namesake); i >= 0 && first == "" && !unmeasured {
		idle.Kind = string(all[i].Kind())
	} else if first == "" && !unmeasured {
		idle.Nearest = x.rule.Nearest(all)
	}
	x.says = result.Say(idle)
	because := result.Refuse(model.MetricMissing, "nsgate show lists what was measured: correct the rule, or remove it",
		"%s bounds a name that nothing in the head has%s%s", x.rule.Where,
		result.Given(idle.Kind, " but the ", idle.Kind), result.Given(idle.Nearest, "; the nearest is ",
			measure.Quote(idle.Nearest)))
	if unmeasured && !x.idle {
		how := measure.Either(unprofiled(x.metric, t.Head.Sessions),
			`profile the workload: profile = "always" in its [[workload]]`, x.metric.HowTo())
		because = result.Refuse(model.MetricMissing, how, "%s bounds %s, which was not measured", x.rule.Where,
			x.metric.Title())
		x.says = result.Say(reason.NeedsProfiler{Metric: x.metric.Name, Rule: x.rule.Where,
			Sampled: x.metric.Sampled()})
	}
	if needed && !x.idle {
		x.because = because
	}
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
		out = append(out, measure.Map(sessions[i].Series, func(x model.Series) measure.Subject { return x.Subject })...)
		for _, k := range sessions[i].Code {
			out = append(out, measure.Subject{Scope: measure.ScopeKernel, Name: measure.NormalizeName(k.Name)})
		}
	}
	return append(out, measure.Workload)
}

// decides is the place of the rule that decides on what a rule is about in sessions, on values where it bounds them:
// its own place where that is so of any metric of it that counts, "" where it is about nothing.
func decides(rule *thresholds.Rule, sessions []model.Session, policy *thresholds.Resolved,
	counts func(measure.Metric) bool) (first string) {
	alone := (&thresholds.Policy{Rules: []thresholds.Rule{*rule}, Categories: policy.Categories}).For("")
	decided := func(s measure.Subject, m measure.Metric) bool {
		if l := alone.Limit(s, m); l.Rule == rule.Where && l.Bounded() == rule.Bounds() && counts(m) {
			first = policy.Limit(s, m).Rule
		}
		return first == rule.Where
	}
	m, _ := rule.InFull()
	for i := range sessions {
		if slices.ContainsFunc(sessions[i].Series, func(x model.Series) bool { return decided(x.Subject, x.Metric) }) {
			return first
		}
		for _, k := range sessions[i].Code {
			s := measure.Subject{Scope: measure.ScopeKernel, Name: measure.NormalizeName(k.Name)}
			inCode := m.Means() == measure.ByCode || m == measure.Registers || m == measure.StaticShared
			if inCode && m.Name != "" && decided(s, m) {
				return first
			}
		}
	}
	return first
}

// Unmet is why a gate cannot pass whose policy bounds values that nothing in the head has, nil where there are none.
func (m Matching) Unmet() *result.Remark {
	for i := range m.rules {
		if m.rules[i].because != nil {
			return m.rules[i].because
		}
	}
	return nil
}

// UnusedRules names the rules of the policy that judge nothing, but for the one of the verdict: a renamed kernel loses
// its limit in silence. Where the policy has several workloads another one may have the subject, which is idle.
func (m Matching) UnusedRules(verdict string) (unused, idle []result.Remark) {
	for _, x := range m.rules {
		switch {
		case x.because != nil && x.because.Sentence == verdict:
		case x.idle:
			idle = append(idle, x.says)
		default:
			unused = append(unused, x.says)
		}
	}
	for _, key := range []string{"threshold", "step_threshold"} {
		flag := m.Policy.Places[key]
		limits := func(p Pair) bool { return p.Limit.Rule == flag && p.Limit.Severity != thresholds.Ignore }
		if strings.HasPrefix(flag, "--") && !slices.ContainsFunc(m.Pairs, limits) {
			to := measure.Either(m.Policy.Several > 1, &idle, &unused)
			*to = append(*to, result.Say(reason.RuleIdle{Rule: flag, Here: m.Policy.Several > 1, Of: m.Policy.Several}))
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
		lacking := func(m measure.Metric) bool { return m.Judged() && lacks(measure.Workload, m) }
		metrics = append(metrics, measure.Map(measure.Where(measure.Metrics, lacking), measure.Metric.Title)...)
		r := reason.OnOneSide{Names: outputs, Outputs: true, With: recorded.SideNames[i],
			Without: recorded.SideNames[1-i]}
		out = append(out, result.SayIf(len(outputs) > 0, r)...)
		r.Names, r.Outputs = metrics, false
		out = append(out, result.SayIf(len(metrics) > 0 && t.OneStep() == nil, r)...)
	}
	return out
}
