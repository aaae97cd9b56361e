package cli

import (
	"slices"

	"github.com/nsgate/nsgate/gate"
	"github.com/nsgate/nsgate/gate/measure"
	"github.com/nsgate/nsgate/thresholds"
)

// tellUnused says which rules of the policy have nothing to judge: a kernel that was renamed takes its limit along in
// silence. What another workload may have is only noted.
func tellUnused(r *gate.Report, p *thresholds.Policy, base, head []measure.Session) {
	if r.Verdict == gate.NoVerdict && !r.Undecided {
		return
	}
	sessions := slices.Concat(base, head)
	for i := range p.Rules {
		rule := &p.Rules[i]
		if rule.Severity == thresholds.Ignore || applies(rule, sessions) {
			continue
		}
		anything := *rule
		anything.Kernel, anything.Range, anything.Copy = "", "", ""
		switch {
		case !applies(&anything, sessions): // the report says so
		case len(p.Workloads) > 1:
			r.Notes = append(r.Notes, rule.Where+": the rule has nothing to judge in this workload")
		default:
			r.Warnings = append(r.Warnings, rule.Where+": the rule has nothing to judge: nothing by that name was measured")
		}
	}
}

// applies reports whether a rule is about anything in sessions, whatever stands before it in the policy.
func applies(rule *thresholds.Rule, sessions []measure.Session) bool {
	alone := thresholds.Policy{Rules: []thresholds.Rule{*rule}}
	for i := range sessions {
		for _, x := range sessions[i].Series {
			if alone.Limit(x.Subject, x.Metric).Rule == rule.Where {
				return true
			}
		}
	}
	return false
}
