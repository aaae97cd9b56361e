package decide

import (
	"cmp"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/explain/reason"
	"github.com/nsgate/nsgate/gate/internal/judge/recorded"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// excusedPart is a kernel that the policy allows more than its default.
type excusedPart struct {
	name, role string
	more       float64 // ns a step that it takes longer
}

// excuse takes parts that a rule excuses out of the GPU times that contain them: kernels that the policy ignores, warns
// of, or allows more than others. The step is never excused.
func excuse(t comparison, estimates []estimate, findings []result.Finding) {
	parts := excusedParts(t, estimates, findings)
	for i, e := range estimates {
		f := &findings[i]
		if len(parts) == 0 || f.Metric != measure.GPUTime.Name || !t.worsened(e.pair, f) ||
			f.Scope == measure.ScopeSection && e.Subject != measure.Warmup {
			continue
		}
		more, base := 0.0, float64(f.Base)
		if e.Subject == measure.Warmup { // steps as well
			base = t.Base.Typical(measure.Workload, measure.GPUTime.Name)
		}
		var names []string
		for _, p := range parts {
			if f.Scope != measure.ScopeRange || slices.Contains(strings.Split(p.role, "/"), f.Name) {
				more += p.more / base
				names = append(names, p.name)
			}
		}
		if rest := float64(f.Change) - more; more > 0 && rest <= float64(f.Limit) &&
			float64(f.Low)-more <= float64(f.Limit) {
			waive(f, reason.Excused{Names: names, Change: result.Number(rest)})
		}
	}
}

// excusedParts lists the excused kernels that got slower, are new or gone, and do not fail the gate by themselves.
func excusedParts(t comparison, estimates []estimate, findings []result.Finding) (parts []excusedPart) {
	failing := map[measure.Subject]bool{}
	for i, e := range estimates {
		failing[e.Subject] = failing[e.Subject] || findings[i].Fails()
	}
	total := func(side *recorded.Index, s measure.Subject) float64 {
		if !side.Has(s) {
			return 0
		}
		return side.Typical(s, t.Total.Name)
	}
	gone := slices.DeleteFunc(slices.Clone(t.Base.Subjects()), t.Head.Has)
	for _, s := range recorded.Kernels(slices.Concat(t.Head.Subjects(), gone)) {
		more := total(t.Head, s) - total(t.Base, s)
		if (more > 0 || !t.Head.Has(s)) && !failing[s] && t.excused(s) {
			parts = append(parts, excusedPart{s.Short(), cmp.Or(t.Head.Role(s), t.Base.Role(s)), more})
		}
	}
	return parts
}

// excused reports whether a rule that names some kernels allows one more than the default; a rule for all of them
// excuses nothing.
func (t comparison) excused(s measure.Subject) bool {
	return slices.ContainsFunc([]measure.Metric{t.Time, t.Total}, func(m measure.Metric) bool {
		l := t.Policy.Limit(s, m)
		loose := l.Severity != thresholds.Fail || l.Max > t.Policy.Threshold || l.Floor > 0
		return loose && slices.ContainsFunc(t.Policy.Rules, func(r thresholds.Rule) bool {
			return r.Where == l.Rule && strings.Trim(string(r.Kernel), "*?") != ""
		})
	})
}
