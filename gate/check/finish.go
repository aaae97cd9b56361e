package check

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate"
	"github.com/nsgate/nsgate/gate/internal/text"
	"github.com/nsgate/nsgate/gate/measure"
	"github.com/nsgate/nsgate/thresholds"
)

// judged is the report on two sides, finished: with the causes that the measurement itself holds, what of the policy
// has nothing to judge, recordings that stand on both sides, what crept over the sessions of the base, and what the measurement
// warned of.
func judged(base, head []measure.Session, p *thresholds.Policy, warnings []string) *gate.Report {
	r := evaluated(base, head, p)
	explainCounted(r, base)
	if r.Verdict != gate.NoVerdict || r.Undecided {
		tellUnused(r, p, base, head)
		tellTwice(r, base, head)
		r.Doubts = append(r.Doubts, gate.Creep(base, head, p)...)
		text.Tell(r)
	}
	r.Warnings = append(r.Warnings, warnings...)
	return r
}

// evaluated is the decision in words.
func evaluated(base, head []measure.Session, p *thresholds.Policy) *gate.Report {
	r := gate.Evaluate(base, head, p)
	text.Tell(r)
	return r
}

func remark(key string, args gate.Args) gate.Remark { return gate.Remark{Key: key, Args: args} }

// tellUnused says which rules of the policy have nothing to judge: a kernel that was renamed takes its limit along in
// silence. What another workload may have is only noted.
func tellUnused(r *gate.Report, p *thresholds.Policy, base, head []measure.Session) {
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
			r.Remarks = append(r.Remarks, remark("rule-idle-here", gate.Args{"rule": rule.Where}))
		default:
			r.Doubts = append(r.Doubts, remark("rule-idle", gate.Args{"rule": rule.Where}))
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

// fewestTimes are the kernel times that must agree to the last digit before two runs count as one: a few may by chance.
const fewestTimes = 5

// tellTwice warns where the same recordings stand on both sides: that they agree says nothing.
func tellTwice(r *gate.Report, base, head []measure.Session) {
	seen := make(map[string]bool)
	for i := range base {
		for _, run := range prints(&base[i]) {
			seen[run] = true
		}
	}
	same, all := 0, 0
	for i := range head {
		all += len(head[i].Runs)
		for _, run := range prints(&head[i]) {
			if seen[run] {
				same++
			}
		}
	}
	if same > 0 {
		r.Doubts = append(r.Doubts, remark("same-runs", gate.Args{"same": gate.Number(same), "runs": gate.Number(all)}))
	}
}

// prints tell the runs of a session apart by all that it measured. A run with too few kernels has none.
func prints(s *measure.Session) []string {
	var out []string
	for run := range s.Runs {
		var b strings.Builder
		times := 0
		for _, x := range s.Series {
			if math.IsNaN(x.Values[run]) {
				continue
			}
			if x.Metric.Name == measure.Time.Name || x.Metric.Name == measure.NcuTime.Name {
				times++
			}
			fmt.Fprintf(&b, "%v %s %v\n", x.Subject, x.Metric.Name, x.Values[run])
		}
		if times >= fewestTimes {
			out = append(out, b.String())
		}
	}
	return out
}

// alike picks what one profiler measured where a side holds what several did, as baselines do: nsys's where both sides have
// that, else what both have.
func alike(base, head []measure.Session) (b, h []measure.Session) {
	for _, p := range append([]measure.Profiler{measure.Nsys, measure.Ncu}, measure.Profilers(head)...) {
		b, h := p.Pick(base), p.Pick(head)
		if len(b) > 0 && len(h) > 0 && (len(h) < len(head) || len(b) < len(base)) {
			return b, h
		}
	}
	return base, head
}

// kernels lists the short names of the kernels that sessions have, each once.
func kernels(sessions []measure.Session) []string {
	var names []string
	for _, s := range sessions {
		for _, x := range s.Series {
			if n := x.Subject.Short(); x.Subject.Scope == measure.ScopeKernel && !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
	}
	return names
}

// only restricts sessions to kernels of these short names; to all where there are none.
func only(kernels []string, sessions []measure.Session) []measure.Session {
	if len(kernels) == 0 {
		return sessions
	}
	sessions = slices.Clone(sessions)
	for i := range sessions {
		sessions[i].Series = slices.DeleteFunc(slices.Clone(sessions[i].Series), func(x measure.Series) bool {
			return x.Subject.Scope == measure.ScopeKernel && !slices.Contains(kernels, x.Subject.Short())
		})
	}
	return sessions
}

// list puts names in order, each once.
func list(words []string) string {
	return strings.Join(slices.Compact(slices.Sorted(slices.Values(words))), ", ")
}
