package match

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/judge/recorded"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
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
	moved += measure.HowMany(f.head, func(s measure.Subject) bool { return !t.Base.Has(s) })
	return common > 0 && (moved > 1 || up && down && f.match != "geometry")
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

// SameOperations gives the kernels of baseline sessions the names that kernels of the same operations have in the head:
// XLA numbers kernels anew in each build. A name that stands for another operation in the head is marked as the
// baseline's. Sessions stay as they are where operations are not known.
func SameOperations(base, head []model.Session) []model.Session {
	i := len(head) - 1
	for i >= 0 && len(head[i].Operations) == 0 {
		i--
	}
	if i < 0 {
		return base
	}
	out := slices.Clone(base)
	for b := range out {
		if len(out[b].Operations) > 0 {
			out[b] = renamed(out[b], head[i].Operations, head)
		}
	}
	for a, accepted := range out { // replaced kernels had other names in the files
		if accepted.Accepted && len(accepted.Operations) > 0 {
			replaced := launchedIn(out[a : a+1])
			for b := range out[:a] {
				out[b].Series = slices.DeleteFunc(slices.Clone(out[b].Series), func(x model.Series) bool {
					return x.Subject.Scope == measure.ScopeKernel && replaced[x.Subject.Short()]
				})
			}
		}
	}
	return out
}

// operations are the short names of kernels whose operation the last session of both sides knows, and those that the
// head's knows, if the baseline's knows any.
func operations(base, head []model.Session) (both, ofHead map[string]bool) {
	in, both, ofHead := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for i, side := range [][]model.Session{base, head} {
		if len(side) == 0 {
			break
		}
		for _, x := range side[len(side)-1].Operations {
			both[x.Kernel] = i == 1 && in[x.Kernel]
			ofHead[x.Kernel] = i == 1 && len(in) > 0
			in[x.Kernel] = in[x.Kernel] || i == 0
		}
	}
	return both, ofHead
}

// launchedIn are the short names of kernels.
func launchedIn(sessions []model.Session) map[string]bool {
	names := map[string]bool{}
	for i := range sessions {
		for _, x := range sessions[i].Series {
			if x.Subject.Scope == measure.ScopeKernel {
				names[x.Subject.Short()] = true
			}
		}
	}
	return names
}

// withoutExchanged leaves out kernels of one stem that exchange launches between the runs of a session, see [families]:
// their operations are those of one run.
func withoutExchanged(names map[string]bool, sessions []model.Session) map[string]bool {
	stem := func(side *recorded.Index, s measure.Subject) string {
		if !varies(side, s) {
			return ""
		}
		return measure.StemName(s.Name)
	}
	for i := range sessions {
		side := recorded.New(sessions[i:i+1], measure.Total)
		for _, of := range groups(side, side.Subjects(), stem) {
			sum := side.Sum(of, measure.Launches.Name)[0]
			if slices.ContainsFunc(sum, func(v float64) bool { return v != sum[0] }) {
				continue
			}
			for _, s := range of {
				delete(names, s.Short())
			}
		}
	}
	return names
}

// renamed is a baseline session with the names of the head.
func renamed(s model.Session, of []model.Operation, inHead []model.Session) model.Session {
	both := append([]model.Session{s}, inHead...)
	base := launchedOf(s.Operations, withoutExchanged(launchedIn(both[:1]), both))
	head := launchedOf(of, withoutExchanged(launchedIn(inHead), both))
	names := newNames(base, head)
	taken, known := map[string]bool{}, map[string]bool{}
	for _, to := range names {
		taken[to] = true
	}
	for _, x := range of {
		known[x.Kernel] = true
	}
	for _, x := range base {
		if _, paired := names[x.Kernel]; paired || !taken[x.Kernel] && !known[x.Kernel] {
			continue
		}
		names[x.Kernel] = x.Kernel + "@baseline"
	}
	s.Series = slices.Clone(s.Series)
	for i := range s.Series {
		x := &s.Series[i]
		if to := names[x.Subject.Short()]; to != "" && x.Subject.Scope == measure.ScopeKernel {
			x.Subject.Name = to
		}
	}
	s.SortSeries()
	s.Operations = slices.Clone(s.Operations)
	for i := range s.Operations {
		x := &s.Operations[i]
		if to := names[x.Kernel]; to != "" && to != x.Kernel {
			x.Was, x.Kernel = x.Kernel, to
		}
	}
	return s
}

// launchedOf are the operations of kernels that are launched, of each name the first.
func launchedOf(all []model.Operation, launched map[string]bool) []model.Operation {
	seen := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(all), func(x model.Operation) bool {
		again := seen[x.Kernel]
		seen[x.Kernel] = true
		return again || !launched[x.Kernel]
	})
}

// newNames pairs operations: those of one path at one line, of one stem first; those of one path in one function, those
// of one name and kind, and what else is in one function, each in the order of the program and only where both sides
// have as many. It returns the names of the head by those of the baseline.
func newNames(base, head []model.Operation) map[string]string {
	names, taken, lines := map[string]string{}, map[string]bool{}, movedLines(base, head)
	for _, key := range []func(model.Operation) string{
		func(x model.Operation) string {
			return fmt.Sprintf("%s %s:%d %s", x.Path, x.File, x.Line, measure.StemName(x.Kernel))
		},
		func(x model.Operation) string { return fmt.Sprintf("%s %s:%d", x.Path, x.File, x.Line) },
		func(x model.Operation) string { return fmt.Sprintf("%s %s %s", x.Path, x.File, x.Function) },
		func(x model.Operation) string { return x.Kernel + " " + path.Base(x.Path) },
		func(x model.Operation) string { return x.File + " " + x.Function },
	} {
		old, fresh := map[string][]string{}, map[string][]string{}
		for _, x := range base {
			x.Line = cmp.Or(lines[sourceLine{x.File, x.Line}], x.Line)
			if names[x.Kernel] == "" && key(x) != " " {
				old[key(x)] = append(old[key(x)], x.Kernel)
			}
		}
		for _, x := range head {
			if !taken[x.Kernel] {
				fresh[key(x)] = append(fresh[key(x)], x.Kernel)
			}
		}
		for key, from := range old {
			if len(from) != len(fresh[key]) {
				continue
			}
			for i, to := range fresh[key] {
				names[from[i]], taken[to] = to, true
			}
		}
	}
	return names
}

type sourceLine struct {
	file string
	line int
}

// movedLines gives lines of the baseline their numbers in the head, where lines came or went before them: of each file
// the assignment that keeps their order and shares the most paths of operations.
func movedLines(base, head []model.Operation) map[sourceLine]int {
	out := map[sourceLine]int{}
	var paths [2]map[sourceLine]map[string]bool
	var lines [2]map[string][]int
	for i, side := range [][]model.Operation{base, head} {
		paths[i], lines[i] = map[sourceLine]map[string]bool{}, map[string][]int{}
		for _, x := range side {
			at := sourceLine{x.File, x.Line}
			if paths[i][at] == nil {
				paths[i][at] = map[string]bool{}
				lines[i][x.File] = append(lines[i][x.File], x.Line)
			}
			paths[i][at][x.Path] = true
		}
	}
	for file, old := range lines[0] {
		fresh := lines[1][file]
		slices.Sort(old)
		slices.Sort(fresh)
		alike := func(i, j int) float64 {
			a, b := paths[0][sourceLine{file, old[i]}], paths[1][sourceLine{file, fresh[j]}]
			both := 0
			for p := range a {
				if b[p] {
					both++
				}
			}
			return float64(2*both) / float64(len(a)+len(b))
		}
		best := make([][]float64, len(old)+1) // of the lines from i and j on
		for i := range best {
			best[i] = make([]float64, len(fresh)+1)
		}
		for i := len(old) - 1; i >= 0; i-- {
			for j := len(fresh) - 1; j >= 0; j-- {
				best[i][j] = max(best[i+1][j], best[i][j+1], best[i+1][j+1]+alike(i, j))
			}
		}
		for i, j := 0, 0; i < len(old) && j < len(fresh); {
			switch best[i][j] {
			case best[i+1][j]:
				i++
			case best[i][j+1]:
				j++
			default:
				out[sourceLine{file, old[i]}] = fresh[j]
				i, j = i+1, j+1
			}
		}
	}
	return out
}
