package match

import (
	"slices"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/reason"
	"github.com/nsgate/nsgate/gate/internal/recorded"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// unmet is a rule that names a metric in full which nothing in the head has: the policy's word is not judged.
type unmet struct {
	rule     *thresholds.Rule
	metric   measure.Metric
	sampled  bool // a metric of the whole GPU, which is sampled
	expected bool // the head's profiler had to measure it: no pass
}

// unmetRules lists the rules on a metric that nothing in the head has. They expect no counters from
// another profiler, and no samples of the GPU unless requested.
func unmetRules(head *recorded.Index, policy *thresholds.Resolved) (out []unmet) {
	for i := range policy.Rules {
		rule := &policy.Rules[i]
		m, full := measure.MetricByName(string(rule.Metric))
		if !full || m.Judged() || rule.Severity == thresholds.Ignore {
			continue
		}
		sampled := m.Sampled()
		limited, has := 0, 0
		for _, s := range head.Subjects() {
			if (sampled || s.Scope == measure.ScopeKernel) && policy.Limit(s, m).Rule == rule.Where {
				limited++
				if head.HasMetric(s, m.Name) {
					has++
				}
			}
		}
		byLaunch := recorded.ByLaunch(head.Sessions)
		switch {
		case has > 0 || !sampled && limited == 0:
		case sampled:
			out = append(out, unmet{rule, m, true, head.HasMetric(measure.Workload, measure.SamplingPeriod.Name)})
		case byLaunch || m.OfLaunch() && m.Better != measure.Neither:
			out = append(out, unmet{rule, m, false, byLaunch})
		}
	}
	return out
}

// UnusedRules names the rules of the policy that limit nothing in the sessions: a renamed kernel loses its limit in
// silence. Where the policy has several workloads another one may have the subject, which is idle and only worth a
// remark.
func UnusedRules(p *thresholds.Resolved, base, head []model.Session) (unused, idle []result.Remark) {
	sessions := slices.Concat(base, head)
	for i := range p.Rules {
		rule := &p.Rules[i]
		if rule.Severity == thresholds.Ignore || applies(rule, sessions) {
			continue
		}
		anything := *rule
		anything.Kernel, anything.Range, anything.Device, anything.Copy, anything.Output = "", "", "", "", ""
		anything.Benchmark = ""
		anything.Domain, anything.Category = "", ""
		switch {
		case !applies(&anything, sessions): // the report says so
		case p.Several:
			idle = append(idle, result.Say(reason.RuleIdle{Rule: rule.Where, Here: true}))
		default:
			unused = append(unused, result.Say(reason.RuleIdle{Rule: rule.Where}))
		}
	}
	return unused, idle
}

// applies reports whether a rule is about anything in sessions, whatever stands before it in the policy.
func applies(rule *thresholds.Rule, sessions []model.Session) bool {
	alone := (&thresholds.Policy{Rules: []thresholds.Rule{*rule}, Categories: recorded.Categories(sessions)}).For("")
	for i := range sessions {
		for _, x := range sessions[i].Series {
			if alone.Limit(x.Subject, x.Metric).Rule == rule.Where {
				return true
			}
		}
	}
	return false
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
		if len(metrics) > 0 {
			out = append(out, result.Say(reason.OnOneSide{Names: metrics, With: recorded.SideNames[i],
				Without: recorded.SideNames[1-i]}))
		}
	}
	return out
}
