package trace

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// look notes what the choice of the step and of the runs needs.
func (c *cut) look(step string) {
	if f := c.Fragment; f != nil {
		c.seen = f.Outline
		c.seen.Candidates = slices.DeleteFunc(slices.Clone(f.Candidates), func(x model.Candidate) bool {
			rare := x.Count < minSteps || strings.HasPrefix(x.Name, model.MarkPrefix)
			return step != "" && x.Name != step || step == "" && rare
		})
		return
	}
	c.seen = model.Outline{Launches: len(c.Launches), Devices: model.Devices(c.Launches),
		Candidates: c.candidates(step)}
	if n := len(c.Launches); n > 0 {
		c.seen.Span = model.Interval{Start: c.Launches[0].Start, End: c.Launches[n-1].End}
	}
	hash := uint64(1)
	for i := range c.Launches {
		l := &c.Launches[i]
		place, node := int64(l.Range)<<32|int64(uint32(l.Device)), int64(l.Thread)<<1
		if l.Node {
			node++
		}
		for _, x := range [...]int64{l.Start, l.End, l.API, int64(l.Kernel)<<32 | int64(uint32(l.Stream)), place,
			node} {
			high, low := bits.Mul64(hash^uint64(x), 0x9e3779b97f4a7c15)
			hash = bits.RotateLeft64(hash, 5) ^ high ^ low
		}
		c.seen.Busy += l.End - l.Start
	}
	c.seen.Hash = hash
}

// minSteps is the fewest occurrences that make a range a step.
const minSteps = 5

// occurrences are the outermost occurrences of each range, one after the other, by its name; with a name those of
// that range alone.
func (c *cut) occurrences(name string) [][]model.Interval {
	out := make([][]model.Interval, len(c.RangeNames))
	windowed := len(c.Trace.Captures) > 0 && len(c.launches) < len(c.Launches)
	for _, r := range c.Ranges {
		if name != "" && c.RangeNames[r.Name] != name {
			continue
		}
		of := &out[r.Name]
		if n := len(*of); n > 0 && r.Start < (*of)[n-1].End || windowed && !within(c.Captures, r.Start) {
			continue
		}
		*of = append(*of, model.Interval{Start: r.Start, End: r.End})
	}
	for name, of := range out {
		if len(of) > 0 && strings.HasPrefix(c.RangeNames[name], model.MarkPrefix) {
			for i := 1; i < len(of); i++ {
				of[i-1].End = of[i].Start - 1
			}
			out[name] = of[:len(of)-1]
		}
	}
	return out
}

// worked gives the kernel time of a launch in ns. Beside other kernels that of collectives, which mostly wait, is 0:
// their ranges (NCCL:ncclAllReduce) are no steps of a small model, and a wait for a late rank is no part of a loop.
func (c *cut) worked() func(*model.Launch) int64 {
	moves := c.communicates()
	beside := slices.Contains(moves, false)
	return func(l *model.Launch) int64 {
		return measure.Either(beside && moves[l.Kernel], 0, l.End-l.Start)
	}
}

// issued is the worked time of launches by the starts of their calls, which are sorted.
type issued struct {
	starts []int64
	time   []int64 // of all launches before that one
}

func (c *cut) issued() issued {
	x := issued{starts: make([]int64, len(c.launches)), time: make([]int64, len(c.launches)+1)}
	worked := c.worked()
	for i := range c.launches {
		x.starts[i], x.time[i+1] = c.launches[i].API, worked(&c.launches[i])
	}
	if !slices.IsSorted(x.starts) {
		order := make([]model.Interval, len(x.starts)) // the start of the call, the kernel time
		for i := range order {
			order[i] = model.Interval{Start: x.starts[i], End: x.time[i+1]}
		}
		slices.SortFunc(order, func(a, b model.Interval) int { return cmp.Compare(a.Start, b.Start) })
		for i, l := range order {
			x.starts[i], x.time[i+1] = l.Start, l.End
		}
	}
	for i := range x.starts {
		x.time[i+1] += x.time[i]
	}
	return x
}

// place is the first place, from i on, of a call that starts at a time or later.
func (x *issued) place(i int, time int64) int {
	n := 1
	for ; i+n < len(x.starts) && x.starts[i+n] < time; n *= 2 {
		i += n
	}
	found, _ := slices.BinarySearch(x.starts[i:min(i+n, len(x.starts))], time)
	return i + found
}

// coverage is the share of the kernel time launched since a time that was launched within the intervals, which are
// sorted.
func (x *issued) coverage(spans []model.Interval, since int64) float64 {
	in, at := int64(0), 0
	for i, span := range spans {
		if i+1 < len(spans) {
			span.End = min(span.End, spans[i+1].Start-1)
		}
		if from := max(span.Start, since); from <= span.End {
			first := x.place(at, from)
			at = x.place(first, min(span.End, math.MaxInt64-1)+1)
			in += x.time[at] - x.time[first]
		}
	}
	return float64(in) / float64(max(x.time[len(x.starts)]-x.time[x.place(0, since)], 1))
}

// candidates are the ranges that a run repeats, or the one that is wanted. Their shares are of one span, from the first
// occurrence of any of them: a short loop at the end of a run does not cover all of it.
func (c *cut) candidates(want string) (out []model.Candidate) {
	if want == NoStep {
		return nil
	}
	since, occurrences := int64(0), c.occurrences(want)
	var all [][]model.Interval
	for i, name := range c.RangeNames {
		if want != "" && name != want || want == "" && strings.HasPrefix(name, model.MarkPrefix) {
			continue
		}
		spans := occurrences[i]
		if len(spans) < minSteps && want == "" || len(spans) == 0 {
			continue
		}
		if len(out) == 0 || spans[0].Start < since {
			since = spans[0].Start
		}
		all = append(all, spans)
		out = append(out, model.Candidate{Name: name, Count: len(spans), First: spans[0].Start})
	}
	if len(out) > 0 {
		issued := c.issued()
		for i := range out {
			out[i].Covers = issued.coverage(all[i], since)
		}
	}
	return out
}

// order puts the runs of one GPU together, the first to start first.
func order(a, b *cut) int {
	return cmp.Or(cmp.Compare(a.GPU, b.GPU), cmp.Compare(a.GPUHash, b.GPUHash), a.Trace.Start.Compare(b.Trace.Start),
		cmp.Compare(a.Source, b.Source))
}

// sameEnvironment reports whether two runs of one side belong to one session. Unlike model.SameSession, which must
// not assume what it does not know, it puts runs of an unknown GPU or time together: they were handed in together.
func sameEnvironment(a, b *model.Environment) bool {
	return a.GPU == b.GPU && a.GPUHash == b.GPUHash && b.Start.Sub(a.Start).Abs() <= time.Hour
}

// chooseStep finds the range that every run repeats: the one that covers most of the kernel time, of equals the
// outermost, which is the one with the fewest occurrences or else the first to start. A name that the caller gives
// must be there.
func chooseStep(cuts []*cut, want string) (string, error) {
	if want == NoStep {
		return "", nil
	}
	const enough, equal = 0.5, 0.02
	type candidate struct {
		model.Candidate // Covers is that of the run where it covers least, First the sum over the runs
		runs            int
	}
	var found []candidate
	at := map[string]int{}
	for _, c := range cuts {
		for _, x := range c.seen.Candidates {
			i, ok := at[x.Name]
			if !ok {
				at[x.Name] = len(found)
				found = append(found, candidate{x, 1})
				continue
			}
			f := &found[i]
			f.Covers, f.Count, f.First, f.runs = min(f.Covers, x.Covers), max(f.Count, x.Count), f.First+x.First,
				f.runs+1
		}
	}
	found = slices.DeleteFunc(found, func(x candidate) bool { return x.runs < len(cuts) })
	if want != "" {
		if len(found) == 0 {
			return "", model.Refuse(model.NoStep, "name a range that every run has as the step, or none",
				"not every run has the step range %s%s", strconv.Quote(want), meant(want, cuts))
		}
		return want, nil
	}
	most := measure.Most(found, func(x candidate) float64 { return x.Covers })
	found = slices.DeleteFunc(found, func(x candidate) bool { return x.Covers < enough || x.Covers < most-equal })
	if len(found) == 0 {
		return "", nil
	}
	return slices.MinFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.Count, b.Count), cmp.Compare(a.First, b.First), cmp.Compare(a.Name, b.Name))
	}).Name, nil
}

// meant names the range that a step may have been meant for, else those that every run has.
func meant(want string, cuts []*cut) string {
	const most = 8
	var names []string
	have := map[string]int{} // cuts with a range of that name
	for _, c := range cuts {
		for _, name := range slices.Compact(slices.Sorted(slices.Values(c.RangeNames))) {
			have[name]++
		}
	}
	occurrences := cuts[0].occurrences("")
	for i, name := range cuts[0].RangeNames {
		if len(occurrences[i]) > 0 && have[name] == len(cuts) {
			names = append(names, name)
		}
	}
	near := measure.Nearest(want, names)
	slices.Sort(names)
	switch {
	case near != "":
		return "; did you mean " + strconv.Quote(near) + "?"
	case len(names) == 0:
		return ""
	case len(names) > most:
		names = append(names[:most], "…")
	}
	return "; they have " + strings.Join(names, ", ")
}
