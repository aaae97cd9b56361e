package match

import (
	"maps"
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/judge/recorded"
	"github.com/nsgate/nsgate/gate/internal/measure"
)

// family is a group of kernels with names or geometries that change from build to build, or from run to run. Its
// kernels differ in geometry alone, or in the numbers of a code generator, or exchange launches.
type family struct {
	match      string // "geometry", "stem" or "choice"
	base, head []measure.Subject
}

// families are the groups of kernels that exchanged work, so that only their sum can be compared. Exchanges come first:
// kernels of one name, of one stem or of one range with launches that differ between the runs of a side, and with a sum
// that is the same in all runs of both sides. An autotuner, or the numbering of a code generator, chooses among them.
func families(t Sides) (out []family) {
	taken := map[measure.Subject]bool{}
	stem := func(_ *recorded.Index, s measure.Subject) string { return measure.StemName(s.Name) }
	inRange := func(side *recorded.Index, s measure.Subject) string { return "in " + side.Role(s) }
	sameName := func(_ *recorded.Index, s measure.Subject) string { return s.Name }
	numbered := func(_ *recorded.Index, s measure.Subject) string {
		if stem := measure.StemName(s.Name); stem != s.Short() && !t.operations[s.Short()] {
			return stem
		}
		return ""
	}
	for _, level := range []struct {
		match   string
		key     func(*recorded.Index, measure.Subject) string
		of      func(measure.Subject) bool
		matches func(*family, Sides) bool
	}{
		{"choice", sameName, t.differs, (*family).exchanges},
		{"choice", stem, t.differs, (*family).exchanges},
		{"choice", inRange, t.differs, (*family).exchanges},
		{"choice", inRange, func(s measure.Subject) bool { return t.differs(s) || t.Base.Has(s) != t.Head.Has(s) },
			(*family).exchanges},
		{"geometry", sameName, nil, (*family).shifted},
		{"stem", numbered, nil, (*family).shifted},
	} {
		key := func(side *recorded.Index, s measure.Subject) string {
			if taken[s] || level.of != nil && !level.of(s) {
				return ""
			}
			return level.key(side, s)
		}
		base, head := groups(t.Base, t.Base.Subjects(), key), groups(t.Head, t.Head.Subjects(), key)
		for _, key := range slices.Sorted(maps.Keys(base)) {
			f := family{level.match, base[key], head[key]}
			if len(f.head) == 0 || !level.matches(&f, t) {
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

// exchanges reports whether the members exchange launches: some differ between the runs of a side, their sum does not.
func (f *family) exchanges(t Sides) bool {
	if max(len(f.base), len(f.head)) < 2 || !slices.ContainsFunc(slices.Concat(f.base, f.head), t.differs) {
		return false
	}
	launches := slices.Concat(slices.Concat(t.Base.Sum(f.base, measure.Launches.Name)...),
		slices.Concat(t.Head.Sum(f.head, measure.Launches.Name)...))
	return !slices.ContainsFunc(launches, func(v float64) bool { return !(math.Abs(v/launches[0]-1) < 1e-9) })
}

// differs reports whether the runs of a side launch a kernel more or less often.
func (t Sides) differs(s measure.Subject) bool { return varies(t.Base, s) || varies(t.Head, s) }

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
			measure.Launches.Name); math.Abs(math.Log(launches)) > 1e-9 || t.differs(s) {
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
func (f *family) summed(t Sides, p Pair) bool {
	p.Limit = t.Policy.Limit(p.Subject, p.Metric)
	ofSum := p.Metric == t.Time || p.Metric == t.Total || Counted(p.Metric)
	sameWork := p.Metric == t.Time && f.match == "choice" && sameLaunches(t, p.Subject)
	return ofSum && !sameWork && !t.Named(p) && !p.Limit.Bounded()
}

// sameLaunches reports whether most runs of each side launch a kernel, all of these equally often.
func sameLaunches(t Sides, s measure.Subject) bool {
	var all []float64
	for _, side := range []*recorded.Index{t.Base, t.Head} {
		values := slices.Concat(side.Values(s, measure.Launches.Name)...)
		launched := slices.DeleteFunc(slices.Clone(values), func(v float64) bool { return !(v > 0) })
		if 2*len(launched) <= len(values) {
			return false
		}
		all = append(all, launched...)
	}
	return slices.Max(all) <= slices.Min(all)*(1+1e-9)
}
