package decide

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/measure"
	"github.com/nsgate/nsgate/thresholds"
)

// pair is one metric of one subject as both sides have it, or as one side has it.
type pair struct {
	subject    measure.Subject
	metric     measure.Metric
	match      string         // see [Finding.Match]
	base, head [][]float64    // samples by session and run, NaN for runs that are left out
	shown      [2][][]float64 // samples of base and head with those
	limit      thresholds.Limit
	listed     Outcome   // Added or Removed, where there is nothing to compare
	strays     []float64 // of a step's period, by how much samples are far from the others of their side, on the log scale
	because    Remark    // of that outcome
	oneSided   bool      // one side does not have the metric: only the bounds of its value can be judged
	baseNames  []string
	headNames  []string // where they are several
	facts      []Remark
}

// compared reports whether both sides have something to compare.
func (p *pair) compared() bool { return p.listed == "" && !p.oneSided }

// match puts together what base and head have, level by level: the same kernel with the same geometry, the same name
// with another geometry, the same short name, the same short name but for the numbers of a code generator, the same place
// in the same NVTX range, and what is left of both as two sums. What is matched below the first level is judged by its total time, because one launch of the
// one need not do the work of one launch of the other. What the policy ignores is left out.
func match(t trial) []pair {
	var pairs []pair
	var gone, fresh []measure.Subject
	for _, s := range t.base.subjects() {
		if s.Scope == measure.ScopeIdle || s.Scope == measure.ScopeCall {
			continue // a part of the step, or of the calls, which is judged as a whole
		}
		if t.head.has(s) {
			pairs = append(pairs, same(t, s)...)
		} else {
			gone = append(gone, s)
		}
	}
	for _, s := range t.head.subjects() {
		if !t.base.has(s) && s.Scope != measure.ScopeIdle && s.Scope != measure.ScopeCall {
			fresh = append(fresh, s)
			pairs = append(pairs, alone(t, s)...)
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
		old, new := groups(t.base, gone, level.key), groups(t.head, fresh, level.key)
		matched := map[measure.Subject]bool{}
		for _, key := range slices.Sorted(maps.Keys(old)) {
			if len(new[key]) == 0 {
				continue
			}
			pairs = append(pairs, totals(t, old[key], new[key], level.name)...)
			if level.listed {
				pairs = append(pairs, list(t, old[key], Removed, remark("replaced", Args{"range": key, "by": names(new[key])}))...)
				pairs = append(pairs, list(t, new[key], Added, remark("replaces", Args{"range": key, "what": names(old[key])}))...)
			}
			for _, s := range slices.Concat(old[key], new[key]) {
				matched[s] = true
			}
		}
		isMatched := func(s measure.Subject) bool { return matched[s] }
		gone, fresh = slices.DeleteFunc(gone, isMatched), slices.DeleteFunc(fresh, isMatched)
	}
	if old, new := kernels(gone), kernels(fresh); t.weighs(t.base, old) && t.weighs(t.head, new) {
		pairs = append(pairs, totals(t, old, new, "rest")...)
	}
	pairs = append(pairs, list(t, gone, Removed, remark("gone", nil))...)
	pairs = append(pairs, list(t, fresh, Added, remark("new", nil))...)
	for i, p := range pairs {
		pairs[i] = t.judged(p)
		pairs[i].limit = t.policy.Limit(p.subject, p.metric)
	}
	return slices.DeleteFunc(pairs, func(p pair) bool { return p.limit.Severity == thresholds.Ignore })
}

// kernels are those among subjects.
func kernels(subjects []measure.Subject) []measure.Subject {
	return slices.DeleteFunc(slices.Clone(subjects), func(s measure.Subject) bool { return s.Scope != measure.ScopeKernel })
}

// weighs reports whether kernels together take a part of the workload's time that matters. What is gone is held against what is
// new only where both do: else it was removed or added, not replaced.
//
// Nsight Compute sees the kernels that it was told to, of which none tells what the rest took.
func (t trial) weighs(side *side, kernels []measure.Subject) bool {
	share := 0.0
	for _, s := range kernels {
		share += side.share(s)
	}
	return len(kernels) > 0 && share >= t.policy.Impact && t.time != model.NcuTime
}

// groups sorts kernels by a key; those without one are left out.
func groups(side *side, subjects []measure.Subject, key func(*side, measure.Subject) string) map[string][]measure.Subject {
	out := map[string][]measure.Subject{}
	for _, s := range kernels(subjects) {
		if k := key(side, s); k != "" {
			out[k] = append(out[k], s)
		}
	}
	return out
}

// names are the short names of subjects, each once.
func names(subjects []measure.Subject) []string {
	var out []string
	seen := map[string]bool{}
	for _, s := range subjects {
		if n := s.Short(); !seen[n] {
			out, seen[n] = append(out, n), true
		}
	}
	return out
}

// list makes pairs of subjects that only one side has.
func list(t trial, subjects []measure.Subject, outcome Outcome, because Remark) []pair {
	var out []pair
	for _, s := range subjects {
		if s.Scope == measure.ScopeOutput {
			continue // see outputs
		}
		p := pair{subject: s, metric: t.total, listed: outcome, because: because}
		switch s.Scope {
		case measure.ScopeRange, measure.ScopeDevice:
			p.metric = measure.GPUTime
		case measure.ScopeWorkload:
			p.metric = measure.CopyTime
		}
		if outcome == Added {
			p.head = t.head.values(s, p.metric.Name)
		} else {
			p.base = t.base.values(s, p.metric.Name)
		}
		out = append(out, p)
	}
	return out
}

// same pairs every metric of a subject that both sides have.
func same(t trial, s measure.Subject) []pair {
	var out []pair
	attributes := changed(t, s, s)
	ofBase, ofHead := t.base.held[s], t.head.held[s]
	for _, m := range measure.Metrics {
		old, new := ofBase.newest(m.Name) != nil, ofHead.newest(m.Name) != nil
		both := old && new
		if m == measure.StepTime && t.otherCycle() != nil || !both && !(old != new && (!m.Judged() || m == t.time)) && !wanted(t, s, m) {
			continue
		}
		p := pair{subject: s, metric: m, match: "exact", oneSided: !both, facts: slices.Clone(attributes),
			base: t.base.values(s, m.Name), head: t.head.values(s, m.Name)}
		if m == measure.MemoryPeak {
			p.facts = append(p.facts, grown(t)...)
		} else if b, h := t.base.note(s, m.Name), t.head.note(s, m.Name); b != h && b != "" && h != "" {
			p.facts = append(p.facts, remark("memory", Args{"base": b, "head": h}))
		}
		out = append(out, p)
	}
	return out
}

// wanted reports whether a rule names a metric of a kernel in full, one that Nsight Compute, which measured both sides,
// could have measured.
func wanted(t trial, s measure.Subject, m measure.Metric) bool {
	if s.Scope != measure.ScopeKernel || t.time != model.NcuTime {
		return false
	}
	return t.named(pair{metric: m, limit: t.policy.Limit(s, m)})
}

// named reports whether the rule that limits a metric names it in full.
func (t trial) named(p pair) bool {
	return slices.ContainsFunc(t.policy.Rules, func(r thresholds.Rule) bool {
		return string(r.Metric) == p.metric.Name && r.Where == p.limit.Rule
	})
}

// alone is a subject that only the head has, as far as the policy bounds its values.
func alone(t trial, s measure.Subject) []pair {
	var out []pair
	for _, m := range t.head.metrics(s) {
		if t.policy.Limit(s, m).Bounded() {
			out = append(out, pair{subject: s, metric: m, oneSided: true, head: t.head.values(s, m.Name)})
		}
	}
	return out
}

// totals pairs the summed total time of kernels that took one another's place, and of a single kernel in place of a single
// one what the policy names beyond the times.
func totals(t trial, old, new []measure.Subject, match string) []pair {
	heaviest := slices.MaxFunc(new, func(a, b measure.Subject) int {
		return cmp.Compare(t.head.typical(a, t.total.Name), t.head.typical(b, t.total.Name))
	})
	p := pair{subject: heaviest, metric: t.total, match: match,
		base: t.base.sum(old, t.total.Name), head: t.head.sum(new, t.total.Name)}
	for _, s := range old {
		p.baseNames = append(p.baseNames, s.Name)
	}
	if len(new) > 1 {
		for _, s := range new {
			p.headNames = append(p.headNames, s.Name)
		}
	}
	slices.Sort(p.baseNames)
	p.baseNames = slices.Compact(p.baseNames)
	slices.Sort(p.headNames)
	p.headNames = slices.Compact(p.headNames)
	single := len(old) == 1 && len(new) == 1
	if match == "geometry" && single {
		p.facts = append(p.facts, remark("geometry", Args{"base": old[0].Geometry(), "head": new[0].Geometry()}))
	} else {
		p.facts = append(p.facts, remark("names", Args{"base": names(old), "head": names(new)}))
	}
	if !single {
		return []pair{p}
	}
	p.facts = append(p.facts, changed(t, old[0], new[0])...)
	var out []pair
	for _, m := range t.head.metrics(new[0]) {
		if !m.Judged() && t.base.hasMetric(old[0], m.Name) && !t.policy.Limit(new[0], m).Bounded() {
			out = append(out, pair{subject: new[0], metric: m, match: match,
				base: t.base.values(old[0], m.Name), head: t.head.values(new[0], m.Name)})
		}
	}
	return append(out, p)
}

// changed lists what of a kernel's launch attributes changed.
func changed(t trial, old, new measure.Subject) []Remark {
	var out []Remark
	if old.Scope != measure.ScopeKernel {
		return nil
	}
	for _, m := range []measure.Metric{measure.Registers, measure.StaticShared, measure.DynamicShared, measure.LocalMemory} {
		b, h := t.base.typical(old, m.Name), t.head.typical(new, m.Name)
		if !math.IsNaN(b) && !math.IsNaN(h) && b != h {
			out = append(out, remark("attribute", Args{"metric": m.Name, "unit": m.Unit, "base": Number(b), "head": Number(h)}))
		}
	}
	return out
}

func remark(key string, args Args) Remark { return Remark{Key: key, Args: args} }
