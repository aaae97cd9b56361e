package match

import (
	"maps"
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/recorded"
)

// family is a group of kernels with names or geometries that change from build to build, or from run to run. Its
// kernels differ in geometry alone, or in the numbers of a code generator, or are alternatives of an autotuner.
type family struct {
	match      string // "geometry", "stem" or "choice"
	base, head []measure.Subject
}

// families are the groups of kernels that exchanged work, so that only their sum can be compared.
func families(t Sides) []family {
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
		base, head := groups(t.Base, t.Base.Subjects(), key), groups(t.Head, t.Head.Subjects(), key)
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
	return append(out, choices(t, taken)...)
}

// choices are alternatives of an autotuner in one range: some runs of a side lack some kernels, and all runs of both
// sides launch the group equally often. Taken kernels are in other groups.
func choices(t Sides, taken map[measure.Subject]bool) (out []family) {
	key := func(side *recorded.Index, s measure.Subject) string {
		if taken[s] || !chosen(t.Base, s) && !chosen(t.Head, s) {
			return ""
		}
		return "in " + side.Role(s)
	}
	base, head := groups(t.Base, t.Base.Subjects(), key), groups(t.Head, t.Head.Subjects(), key)
	for _, in := range slices.Sorted(maps.Keys(base)) {
		f := family{"choice", base[in], head[in]}
		if len(f.head) > 0 && max(len(f.base), len(f.head)) > 1 && equallyOften(t, f) {
			out = append(out, f)
		}
	}
	return out
}

// chosen reports whether some runs of a side launch a kernel and others do not.
func chosen(side *recorded.Index, s measure.Subject) bool {
	values := slices.Concat(side.Values(s, measure.Launches.Name)...)
	return slices.Contains(values, 0) && slices.ContainsFunc(values, func(v float64) bool { return v > 0 })
}

// equallyOften reports whether every run of both sides launches the kernels of a group equally often in all.
func equallyOften(t Sides, f family) bool {
	launches := slices.Concat(slices.Concat(t.Base.Sum(f.base, measure.Launches.Name)...),
		slices.Concat(t.Head.Sum(f.head, measure.Launches.Name)...))
	return !slices.ContainsFunc(launches, func(v float64) bool { return !(math.Abs(v/launches[0]-1) < 1e-9) })
}

// shifted reports whether work moved between the members: some have the same name on both sides, and others came, went
// or launched more or less often, or not equally often in all runs; or times of generated names moved both ways.
func (f *family) shifted(t Sides) bool {
	common, moved, up, down := 0, 0, false, false
	limit := 1 + t.Policy.Threshold
	for _, s := range f.base {
		if !t.Head.Has(s) {
			moved++
			continue
		}
		common++
		if launches := t.Head.Typical(s, measure.Launches.Name) / t.Base.Typical(s,
			measure.Launches.Name); math.Abs(math.Log(launches)) > 1e-9 || varies(t.Base, s) || varies(t.Head, s) {
			moved++
		}
		change := t.Head.Typical(s, t.Total.Name) / t.Base.Typical(s, t.Total.Name)
		up, down = up || change > limit, down || change < 1/limit
	}
	for _, s := range f.head {
		if !t.Base.Has(s) {
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
func summed(t Sides, p Pair) bool {
	p.Limit = t.Policy.Limit(p.Subject, p.Metric)
	return (p.Metric == t.Time || p.Metric == t.Total || Counted(p.Metric)) && !t.Named(p) && !p.Limit.Bounded()
}
