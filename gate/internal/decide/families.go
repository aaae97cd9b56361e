package decide

import (
	"maps"
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/recorded"
	"github.com/nsgate/nsgate/gate/measure"
)

// family is a group of kernels whose names or geometries change from build to build: those of one name with several
// geometries, or of one name but for the numbers of a code generator.
type family struct {
	match      string // "geometry" or "stem"
	base, head []measure.Subject
}

// families are the groups of kernels between which work moved, so that only their sum can be compared.
func families(t comparison) []family {
	var out []family
	taken := map[measure.Subject]bool{}
	for _, level := range []struct {
		match string
		key   func(measure.Subject) string
	}{
		{"geometry", func(s measure.Subject) string { return s.Name }},
		{"stem", func(s measure.Subject) string {
			if stem := measure.StemName(s.Name); stem != s.Short() {
				return stem
			}
			return ""
		}},
	} {
		key := func(_ *recorded.Index, s measure.Subject) string {
			if taken[s] {
				return ""
			}
			return level.key(s)
		}
		base, head := groups(t.base, t.base.Subjects(), key), groups(t.head, t.head.Subjects(), key)
		for _, key := range slices.Sorted(maps.Keys(base)) {
			f := family{level.match, base[key], head[key]}
			if len(f.head) == 0 || !f.shifted(t) {
				continue
			}
			out = append(out, f)
			for _, s := range slices.Concat(f.base, f.head) {
				taken[s] = true
			}
		}
	}
	return out
}

// shifted reports whether work moved between the members: some have the same name on both sides, and others came, went or are
// launched more or less often, or not equally often in all runs; or the times of generated names moved both ways.
func (f *family) shifted(t comparison) bool {
	common, moved, up, down := 0, 0, false, false
	limit := 1 + t.policy.Threshold
	for _, s := range f.base {
		if !t.head.Has(s) {
			moved++
			continue
		}
		common++
		if launches := t.head.Typical(s, measure.Launches.Name) / t.base.Typical(s, measure.Launches.Name); math.Abs(math.Log(launches)) > 1e-9 || varies(t.base, s) || varies(t.head, s) {
			moved++
		}
		change := t.head.Typical(s, t.total.Name) / t.base.Typical(s, t.total.Name)
		up, down = up || change > limit, down || change < 1/limit
	}
	for _, s := range f.head {
		if !t.base.Has(s) {
			moved++
		}
	}
	if f.match == "geometry" {
		return common > 0 && moved > 1
	}
	return common > 0 && (moved > 1 || up && down)
}

// varies reports whether the runs of a side launch a kernel more or less often, as where shapes depend on the batch.
func varies(side *recorded.Index, s measure.Subject) bool {
	least, most := math.Inf(1), 0.0
	for _, v := range slices.Concat(side.Values(s, measure.Launches.Name)...) {
		if !math.IsNaN(v) {
			least, most = min(least, v), max(most, v)
		}
	}
	return most > least*(1+1e-9)
}

// summed reports whether a metric of one member is judged by the sum of its family instead.
func summed(t comparison, p pair) bool {
	p.limit = t.policy.Limit(p.subject, p.metric)
	return (p.metric == t.time || p.metric == t.total || counts(p.metric)) && !t.named(p) && !p.limit.Bounded()
}
