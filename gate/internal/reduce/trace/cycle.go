package trace

import (
	"cmp"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// A workload without a range around its steps repeats itself all the same. What shows it is a kernel that every cycle
// launches once: the launches from one of its launches to the next are the same again and again.
const (
	// regular is the part of a loop's cycles that are as long as most, and of their launches that are those of the
	// cycle before.
	regular = 0.8
	// even is the part of a loop's launches and kernel time that is in cycles as long as most. Where a loop is not most
	// of a run, strictlyEven is that part, and strict that of launches as in the cycle before: an autotuner launches
	// another kernel in every cycle.
	even, strictlyEven, strict = 0.5, 0.8, 0.95
	// loopsOfKernel is the largest number of loops of one kernel, loopsOfRun that of a run; the longest are kept.
	loopsOfKernel, loopsOfRun = 8, 512
	// comparedLaunches is the largest number of launches of a loop that are compared with those of the cycle before.
	comparedLaunches = 20_000
)

// loop is a part of a run with launches of one kernel at regular distances and repeated launches between.
type loop struct {
	begin    int32 // its first launch, by the order of calls
	from, to int32 // its first and last launch of the kernel
	gap      int32 // launches of a cycle
	cycles   int   // from one launch of the kernel to the next
	// launches and busy are its shares of the launches and kernel time of the run, pastLaunches and pastBusy the shares
	// of the launches before it.
	launches, busy, pastLaunches, pastBusy float64
	// same is the share of launches equal to those of the cycle before, even the share of launches in cycles of the
	// most common length.
	same, even float64
}

// overlaps reports whether most of the shorter loop lies in the other.
func (l *loop) overlaps(other *loop) bool {
	both := min(l.to, other.to) - max(l.from, other.from)
	return 2*both > min(l.to-l.from, other.to-other.from)
}

// alike reports whether two runs have the same cycle, about as often or about as long.
func (l *loop) alike(other *loop) bool {
	return alikeTimes(l.cycles+1, other.cycles+1) || alikeTimes(int(l.gap), int(other.gap))
}

// alikeTimes reports whether two runs do something equally often, but for one time or a tenth.
func alikeTimes(a, b int) bool { return 10*max(a-b, b-a) <= max(10, a) }

// sequence is a run's launches in the order of their calls, and the kernels by number.
type sequence struct {
	order   []int32
	kernels []int32 // the number of each kernel of the trace from 1 on, 0 for one without a launch
	places  map[measure.Subject][]int32
}

// ordering says which launches make a sequence: those of a device, or of any. By name, kernels that differ in grid and
// block alone are the same.
type ordering struct {
	device int32
	byName bool
}

const anyDevice = -1

// inOrder gives a sequence of a run.
func (c *cut) inOrder(o ordering) sequence {
	s := sequence{order: make([]int32, 0, len(c.launches)), kernels: make([]int32, len(c.Kernels))}
	for i := range c.launches {
		if o.device == anyDevice || c.launches[i].Device == o.device {
			s.order = append(s.order, int32(i))
		}
	}
	called := func(a, b int32) int {
		x, y := &c.launches[a], &c.launches[b]
		return cmp.Or(cmp.Compare(x.API, y.API), cmp.Compare(x.Start, y.Start))
	}
	if !slices.IsSortedFunc(s.order, called) {
		slices.SortStableFunc(s.order, called)
	}
	var known model.Interned[measure.Subject]
	var by [][]int32
	for at, i := range s.order {
		k := &s.kernels[c.launches[i].Kernel]
		if *k == 0 { // not met yet: one device runs few of a trace's kernels
			subject := c.Kernels[c.launches[i].Kernel].Subject
			if o.byName {
				subject = measure.Subject{Scope: subject.Scope, Name: subject.Name}
			}
			n, isNew := known.Of(subject)
			*k = n + 1
			if isNew {
				by = append(by, nil)
			}
		}
		by[*k-1] = append(by[*k-1], int32(at))
	}
	s.places = make(map[measure.Subject][]int32, len(by))
	for k, at := range by {
		s.places[known.List[k]] = at
	}
	return s
}

// loops finds the loops of a run by the kernels that they launch once a cycle, of each kernel the one with most kernel
// time first.
func (c *cut) loops(o ordering) map[measure.Subject][]loop {
	s := c.inOrder(o)
	n := int32(len(s.order))
	kernels, busy, worked := make([]int32, n), make([]int64, n+1), c.worked() // busy: of the launches before
	for at, i := range s.order {
		l := &c.launches[i]
		kernels[at], busy[at+1] = s.kernels[l.Kernel], busy[at]+worked(l)
	}
	part := func(from, to int32) (launches, time float64) {
		return float64(to-from) / float64(n), float64(busy[to]-busy[from]) / float64(max(busy[n], 1))
	}
	type found struct {
		of measure.Subject
		at []int32
		loop
	}
	var all []found
	for of, at := range s.places {
		for _, l := range regularParts(at, loopsOfKernel) {
			l.launches, l.busy = part(l.from, l.to)
			l.pastLaunches, l.pastBusy = part(0, l.from)
			first, _ := slices.BinarySearch(at, l.from)
			all = append(all, found{of, at[first : first+l.cycles+1], l})
		}
	}
	measure.Sort(all, func(a, b found) int {
		return cmp.Or(cmp.Compare(b.busy, a.busy), cmp.Compare(a.from, b.from))
	})
	out := map[measure.Subject][]loop{}
	for _, x := range all[:min(len(all), loopsOfRun)] {
		x.same, x.even = sameCycles(kernels, x.at, x.gap), evenCycles(busy, x.at, x.gap)
		if x.same >= regular && x.even >= even {
			x.begin = begins(kernels, &x.loop)
			out[x.of] = append(out[x.of], x.loop)
		}
	}
	return out
}

// regularParts are parts of a kernel's places with mostly equal distances between neighbours, at most so many. For the
// most common distance it takes the part with the largest sum. That distance counts 1, another one so much that an
// irregular part has a negative sum; then likewise to the left and to the right.
func regularParts(places []int32, most int) (out []loop) {
	parts := [][]int32{places}
	for len(parts) > 0 && len(out) < most {
		of := parts[0]
		parts = parts[1:]
		if len(of) <= minSteps {
			continue
		}
		gap, from, to := regularPart(of)
		if to-from < minSteps {
			continue
		}
		out = append(out, loop{from: of[from], to: of[to], gap: gap, cycles: to - from})
		parts = append(parts, of[:from], of[to+1:])
	}
	return out
}

// regularPart is the most common distance between neighbours, and the first and last place of the part with mostly that
// distance.
func regularPart(places []int32) (gap int32, from, to int) {
	counts := map[int32]int{}
	for i := range len(places) - 1 {
		counts[places[i+1]-places[i]]++
	}
	for n, times := range counts {
		if times > counts[gap] || times == counts[gap] && n < gap {
			gap = n
		}
	}
	const other = regular / (1 - regular)
	sum, best, begin := 0.0, 0.0, 0
	for i := range len(places) - 1 {
		if sum <= 0 {
			sum, begin = 0, i
		}
		if places[i+1]-places[i] == gap {
			sum++
		} else {
			sum -= other
		}
		if sum > best {
			best, from, to = sum, begin, i+1
		}
	}
	return gap, from, to
}

// evenCycles is the part of the launches of a loop, or of its kernel time if that is less, that is in cycles as long as
// most. busy is the kernel time of the launches before.
func evenCycles(busy []int64, places []int32, gap int32) float64 {
	launches, time := int32(0), int64(0)
	for i := range len(places) - 1 {
		if places[i+1]-places[i] == gap {
			launches, time = launches+gap, time+busy[places[i+1]]-busy[places[i]]
		}
	}
	first, last := places[0], places[len(places)-1]
	return min(float64(launches)/float64(last-first), float64(time)/float64(max(busy[last]-busy[first], 1)))
}

// sameCycles is the part of the launches of a loop that are those of the cycle before, in cycles that are as long as
// most.
func sameCycles(kernels, places []int32, gap int32) float64 {
	same, all := 0, 0
	every := 1 + len(places)*int(gap)/comparedLaunches
	for i := 0; i+2 < len(places); i += every {
		a, b := places[i], places[i+1]
		if b-a != gap || places[i+2]-b != gap {
			continue
		}
		for k := range gap {
			if kernels[a+k] == kernels[b+k] {
				same++
			}
		}
		all += int(gap)
	}
	return float64(same) / float64(max(all, 1))
}

// begins is the first launch of a loop: the launches before the first one of its kernel belong to it while they are
// those of the next cycle.
func begins(kernels []int32, l *loop) int32 {
	at := l.from
	for at > max(0, l.from-l.gap) && kernels[at-1] == kernels[at-1+l.gap] {
		at--
	}
	return at
}
