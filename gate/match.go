package gate

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/measure"
	"github.com/nsgate/nsgate/thresholds"
)

// match puts together what base and head have, level by level: the same kernel with the same geometry, the same name
// with another geometry, the same short name, the same short name but for the numbers of a code generator, the same place
// in the same NVTX range. What is matched below the first level is judged by its total time, because one launch of the
// one need not do the work of one launch of the other.
func (e *engine) match() {
	base, head := e.base.subjects(), e.head.subjects()
	var gone, fresh []measure.Subject
	for _, s := range base {
		if e.head.has(s) {
			e.compareSame(s)
		} else {
			gone = append(gone, s)
		}
	}
	for _, s := range head {
		if !e.base.has(s) {
			fresh = append(fresh, s)
			e.boundAlone(s)
		}
	}
	levels := []struct {
		name   string
		key    func(*side, measure.Subject) string
		listed bool // the kernels come and go by name: list them as removed and added as well
	}{
		{"geometry", func(_ *side, s measure.Subject) string { return s.Name }, false},
		{"name", func(_ *side, s measure.Subject) string { return s.Short() }, false},
		{"stem", func(_ *side, s measure.Subject) string { return measure.StemName(s.Name) }, false},
		{"role", (*side).role, true},
	}
	for _, level := range levels {
		old, new := groups(e.base, gone, level.key), groups(e.head, fresh, level.key)
		matched := map[measure.Subject]bool{}
		for _, key := range slices.Sorted(maps.Keys(old)) {
			if len(new[key]) == 0 {
				continue
			}
			e.compareTotals(old[key], new[key], level.name)
			if level.listed {
				e.list(old[key], Removed, "its place in %s is taken by "+names(new[key]))
				e.list(new[key], Added, "it takes the place of "+names(old[key])+" in %s")
			}
			for _, s := range append(slices.Clone(old[key]), new[key]...) {
				matched[s] = true
			}
		}
		isMatched := func(s measure.Subject) bool { return matched[s] }
		gone, fresh = slices.DeleteFunc(gone, isMatched), slices.DeleteFunc(fresh, isMatched)
	}
	e.list(gone, Removed, "nothing in the head takes its place")
	e.list(fresh, Added, "nothing in the base has its place")
}

// groups sorts kernels by a key; those without one are left out.
func groups(side *side, subjects []measure.Subject, key func(*side, measure.Subject) string) map[string][]measure.Subject {
	out := map[string][]measure.Subject{}
	for _, s := range subjects {
		if s.Scope != measure.ScopeKernel {
			continue
		}
		if k := key(side, s); k != "" {
			out[k] = append(out[k], s)
		}
	}
	return out
}

func names(subjects []measure.Subject) string {
	var out []string
	for _, s := range subjects {
		if n := s.Short(); !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	if len(out) > 3 {
		out = append(out[:3], "others")
	}
	return strings.Join(out, ", ")
}

// compareSame compares every metric of a subject that both sides have.
func (e *engine) compareSame(s measure.Subject) {
	for _, m := range measure.Metrics {
		old, new := e.base.hasMetric(s, m.Name), e.head.hasMetric(s, m.Name)
		switch {
		case old && new:
			e.add(&comparison{subject: s, metric: m, match: "exact",
				base: e.base.values(s, m.Name), head: e.head.values(s, m.Name)})
		case old != new && (!m.Judged() || m == e.time), e.wants(s, m):
			e.add(&comparison{subject: s, metric: m, match: "exact", oneSided: true,
				base: e.base.values(s, m.Name), head: e.head.values(s, m.Name)})
		}
	}
}

// timed refuses a kernel that takes no time on one side and a good deal on the other: a time of zero is no measurement.
func (e *engine) timed() error {
	const ticks = 10 // of the timer; what takes less may well be read as zero
	for _, c := range e.comparisons {
		if c.metric.Name != e.time.Name || c.match != "exact" {
			continue
		}
		base, head := typical(c.base), typical(c.head)
		switch least := ticks * math.Max(e.tick, 1); {
		case head == 0 && base > least:
			return Reasons.Refuse("zero-time", c.subject.Short(), "head", amount(base, c.metric))
		case base == 0 && head > least:
			return Reasons.Refuse("zero-time", c.subject.Short(), "base", amount(head, c.metric))
		}
	}
	return nil
}

// wants reports whether a rule names a metric of a kernel in full, one that Nsight Compute, which measured both sides,
// could have measured.
func (e *engine) wants(s measure.Subject, m measure.Metric) bool {
	if s.Scope != measure.ScopeKernel || e.time != measure.NcuTime {
		return false
	}
	l := e.policy.Limit(s, m)
	return l.Severity != thresholds.Ignore && slices.ContainsFunc(e.policy.Rules, func(r thresholds.Rule) bool {
		return string(r.Metric) == m.Name && r.Where == l.Rule
	})
}

// boundAlone judges a kernel that only the head has by the bounds that the policy sets for its values.
func (e *engine) boundAlone(s measure.Subject) {
	for _, m := range e.head.metrics(s) {
		if e.policy.Limit(s, m).Bounded() {
			e.add(&comparison{subject: s, metric: m, oneSided: true, head: e.head.values(s, m.Name)})
		}
	}
}

// compareTotals compares the summed total time of kernels that took one another's place.
func (e *engine) compareTotals(old, new []measure.Subject, match string) {
	heaviest := slices.MaxFunc(new, func(a, b measure.Subject) int {
		return compareNumbers(e.head.typical(a, e.total.Name), e.head.typical(b, e.total.Name))
	})
	c := &comparison{subject: heaviest, metric: e.total, match: match,
		base: e.base.sum(old, e.total.Name), head: e.head.sum(new, e.total.Name)}
	for _, s := range old {
		c.finding.BaseNames = append(c.finding.BaseNames, s.Name)
	}
	slices.Sort(c.finding.BaseNames)
	c.finding.BaseNames = slices.Compact(c.finding.BaseNames)
	if match == "geometry" && len(old) == 1 && len(new) == 1 {
		c.finding.Evidence = append(c.finding.Evidence, "geometry "+old[0].Geometry()+" → "+new[0].Geometry())
	} else {
		c.finding.Evidence = append(c.finding.Evidence, names(old)+" → "+names(new))
	}
	if len(old) == 1 && len(new) == 1 {
		c.finding.Evidence = append(c.finding.Evidence, e.attributes(old[0], new[0])...)
		e.compareNamed(old[0], new[0], match)
	}
	e.add(c)
}

// compareNamed compares what the policy names beyond the times of two kernels of which one took the other's place.
func (e *engine) compareNamed(old, new measure.Subject, match string) {
	for _, m := range e.head.metrics(new) {
		if !m.Judged() && e.base.hasMetric(old, m.Name) && !e.policy.Limit(new, m).Bounded() {
			e.add(&comparison{subject: new, metric: m, match: match,
				base: e.base.values(old, m.Name), head: e.head.values(new, m.Name)})
		}
	}
}

func compareNumbers(a, b float64) int {
	switch {
	case math.IsNaN(a) && math.IsNaN(b), a == b:
		return 0
	case math.IsNaN(a) || a < b:
		return -1
	}
	return 1
}
