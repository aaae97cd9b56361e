package nsys

import (
	"slices"

	"github.com/nsgate/nsgate/gate/internal/model"
)

const (
	// fewRepeats is the smallest number of occurrences of a range that may be a step.
	fewRepeats = 3
	// mostOfTail is the largest share of the launches that is left out to end with a whole step.
	mostOfTail = 0.2
)

// cutTail leaves out the end of a recording that stopped while launches were queued, as --duration and cudaProfilerStop
// without a synchronisation stop it: these launches have no kernel. Launches count as queued if all of them were made
// after the last launch that has a kernel, and before the GPU had finished its work or could have begun the next
// kernel. Their step is left out as a whole.
func (p *process) cutTail() {
	if len(p.found.lost) == 0 || len(p.outsideGraphs()) != len(p.found.lost) {
		return
	}
	var lastCall, lastEnd, longest int64
	for _, l := range p.launches {
		if l.Thread >= 0 {
			lastCall = max(lastCall, l.API)
		}
		lastEnd, longest = max(lastEnd, l.End), max(longest, l.End-l.Start)
	}
	first, last := slices.Min(p.found.lost), slices.Max(p.found.lost)
	if lastCall == 0 || first < lastCall || last > lastEnd+longest || len(p.found.lost) >= len(p.launches) {
		return
	}
	from := p.wholeStep(first)
	p.warn("the recording ended while %d launches were queued, which have no kernel: what was launched after %d ns is "+
		"left out", len(p.found.lost), from)
	p.found.lost = nil
	queued := func(api int64) bool { return api >= from }
	kept := 0
	for i, l := range p.launches {
		if !queued(l.API) {
			p.launches[kept], p.ids[kept] = l, p.ids[i]
			kept++
		}
	}
	p.launches, p.ids = p.launches[:kept], p.ids[:kept]
	p.copies = slices.DeleteFunc(p.copies, func(c model.Copy) bool { return queued(c.API) })
	var calls model.Calls // without those of the tail, which would place the host after the last step
	for c := range p.found.all.All() {
		if !queued(c.Start) {
			calls.Add(c)
		}
	}
	calls.Settle(nil)
	p.found.all = calls
	// Ranges are sorted by start, so that the remaining ones keep their index.
	if i := slices.IndexFunc(p.ranges, func(x model.Range) bool { return queued(x.Start) }); i >= 0 {
		p.ranges = p.ranges[:i]
	}
}

// wholeStep is the start of the outermost range around a time that occurs often and holds few of the launches, or else
// that time.
func (p *process) wholeStep(at int64) int64 {
	count := map[int32]int{}
	for _, x := range p.ranges {
		count[x.Name]++
	}
	for _, x := range p.ranges {
		if x.Start > at {
			break
		}
		if x.End < at || count[x.Name] < fewRepeats {
			continue
		}
		left := 0
		for _, l := range p.launches {
			if l.API >= x.Start {
				left++
			}
		}
		if float64(left) <= mostOfTail*float64(len(p.launches)) {
			return x.Start
		}
	}
	return at
}
