package trace

import (
	"cmp"
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

const (
	// phaseShare is the kernel time of a phase, at least, as a part of that from it on.
	phaseShare = 0.1
	// phasesMost is the largest number of phases.
	phasesMost = 32
	// covered is the part of the launches and of the kernel time from the first phase on that is in phases.
	covered = 0.5
	// A loop that is not most of the run is at least so many cycles, and such a part of the launches or of the kernel
	// time.
	loopCycles, loopShare = 10, 0.05
)

// phase is a loop of a run: the time of its calls, and its weight in sums of the run. Runs that repeat a loop more or
// less often are weighted to the same number of cycles.
type phase struct {
	model.Interval
	of     measure.Subject
	cycles int
	weight float64
}

// candidatePhase is a loop that all runs have, by run.
type candidatePhase struct {
	of    measure.Subject
	loops []loop
}

// least is the smallest of the values of the runs.
func (p *candidatePhase) least(value func(*loop) float64) float64 {
	out := math.Inf(1)
	for i := range p.loops {
		out = min(out, value(&p.loops[i]))
	}
	return out
}

// small reports whether a loop is no phase beside the largest: it takes little of the kernel time from it on, and less
// than half as much as the largest.
func (p *candidatePhase) small(largest *candidatePhase) bool {
	return p.least(func(l *loop) float64 { return l.busy - phaseShare*(1-l.pastBusy) }) < 0 &&
		2*p.busy() < largest.busy()
}

// isOf reports whether a finished session has the loop, or repeats another as often.
func (p *candidatePhase) isOf(s *model.Session) bool {
	if _, ok := s.Find(loopSubject(p.of), measure.Repeats.Name); ok {
		return true
	}
	x, ok := s.Find(measure.Workload, measure.Repeats.Name)
	return !ok || alikeTimes(int(largest(x.Values)), p.loops[0].cycles)
}

func (p *candidatePhase) busy() float64 { return p.least(func(l *loop) float64 { return l.busy }) }

// setPhases finds the loops that every run without steps has, and lays the cycles of the largest over them. Launches
// before the first loop are start-up. Runs that have no loop in common stay as they are. The loop of a finished session
// is preferred. Threads that launch on several devices interleave by chance, so that each device of a process is looked
// at by itself; the first with a loop has those of the run.
func setPhases(cuts []*cut, like *model.Session) (found bool) {
	if len(cuts) == 0 {
		return false
	}
	for _, device := range append(commonDevices(cuts), anyDevice) {
		if found && device == anyDevice {
			break
		}
		o := ordering{device, false}
		exact := commonLoops(cuts, o)
		phases := choosePhases(exact, exact, like)
		if len(phases) == 0 { // loops over changing shapes repeat themselves by the names of their kernels
			o.byName = true
			phases = choosePhases(commonLoops(cuts, o), exact, like)
		}
		if len(phases) == 0 {
			continue
		}
		spread(len(cuts), func(i int) { cuts[i].addPhases(i, phases, o, !found) })
		found = true
	}
	return found
}

// commonLoops are the loops that all runs have, those with most kernel time first.
func commonLoops(cuts []*cut, o ordering) (out []candidatePhase) {
	seen := make([]map[measure.Subject][]loop, len(cuts))
	spread(len(cuts), func(i int) { seen[i] = cuts[i].loops(o) })
	for s, first := range seen[0] {
		used := make([]map[int]bool, len(seen))
		for _, l := range first {
			p := candidatePhase{of: s, loops: []loop{l}}
			for run := 1; run < len(seen); run++ {
				if used[run] == nil {
					used[run] = map[int]bool{}
				}
				for i := range seen[run][s] {
					if other := &seen[run][s][i]; !used[run][i] && l.alike(other) {
						p.loops, used[run][i] = append(p.loops, *other), true
						break
					}
				}
			}
			if len(p.loops) == len(seen) {
				out = append(out, p)
			}
		}
	}
	measure.Sort(out, func(a, b candidatePhase) int {
		return cmp.Or(cmp.Compare(b.busy(), a.busy()), cmp.Compare(a.loops[0].from, b.loops[0].from),
			cmp.Compare(a.of.ID(), b.of.ID()))
	})
	return out
}

// choosePhases are the phases among the loops that all runs have, the one of the steps first, which is one of mains. Of
// nested loops the one with the fewest cycles is the phase. The first phases are left out while phases cover less than
// most of the rest of the run.
func choosePhases(mains, all []candidatePhase, like *model.Session) (out []candidatePhase) {
	other := func(p candidatePhase) int {
		return measure.Either(like == nil || p.isOf(like), 0, 1)
	}
	wanted := func(p candidatePhase) bool {
		return p.busy() > covered || !slices.ContainsFunc(p.loops,
			func(l loop) bool { return l.same < strict || l.even < strictlyEven })
	}
	mains, all = measure.Where(mains, wanted), measure.Where(all, wanted)
	pick := func(from []candidatePhase) {
		if len(from) == 0 || len(out) >= phasesMost {
			return
		}
		top := from[0]
		nested := measure.Where(from, func(p candidatePhase) bool {
			return 2*p.busy() >= top.busy() && p.loops[0].overlaps(&top.loops[0])
		})
		best := slices.MinFunc(nested, func(a, b candidatePhase) int {
			return cmp.Or(cmp.Compare(other(a), other(b)), cmp.Compare(a.loops[0].cycles, b.loops[0].cycles),
				cmp.Compare(a.loops[0].from, b.loops[0].from))
		})
		out = append(out, best)
		all = slices.DeleteFunc(all, func(p candidatePhase) bool {
			return p.loops[0].overlaps(&best.loops[0]) || p.loops[0].overlaps(&top.loops[0])
		})
	}
	pick(mains)
	for n := 0; n < len(out); {
		n = len(out)
		pick(measure.Where(all, func(p candidatePhase) bool { return !p.small(&out[0]) }))
	}
	out = coveringPhases(out)
	if len(out) == 0 {
		return nil
	}
	first := out[0].loops[0].from
	for _, p := range out {
		first = min(first, p.loops[0].from)
	}
	for n := 0; n < len(out); { // small loops between and after the others
		n = len(out)
		pick(measure.Where(all, func(p candidatePhase) bool { return p.loops[0].from >= first }))
	}
	return out
}

// coveringPhases leaves out the first of these phases, the largest first, while phases cover less than most of the
// rest. None are left where that is the largest, or where the largest is a small part of a run.
func coveringPhases(phases []candidatePhase) []candidatePhase {
	if len(phases) == 0 {
		return nil
	}
	largest := phases[0]
	first := func() *candidatePhase {
		p := slices.MinFunc(phases, func(a, b candidatePhase) int {
			return cmp.Compare(a.loops[0].from, b.loops[0].from)
		})
		return &p
	}
	for p := first(); !covering(phases, p); p = first() {
		if p.of == largest.of && p.loops[0] == largest.loops[0] {
			return nil
		}
		phases = slices.DeleteFunc(slices.Clone(phases), func(x candidatePhase) bool {
			return x.of == p.of && x.loops[0] == p.loops[0]
		})
	}
	if slices.ContainsFunc(largest.loops, func(l loop) bool {
		return l.busy <= covered && (l.cycles < loopCycles || max(l.launches, l.busy) < loopShare)
	}) {
		return nil
	}
	return phases
}

// covering reports whether phases are most of every run, or most of the launches and of the kernel time from the first
// of them on.
func covering(phases []candidatePhase, first *candidatePhase) bool {
	for run, from := range first.loops {
		var launches, busy float64
		for _, p := range phases {
			launches, busy = launches+p.loops[run].launches, busy+p.loops[run].busy
		}
		if busy <= covered && (launches <= covered*(1-from.pastLaunches) || busy <= covered*(1-from.pastBusy)) {
			return false
		}
	}
	return true
}

// addPhases lays the cycles of the first of the phases of a device, or of all, over a run, each from one launch of its
// kernel to the next. The phases of the first device are those of the run; those of another one have to repeat as
// often.
func (c *cut) addPhases(run int, of []candidatePhase, o ordering, isFirst bool) {
	s, main := c.inOrder(o), of[0].loops[run]
	api := func(place int32) int64 { return c.launches[s.order[place]].API }
	if isFirst {
		c.cycles, c.turns, c.phases, c.startUp, c.cyclesOn = nil, nil, nil, math.MaxInt64, map[int32][]model.Interval{}
	} else if !alikeTimes(len(c.cycles), main.cycles) {
		return
	}
	for _, p := range of {
		l := p.loops[run]
		c.startUp = min(c.startUp, c.copiedFor(api(l.begin), api(l.begin+l.gap)))
		if isFirst {
			c.phases = append(c.phases, phase{model.Interval{Start: api(l.from), End: api(l.to) - 1},
				p.of, l.cycles, 1})
		}
	}
	at := s.places[of[0].of]
	first, last := slices.Index(at, main.from), slices.Index(at, main.to)
	cycles, turns := []model.Interval(nil), []float64(nil)
	for i := first; i < last; i++ {
		turns = append(turns, measure.Sum(s.order[at[i]:at[i+1]], func(l int32) float64 {
			return float64(c.launches[l].End - c.launches[l].Start)
		}))
		cycles = append(cycles, model.Interval{Start: api(at[i]), End: api(at[i+1]) - 1})
	}
	if isFirst {
		c.cycles, c.turns = cycles, turns
	}
	if o.device != anyDevice {
		c.cyclesOn[o.device] = cycles[:min(len(cycles), len(c.cycles))]
	}
}

// copiedFor is the time of the first copy of a loop: those before its first launch belong to it while they are those
// before the first launch of the next cycle.
func (c *cut) copiedFor(first, next int64) int64 {
	copies := slices.Clone(c.copies)
	slices.SortStableFunc(copies, func(a, b model.Copy) int { return cmp.Compare(a.API, b.API) })
	before := func(at int64) int {
		i, _ := slices.BinarySearchFunc(copies, at, func(x model.Copy, at int64) int { return cmp.Compare(x.API, at) })
		return i - 1
	}
	out := first
	for i, j := before(first), before(next); i >= 0 && j > i; i, j = i-1, j-1 {
		a, b := &copies[i], &copies[j]
		if b.API < first || a.Kind != b.Kind || a.Bytes != b.Bytes {
			break
		}
		out = a.API
	}
	return out
}

// evenPhases gives the phases of sides that have the same ones their weights. Where the harness chooses its iterations,
// each phase counts as many cycles as that of the finished session, or as is typical of all. Else runs count as they
// are: a head that repeats a phase more often than the baseline does more work.
func evenPhases(sides []*side, o Options) {
	if len(sides) == 0 || len(sides[0].cuts) == 0 {
		return
	}
	phases := sides[0].cuts[0].phases
	for k := range phases {
		var counts [][]float64
		var all []float64
		for _, s := range sides {
			cycles := measure.Map(s.cuts, func(c *cut) float64 { return float64(c.phases[k].cycles) })
			counts, all = append(counts, cycles), append(all, cycles...)
		}
		slices.Sort(all)
		typical, comparable := all[len(all)/2], true
		if o.Like != nil {
			loop := loopSubject(phases[k].of)
			x, known := o.Like.Find(loop, measure.Repeats.Name)
			raw, both := o.Like.Find(loop, measure.Launches.Name)
			switch {
			case known && both && x.Values[0] > 0:
				counts, typical = append(counts, raw.Values), x.Values[0]
			case len(phases) > 1: // that session has other phases: their common part is unknown
				comparable = false
			}
		}
		adaptive := comparable && adaptiveCycles(counts)
		for _, s := range sides {
			for _, c := range s.cuts {
				c.phases[k].weight = 1
				if adaptive {
					c.phases[k].weight = typical / float64(c.phases[k].cycles)
				}
			}
		}
	}
}

// adaptiveCycles reports whether a harness chose the numbers of cycles, given by session and run: they differ between
// the runs of every session, or sessions differ by no more than the runs of one do. A recording that lost the end of
// each run differs from a constant baseline by more.
func adaptiveCycles(sessions [][]float64) bool {
	every, spread := true, 0.0
	low, high := math.Inf(1), math.Inf(-1) // of the sessions' nearest ends
	for _, cycles := range sessions {
		least, most := slices.Min(cycles), slices.Max(cycles)
		every, spread = every && least < most, max(spread, most-least)
		low, high = min(low, most), max(high, least)
	}
	return spread > 0 && (every || high-low <= spread)
}

// loopSubject is the loop of a kernel, whose cycles a session counts.
func loopSubject(kernel measure.Subject) measure.Subject { return measure.Loop(kernel.ID()) }

// reducePhases writes the launches and the counted cycles of each phase's kernel in a run. Phases beside the steps also
// get the kernel time and the duration of so many cycles, from the first operation to the last.
func (c *cut) reducePhases(run int, t *table) {
	for i, p := range c.phases {
		loop := loopSubject(p.of)
		t.set(run, loop, measure.Launches, float64(p.cycles))
		x := t.set(run, loop, measure.Repeats, math.Round(p.weight*float64(p.cycles)))
		if i == 0 {
			x.Note = "steps"
			continue
		}
		busy, start, end := int64(0), int64(math.MaxInt64), int64(0)
		for _, l := range c.launches {
			if p.Start <= l.API && l.API <= p.End {
				busy, start, end = busy+l.End-l.Start, min(start, l.Start), max(end, l.End)
			}
		}
		if end > start {
			t.set(run, loop, measure.GPUTime, p.weight*float64(busy))
		}
		if end-start > measure.SmallKernel*int64(p.cycles) { // else it is the time of the launches
			t.set(run, loop, measure.Elapsed, p.weight*float64(end-start))
		}
	}
}

// otherPhase is the index of the phase beside the steps that contains a call, -1 for none.
func (c *cut) otherPhase(api int64) int {
	for i := 1; i < len(c.phases); i++ {
		if p := &c.phases[i]; p.Start <= api && api <= p.End {
			return i
		}
	}
	return -1
}

// share is the weight of the call at a time in the sums of a run: 0 in warm-up, start-up and outside steps or captures.
func (c *cut) share(at int64) float64 {
	switch {
	case len(c.steps) > 0:
		if c.stepOf(at) < max(c.skip, 0) {
			return 0
		}
	case len(c.launches) < len(c.Launches) && !within(c.Captures, at), len(c.phases) > 0 && at < c.startUp:
		return 0
	default:
		for i := range c.phases {
			if p := &c.phases[i]; p.Start <= at && at <= p.End {
				return p.weight
			}
		}
	}
	return 1
}
