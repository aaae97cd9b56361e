// Package match pairs what the baseline and the head of a comparison both have, and what has no partner: subjects and
// rules.
package match

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/explain/reason"
	"github.com/nsgate/nsgate/gate/internal/judge/recorded"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// Pairs pairs the subjects of baseline and head, level by level: the same kernel with the same geometry, the same name
// with another geometry, the same short name, the same short name but for the numbers of a code generator, the kernels
// of one geometry in one NVTX range in their order, the same range, and the rest of both as two sums. Below the first
// level pairs are judged by total time, for their launches need not do equal work. Ignored subjects are left out.
func Pairs(t Sides) []Pair {
	pairs, gone, fresh := common(t)
	levels := []struct {
		name string
		key  func(*recorded.Index, measure.Subject) string
	}{
		{"geometry", func(_ *recorded.Index, s measure.Subject) string { return s.Name }},
		{"name", func(_ *recorded.Index, s measure.Subject) string { return s.Short() }},
		{"stem", func(x *recorded.Index, s measure.Subject) string {
			if x == t.Head && t.known[s.Short()] {
				return "" // its operation says what it is
			}
			return measure.StemName(s.Name)
		}},
		{"place", func(x *recorded.Index, s measure.Subject) string {
			return result.Given(s.Geometry(), s.Geometry(), " in ", x.Role(s))
		}},
		{"role", (*recorded.Index).Role},
	}
	for _, level := range levels {
		old, new := groups(t.Base, gone, level.key), groups(t.Head, fresh, level.key)
		matched := map[measure.Subject]bool{}
		for _, key := range slices.Sorted(maps.Keys(old)) {
			if len(new[key]) == 0 || level.name == "place" && !t.inOrder(old[key], new[key]) {
				continue
			}
			switch level.name {
			case "place":
				for i := range old[key] {
					pairs = append(pairs, totals(t, old[key][i:i+1], new[key][i:i+1], level.name)...)
				}
			case "role", "name":
				pairs = append(pairs, replacement(t, old[key], new[key], level.name, key)...)
			default:
				pairs = append(pairs, totals(t, old[key], new[key], level.name)...)
			}
			for _, s := range slices.Concat(old[key], new[key]) {
				matched[s] = true
			}
		}
		isMatched := func(s measure.Subject) bool { return matched[s] }
		gone, fresh = slices.DeleteFunc(gone, isMatched), slices.DeleteFunc(fresh, isMatched)
	}
	if old, new := recorded.Kernels(gone), recorded.Kernels(fresh); t.weighs(t.Base, old) && t.weighs(t.Head, new) {
		pairs = append(pairs, replacement(t, old, new, "rest", "")...)
		isKernel := func(s measure.Subject) bool { return s.Scope == measure.ScopeKernel }
		gone, fresh = slices.DeleteFunc(gone, isKernel), slices.DeleteFunc(fresh, isKernel)
	}
	pairs = append(pairs, list(t, gone, result.Gone, result.Say(reason.Gone))...)
	pairs = append(pairs, list(t, fresh, result.New, result.Say(reason.New))...)
	for i := range pairs {
		p := &pairs[i]
		t.limit(p)
		other := measure.Either(p.Listed == result.New, t.Base, t.Head)
		if p.Listed != "" && p.Subject.Scope == measure.ScopeBenchmark && other.LeftOut(p.Subject.Name, recorded.Zero) {
			p.Because = result.Say(measure.Either(p.Listed == result.New, reason.NoBaseValue, reason.NoHeadValue))
			p.Listed = result.Undecided
		}
	}
	return slices.DeleteFunc(pairs, func(p Pair) bool { return p.Limit.Severity == thresholds.Ignore })
}

// SameNames gives the kernels of sessions, oldest first, the names that those which took their place have in the last
// one: from session to session a single kernel in place of a single one, launched as often, unless a rule limits the
// drift of the old name alone. An accepted session holds a part of its kernels, and is no place to tell a name.
func SameNames(sessions []model.Session, policy *thresholds.Resolved) []model.Session {
	out, later := slices.Clone(sessions), len(sessions)-1
	for i := len(out) - 2; i >= 0; i-- {
		if out[i].Accepted {
			continue
		}
		after := later
		later = i
		if !hasNewKernel(out[i].Series, out[after].Series) {
			continue
		}
		t := NewSides(out[i:i+1], out[after:after+1], policy)
		names := map[measure.Subject]measure.Subject{}
		for _, p := range Pairs(t) {
			old, new := p.summed[0], p.summed[1]
			if len(old) != 1 || len(new) != 1 {
				continue
			}
			was, is := policy.Limit(old[0], t.Time), policy.Limit(new[0], t.Time)
			if (was.Drift == nil || was.Rule == is.Rule) && t.Base.Typical(old[0], measure.Launches.Name) ==
				t.Head.Typical(new[0], measure.Launches.Name) {
				names[old[0]] = new[0]
			}
		}
		for j := range out[:i+1] {
			out[j].Series = slices.Clone(out[j].Series)
			for k := range out[j].Series {
				x := &out[j].Series[k]
				x.Subject = cmp.Or(names[x.Subject], x.Subject)
			}
			out[j].SortSeries()
		}
	}
	return out
}

// hasNewKernel reports whether series have a kernel that others, sorted as in files, lack.
func hasNewKernel(before, after []model.Series) bool {
	for i := range after {
		s := &after[i].Subject
		for len(before) > 0 && before[0].Subject.Compare(*s) < 0 {
			before = before[1:]
		}
		if s.Scope == measure.ScopeKernel && (len(before) == 0 || before[0].Subject != *s) {
			return true
		}
	}
	return false
}

// limit sets the limit of a pair, and the direction of its metric where a rule gives it.
func (t Sides) limit(p *Pair) {
	p.Limit = t.Policy.Limit(p.Subject, p.Metric)
	if p.Limit.Better != measure.Neither {
		p.Metric.Better = p.Limit.Better
	}
	more := t.Head.Typical(p.Subject, measure.Launches.Name) > t.Base.Typical(p.Subject, measure.Launches.Name)
	if more && p.Metric == measure.Total && math.IsInf(p.Limit.Max, 1) && !p.Limit.Bounded() {
		p.Limit.Max = t.Policy.Threshold // a bound of the launch time does not bound more launches
	}
	startup := p.Subject == measure.Before && p.Metric == measure.GPUTime
	if startup && (varies(t.Base, p.Subject) || varies(t.Head, p.Subject)) {
		p.Limit = t.Policy.Varying(p.Limit)
	}
}

// replacement pairs the sums of kernels that come and go by name, of a range, of a short name or of all, and lists
// these kernels; one instance of a template in place of another is one pair alone.
func replacement(t Sides, old, new []measure.Subject, match, in string) []Pair {
	gone := reason.Replaced{By: recorded.Names(new)}
	here := reason.Replaces{What: recorded.Names(old)}
	pairs := totals(t, old, new, match)
	sum := pairs[len(pairs)-1]
	switch {
	case match == "name" && len(sum.BaseNames) < 2 && len(sum.HeadNames) < 2:
		return pairs
	case match == "name":
		gone.Name, here.Name = in, in
	default:
		gone.Range, here.Range = in, in
	}
	return slices.Concat(pairs, list(t, old, result.Gone, result.Say(gone)), list(t, new, result.New, result.Say(here)))
}

// inOrder sorts kernels of one place and reports whether both sides have as many, each launched equally often.
func (t Sides) inOrder(old, new []measure.Subject) bool {
	known := true
	order := func(side *recorded.Index) func(a, b measure.Subject) int {
		return func(a, b measure.Subject) int {
			x, y := side.Typical(a, measure.Order.Name), side.Typical(b, measure.Order.Name)
			known = known && x != y && !math.IsNaN(x) && !math.IsNaN(y)
			return cmp.Compare(x, y)
		}
	}
	slices.SortFunc(old, order(t.Base))
	slices.SortFunc(new, order(t.Head))
	return known && slices.EqualFunc(old, new, func(a, b measure.Subject) bool {
		x, y := t.Base.Typical(a, measure.Launches.Name), t.Head.Typical(b, measure.Launches.Name)
		return len(old) == 1 || math.IsNaN(x) && math.IsNaN(y) || math.Abs(x-y) <= 1e-9*x
	})
}

// common pairs the subjects of both sides, and lists those that only the baseline or only the head has.
func common(t Sides) (pairs []Pair, gone, fresh []measure.Subject) {
	together := map[measure.Subject]*family{}
	for _, f := range families(t) {
		pairs = append(pairs, totals(t, f.base, f.head, f.match)...)
		for _, s := range slices.Concat(f.base, f.head) {
			together[s] = &f
		}
	}
	for _, s := range t.Base.Subjects() {
		if s.Scope == measure.ScopeIdle || s.Scope == measure.ScopeCall || s.Scope == measure.ScopeSection &&
			(!t.Head.Has(s) || s == measure.Warmup && t.Base.WarmupSteps() != t.Head.WarmupSteps()) {
			// a part of the step, or of the calls, which is judged as a whole; a section that a side does not know, or
			// a warm-up of another number of steps
			continue
		}
		switch {
		case t.Head.Has(s) && together[s] != nil:
			isSummed := func(p Pair) bool { return together[s].summed(t, p) }
			pairs = append(pairs, slices.DeleteFunc(same(t, s), isSummed)...)
		case t.Head.Has(s):
			pairs = append(pairs, same(t, s)...)
		case together[s] == nil:
			gone = append(gone, s)
		}
	}
	for _, s := range t.Head.Subjects() {
		if !t.Base.Has(s) && together[s] == nil && s.Scope != measure.ScopeIdle && s.Scope != measure.ScopeCall &&
			s.Scope != measure.ScopeSection {
			fresh = append(fresh, s)
			pairs = append(pairs, alone(t, s)...)
		}
	}
	return pairs, gone, fresh
}

// weighs reports whether kernels together take a part of the workload's time that matters. Removed kernels are
// compared with new ones only where both do: else they were removed or added, not replaced. A counter does not
// see all kernels, so its share is not that of the workload.
func (t Sides) weighs(side *recorded.Index, kernels []measure.Subject) bool {
	return len(kernels) > 0 && measure.Sum(kernels, side.Share) >= recorded.KernelShare && t.Time != measure.ReplayTime
}

// groups sorts kernels by a key; those without one are left out.
func groups(side *recorded.Index, subjects []measure.Subject,
	key func(*recorded.Index, measure.Subject) string) map[string][]measure.Subject {
	out := map[string][]measure.Subject{}
	for _, s := range recorded.Kernels(subjects) {
		if k := key(side, s); k != "" {
			out[k] = append(out[k], s)
		}
	}
	return out
}

func list(t Sides, subjects []measure.Subject, outcome result.Outcome, because result.Remark) []Pair {
	var out []Pair
	for _, s := range subjects {
		if s.Scope == measure.ScopeOutput {
			continue // see outputs
		}
		p := Pair{Subject: s, Metric: t.Total, Listed: outcome, Because: because}
		side, values := t.Base, &p.Base
		if outcome == result.New {
			side, values = t.Head, &p.Head
		}
		for _, m := range slices.Backward(measure.Main(s.Kind())) {
			if side.HasMetric(s, m.Name) {
				p.Metric = m
			}
		}
		*values = side.Values(s, p.Metric.Name)
		out = append(out, p)
	}
	return out
}

func same(t Sides, s measure.Subject) []Pair {
	var out []Pair
	attributes := changed(t, s, s)
	ofBase, ofHead := t.Base.Entries[s], t.Head.Entries[s]
	for _, m := range recorded.Known(ofBase, ofHead) {
		old, new := ofBase.Newest(m.Name) != nil, ofHead.Newest(m.Name) != nil
		both := old && new
		if old != new && s.Scope == measure.ScopeBenchmark {
			out = append(out, oneSided(t, s, m, old))
		}
		if s == measure.Workload && t.replacedStep(m) ||
			!both && !(old != new && (!m.Judged() || m == t.Time)) && !wanted(t, s, m, new) {
			continue
		}
		p := Pair{Subject: s, Metric: m, Match: "exact", OneSided: !both, Facts: slices.Clone(attributes),
			Base: t.Base.Values(s, m.Name), Head: t.Head.Values(s, m.Name)}
		if b, h := t.Base.Note(s, m.Name), t.Head.Note(s, m.Name); m != measure.MemoryPeak &&
			s.Scope == measure.ScopeWorkload && b != h && b != "" && h != "" {
			p.Facts = append(p.Facts, result.Say(reason.Memory{Base: b, Head: h}))
		}
		out = append(out, p)
	}
	return out
}

// oneSided lists a metric of a benchmark's row that only the baseline, or only the head, has.
func oneSided(t Sides, s measure.Subject, m measure.Metric, gone bool) Pair {
	p := Pair{Subject: s, Metric: m, Listed: result.New, Because: result.Say(reason.New),
		Head: t.Head.Values(s, m.Name)}
	if gone {
		p = Pair{Subject: s, Metric: m, Listed: result.Gone, Because: result.Say(reason.Gone),
			Base: t.Base.Values(s, m.Name)}
	}
	return p
}

// wanted reports whether a metric of one side is judged: one that a rule bounds, which needs no baseline, or a metric
// of a kernel that a rule names in full and the counter of both sides measures. inHead reports whether the head has it.
func wanted(t Sides, s measure.Subject, m measure.Metric, inHead bool) bool {
	if inHead && t.Policy.Limit(s, m).Bounded() {
		return true
	}
	if s.Scope != measure.ScopeKernel || t.Time != measure.ReplayTime || m.Means() != measure.ByCounters {
		return false
	}
	return t.Named(Pair{Metric: m, Limit: t.Policy.Limit(s, m)})
}

// alone is a subject that only the head has, as far as the policy bounds its values.
func alone(t Sides, s measure.Subject) []Pair {
	bounded := func(m measure.Metric) bool { return t.Policy.Limit(s, m).Bounded() }
	return measure.Map(measure.Where(t.Head.Metrics(s), bounded), func(m measure.Metric) Pair {
		return Pair{Subject: s, Metric: m, OneSided: true, Head: t.Head.Values(s, m.Name)}
	})
}

// totals pairs the summed total time of kernels that took one another's place, and of a single kernel in place of a
// single one what the policy names beyond the times.
func totals(t Sides, old, new []measure.Subject, match string) []Pair {
	heaviest := slices.MaxFunc(new, func(a, b measure.Subject) int {
		return cmp.Compare(t.Head.Typical(a, t.Total.Name), t.Head.Typical(b, t.Total.Name))
	})
	p := Pair{Subject: heaviest, Metric: t.Total, Match: match, summed: [2][]measure.Subject{old, new},
		Base: t.Base.Sum(old, t.Total.Name), Head: t.Head.Sum(new, t.Total.Name)}
	p.BaseNames = names(t.Base, old, t.Total)
	if len(new) > 1 {
		p.HeadNames = names(t.Head, new, t.Total)
	}
	single := len(old) == 1 && len(new) == 1
	if match == "geometry" && single {
		p.Facts = append(p.Facts, result.Say(reason.Geometry{Base: old[0].Geometry(), Head: new[0].Geometry()}))
	} else {
		gone, here := recorded.Names(old), recorded.Names(new)
		if single && slices.Equal(gone, here) { // instances of one template
			labels := measure.Labels([]string{old[0].Name, new[0].Name})
			gone, here = []string{labels[old[0].Name]}, []string{labels[new[0].Name]}
		}
		p.Facts = append(p.Facts, result.Say(reason.Names{Base: gone, Head: here}))
	}
	if !single {
		return []Pair{p}
	}
	p.Facts = append(p.Facts, changed(t, old[0], new[0])...)
	var out []Pair
	for _, m := range t.Head.Metrics(new[0]) {
		if !m.Judged() && t.Base.HasMetric(old[0], m.Name) && !t.Policy.Limit(new[0], m).Bounded() {
			out = append(out, Pair{Subject: new[0], Metric: m, Match: match,
				Base: t.Base.Values(old[0], m.Name), Head: t.Head.Values(new[0], m.Name)})
		}
	}
	return append(out, p)
}

func names(side *recorded.Index, kernels []measure.Subject, total measure.Metric) (out []string) {
	sorted := slices.SortedStableFunc(slices.Values(kernels), func(a, b measure.Subject) int {
		return cmp.Or(cmp.Compare(side.Typical(b, total.Name), side.Typical(a, total.Name)),
			cmp.Compare(a.Name, b.Name))
	})
	return measure.Once(nil, measure.Map(sorted, func(s measure.Subject) string { return s.Name })...)
}

// SumNames gives for each kernel that is judged in a sum of one name, or of an exchange, the name of that sum, without
// several geometries of one name.
func SumNames(pairs []Pair) map[measure.Subject]measure.Subject {
	out := map[measure.Subject]measure.Subject{}
	for _, p := range pairs {
		name, names := p.Subject, max(len(p.BaseNames), len(p.HeadNames))
		switch {
		case names > 1 && p.Match != "choice":
			continue
		case names < 2 && max(len(p.summed[0]), len(p.summed[1])) > 1:
			name.Grid, name.Block = measure.Dim3{}, measure.Dim3{}
		}
		for _, s := range slices.Concat(p.summed[:]...) {
			out[s] = name
		}
	}
	return out
}

func changed(t Sides, old, new measure.Subject) []result.Remark {
	var out []result.Remark
	if old.Scope != measure.ScopeKernel {
		return nil
	}
	for _, m := range []measure.Metric{measure.Registers, measure.StaticShared, measure.DynamicShared,
		measure.LocalMemory} {
		b, h := t.Base.Typical(old, m.Name), t.Head.Typical(new, m.Name)
		out = append(out, result.SayIf(!math.IsNaN(b) && !math.IsNaN(h) && b != h, reason.Attribute{Metric: m.Name,
			Unit: m.Unit, Base: result.Number(b), Head: result.Number(h)})...)
	}
	return out
}
