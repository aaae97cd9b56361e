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
	// Number numbers the causes of a device, from 0.
	Number int32
	Time   int64
}

// Breakdown is one step of a device by causes. Its parts have each cause once and add up to its length.
type Breakdown struct {
	model.Interval
	Parts []Part
	// Hidden is the time in ns of collectives behind a kernel that computes, which costs nothing.
	Hidden int64
}

// Partition divides the periods of one device, which are sorted and do not overlap, among their causes. The parts of
// a breakdown are valid until visit returns.
func Partition(t *model.Trace, device int32, periods []model.Interval, visit func(Breakdown)) {
	p := partition{t: t, host: newHost(t), periods: periods, visit: visit}
	p.host.add = p.add
	p.operations(device)
	if n := len(periods); n > 0 {
		p.advance(periods[n-1].End, nil)
	}
	for !p.done() {
		p.close()
	}
}

// run adds an operation that starts no earlier than those before it.
func (p *partition) run(o work) {
	p.advance(o.start, &o)
	if o.end > p.now {
		p.active = append(p.active, o)
	}
}

// advance gives the time until then to what runs, and ends what has ended.
func (p *partition) advance(until int64, next *work) {
	for p.now < until && !p.done() {
		end := until
		for i := range p.active {
			end = min(end, p.active[i].end)
		}
		if end > p.now {
			p.give(p.now, end, next)
			p.now = end
		}
		p.active = slices.DeleteFunc(p.active, func(o work) bool { return o.end <= p.now })
	}
}

// operations runs those of a device, in the order of their starts.
func (p *partition) operations(device int32) {
	t := p.t
	classes, owners := make([]Class, len(t.Kernels)), make([]int32, len(t.Kernels))
	for i := range t.Kernels {
		if Communicates(t.Kernels[i].Subject.Name) {
			classes[i] = Communication
		}
		o := nobody(classes[i])
		o.Kernel = int32(i)
		owners[i] = p.number(o)
	}
	copies := t.Copies
	copiesBefore := func(start int64) { // of operations that start together launches come first
		for ; len(copies) > 0 && copies[0].Start < start; copies = copies[1:] {
			if c := &copies[0]; c.Device == device {
				o := nobody(Copy)
				o.Copy = c.Kind
				if c.Kind == model.Memset {
					o.Class = Memset
				}
				p.run(work{c.Start, c.End, c.API, p.number(o), c.Thread, o.Class, c.API != c.Start})
			}
		}
	}
	for i := range t.Launches {
		if l := &t.Launches[i]; l.Device == device {
			copiesBefore(l.Start)
			p.run(work{l.Start, l.End, l.API, owners[l.Kernel], l.Thread, classes[l.Kernel], l.API != l.Start})
		}
	}
	copiesBefore(math.MaxInt64)
}

// nobody is a cause without a kernel, call or range.
func nobody(class Class) Cause {
	return Cause{Class: class, Kernel: -1, Call: -1, After: -1, Range: -1}
}

type partition struct {
	t       *model.Trace
	host    *host
	periods []model.Interval // that of the step that is being filled first
	visit   func(Breakdown)
	active  []work
	now     int64

	causes model.Interned[Cause]
	times  []int64 // by cause, in the step that is being filled
	hidden int64
	filled []int32    // the causes that have a time
	parts  []Part     // of the last step
	recent [256]int32 // causes, to find most without a map
}

// number numbers a cause.
func (p *partition) number(o Cause) int32 {
	seat := &p.recent[uint32(o.Kernel^o.Call*31^o.After*37^o.Range*41^int32(o.Class)*59)%uint32(len(p.recent))]
	if int(*seat) >= len(p.times) || p.causes.List[*seat] != o {
		*seat, _ = p.causes.Of(o)
		if int(*seat) == len(p.times) {
			p.times = append(p.times, 0)
		}
	}
	return *seat
}

// add adds a time in ns to a cause in the step that is being filled.
func (p *partition) add(o Cause, time int64) { p.addTo(p.number(o), time) }

func (p *partition) addTo(cause int32, time int64) {
	if p.times[cause] == 0 {
		p.filled = append(p.filled, cause)
	}
	p.times[cause] += time
}

func (p *partition) done() bool { return len(p.periods) == 0 }

func (p *partition) close() {
	slices.SortFunc(p.filled, func(a, b int32) int { return p.causes.List[a].compare(&p.causes.List[b]) })
	p.parts = p.parts[:0]
	for _, x := range p.filled {
		p.parts = append(p.parts, Part{p.causes.List[x], x, p.times[x]})
		p.times[x] = 0
	}
	p.visit(Breakdown{p.periods[0], p.parts, p.hidden})
	p.filled, p.hidden, p.periods = p.filled[:0], 0, p.periods[1:]
}

func (o *Cause) compare(x *Cause) int {
	switch {
	case o.Class != x.Class:
		return cmp.Compare(o.Class, x.Class)
	case o.Kernel != x.Kernel:
		return cmp.Compare(o.Kernel, x.Kernel)
	}
	return cmp.Or(cmp.Compare(o.Copy, x.Copy), cmp.Compare(o.Call, x.Call), cmp.Compare(o.After, x.After),
		cmp.Compare(o.Range, x.Range))
}

// give attributes a time with the same running operations to a cause in each step that it lies in.
func (p *partition) give(from, to int64, next *work) {
	for !p.done() {
		step := p.periods[0]
		if a, b := max(from, step.Start), min(to, step.End); b > a {
			if len(p.active) > 0 {
				p.share(b - a)
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
func (p *partition) share(time int64) {
	class, n, moves := Memset, int64(0), false
	for i := range p.active {
		c := p.active[i].class
		moves = moves || c == Communication
		switch {
		case c < class:
			class, n = c, 1
		case c == class:
			n++
		}
	}
	if moves && class == Compute {
		p.hidden += time
	}
	rest := time % n
	for i := range p.active {
		if o := &p.active[i]; o.class == class && time/n+rest > 0 {
			p.addTo(o.owner, time/n+rest)
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
		a = max(a, next.api)
		if a < b {
			p.add(p.host.issuing(next), b-a)
		}
		return
	}
	p.add(whole, b-a)
}
