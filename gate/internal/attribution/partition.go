package attribution

import (
	"cmp"
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/model"
)

// MicroGap is the longest pause in ns between queued operations that the hardware causes. It is TraceLens' short
// kernel, and above the gaps of unchanged H200 programs.
const MicroGap = 10_000

// Part is how much of a step is an owner's, in ns.
type Part struct {
	Cause
	Time int64
}

// Breakdown is one step of a device by causes. Its parts have each cause once and add up to its length.
type Breakdown struct {
	model.Interval
	Parts []Part
	// Hidden is the time in ns of collectives behind a kernel that computes, which costs nothing.
	Hidden int64
}

// Partition divides the periods of one device, which are sorted and do not overlap, among their causes.
func Partition(t *model.Trace, device int32, periods []model.Interval) []Breakdown {
	p := partition{t: t, host: newHost(t)}
	p.host.add = p.add
	for _, x := range periods {
		p.steps = append(p.steps, Breakdown{Interval: x})
	}
	var active []work
	now := int64(0)
	// advance gives the time until then to what runs, and ends what has ended.
	advance := func(until int64, next *work) {
		for now < until && !p.done() {
			end := until
			for i := range active {
				end = min(end, active[i].end)
			}
			if end > now {
				p.give(now, end, active, next)
				now = end
			}
			active = slices.DeleteFunc(active, func(o work) bool { return o.end <= now })
		}
	}
	p.operations(device, func(o work) {
		advance(o.start, &o)
		if o.end > now {
			active = append(active, o)
		}
	})
	if n := len(periods); n > 0 {
		advance(periods[n-1].End, nil)
	}
	for !p.done() {
		p.close()
	}
	return p.steps
}

// operations calls visit with those of a device, in the order of their starts.
func (p *partition) operations(device int32, visit func(work)) {
	t := p.t
	classes := make([]Class, len(t.Kernels))
	for i := range t.Kernels {
		if Communicates(t.Kernels[i].Subject.Name) {
			classes[i] = Communication
		}
	}
	copies := t.Copies
	copiesBefore := func(start int64) { // of operations that start together launches come first
		for ; len(copies) > 0 && copies[0].Start < start; copies = copies[1:] {
			if c := &copies[0]; c.Device == device {
				o := nobody(Copy)
				if o.Copy = c.Kind; c.Kind == model.Memset {
					o.Class = Memset
				}
				visit(work{c.Start, c.End, c.API, o, c.Thread, c.API != c.Start})
			}
		}
	}
	for i := range t.Launches {
		if l := &t.Launches[i]; l.Device == device {
			copiesBefore(l.Start)
			o := nobody(classes[l.Kernel])
			o.Kernel = l.Kernel
			visit(work{l.Start, l.End, l.API, o, l.Thread, l.API != l.Start})
		}
	}
	copiesBefore(math.MaxInt64)
}

// nobody is a cause without a kernel, call or range.
func nobody(class Class) Cause {
	return Cause{Class: class, Kernel: -1, Call: -1, After: -1, Range: -1}
}

type partition struct {
	t     *model.Trace
	host  *host
	steps []Breakdown
	at    int // the step that is being filled

	causes model.Interned[Cause]
	times  []int64    // by cause, in the step that is being filled
	parts  []int32    // the causes that have a time
	recent [256]int32 // causes, to find most without a map
}

// add adds a time in ns to a cause in the step that is being filled.
func (p *partition) add(o Cause, time int64) {
	seat := &p.recent[uint32(o.Kernel^o.Call*31^o.After*37^o.Range*41^int32(o.Class)*59)%uint32(len(p.recent))]
	if int(*seat) >= len(p.times) || p.causes.List[*seat] != o {
		if *seat, _ = p.causes.Of(o); int(*seat) == len(p.times) {
			p.times = append(p.times, 0)
		}
	}
	if p.times[*seat] == 0 {
		p.parts = append(p.parts, *seat)
	}
	p.times[*seat] += time
}

func (p *partition) done() bool { return p.at >= len(p.steps) }

func (p *partition) close() {
	step := &p.steps[p.at]
	step.Parts = make([]Part, len(p.parts))
	for i, x := range p.parts {
		step.Parts[i] = Part{p.causes.List[x], p.times[x]}
		p.times[x] = 0
	}
	slices.SortStableFunc(step.Parts, func(a, b Part) int {
		return cmp.Or(cmp.Compare(a.Class, b.Class), cmp.Compare(a.Kernel, b.Kernel), cmp.Compare(a.Copy, b.Copy),
			cmp.Compare(a.Call, b.Call), cmp.Compare(a.After, b.After), cmp.Compare(a.Range, b.Range))
	})
	p.parts = p.parts[:0]
	p.at++
}

// give attributes a time with the same running operations to a cause in each step that it lies in.
func (p *partition) give(from, to int64, active []work, next *work) {
	for !p.done() {
		step := &p.steps[p.at]
		if a, b := max(from, step.Start), min(to, step.End); b > a {
			if len(active) > 0 {
				p.share(b-a, active)
			} else {
				p.idle(a, b, from, to, next)
			}
		}
		if to < step.End {
			return
		}
		p.close()
	}
}

// share divides a time among those that hide the others. What does not divide evenly is the first one's.
func (p *partition) share(time int64, active []work) {
	class, n, moves := Memset, int64(0), false
	for i := range active {
		c := active[i].owner.Class
		moves = moves || c == Communication
		switch {
		case c < class:
			class, n = c, 1
		case c == class:
			n++
		}
	}
	if moves && class == Compute {
		p.steps[p.at].Hidden += time
	}
	rest := time % n
	for i := range active {
		if o := active[i].owner; o.Class == class && time/n+rest > 0 {
			p.add(o, time/n+rest)
			rest = 0
		}
	}
}

// idle finds the owners of a pause, [from, to), as far as it lies in [a, b). The next operation is nil behind the last.
func (p *partition) idle(a, b, from, to int64, next *work) {
	for _, busy := range p.host.overheadIn(a, b) {
		if busy.Start > a {
			p.pause(a, busy.Start, from, to, next)
		}
		p.add(nobody(Profiler), busy.End-busy.Start)
		a = busy.End
	}
	if b > a {
		p.pause(a, b, from, to, next)
	}
}

// pause is idle without the profiler's part.
func (p *partition) pause(a, b, from, to int64, next *work) {
	whole := nobody(Unknown)
	switch {
	case next == nil || !next.known:
	case next.api <= from && to-from < MicroGap:
		whole.Class = Micro
	case next.api <= from:
		whole.Class = Stalled
	default:
		p.host.spend(a, min(b, next.api), next.thread)
		if a = max(a, next.api); a < b {
			p.add(p.host.issuing(next), b-a)
		}
		return
	}
	p.add(whole, b-a)
}
