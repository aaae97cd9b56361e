package trace

// The period of a step on a device runs from its first operation to the first one of the next step. Kernels that compute take
// the time in which they run, collectives the time without such a kernel, copies the time without either, memsets the rest
// (the order of TraceLens: exposed time is time that nothing more useful hides). Operations of one class share equally.
// Idle time is divided by the causes of NVIDIA's method (Megatron-Bridge, nemo-mbridge-perf-nsys-analysis): the host had not
// issued the next operation, or waited itself, or the operation was issued and waited on the GPU. The parts add up to the
// period, to the nanosecond.

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/model"
)

// Class is what kind of owner a part of a step has.
type Class uint8

// The classes, those that hide the others first.
const (
	Compute Class = iota
	Communication
	Copy
	Memset
	// Starved is idle time in which the host had not issued the next operation.
	Starved
	// Blocking is that in which the host waited for the GPU, in a call that synchronises.
	Blocking
	// Stalled is that in which the next operation was issued and waited for another stream.
	Stalled
	// Micro is the time between operations that were queued, under MicroGap each.
	Micro
	// Profiler is that in which the profiler held the process up; it is no idle time of the program.
	Profiler
	// Unknown is idle time of which the recording does not tell when the next operation was issued.
	Unknown
)

// MicroGap is the longest pause in ns between queued operations that is the hardware's own (TraceLens' short kernel, and what
// the gaps of unchanged H200 programs stay under).
const MicroGap = 10_000

// Idle reports whether nothing of the program ran on the GPU.
func (c Class) Idle() bool { return c >= Starved && c != Profiler }

// String names the class as reports do.
func (c Class) String() string {
	return [...]string{
		"compute", "exposed communication", "exposed copies", "memsets",
		"launch-starved", "blocking", "dependency-stalled", "micro gaps", "profiler", "unknown",
	}[c]
}

// Cause is whose a part of a step is. It is comparable.
type Cause struct {
	Class  Class
	Kernel int32          // of Compute and Communication: index into Trace.Kernels
	Copy   model.CopyKind // of Copy
	// Call is the CUDA call in which the host was: the one that blocked, or what kept it from issuing the next operation. -1 is
	// none: code of the host. After is the synchronising call that this code came after, -1 for none.
	Call, After int32
	// Range is the name of the innermost NVTX range of the host in that time, -1 for none.
	Range int32
}

// Where says where the host was: "host code in step after cudaDeviceSynchronize"; "" for what the GPU did.
func (o Cause) Where(t *model.Trace) string {
	if !(o.Class == Starved || o.Class == Blocking) {
		return ""
	}
	var words []string
	if o.Call >= 0 {
		words = append(words, t.CallNames[o.Call])
	} else {
		words = append(words, hostCode)
	}
	if o.Range >= 0 {
		words = append(words, "in", t.RangeNames[o.Range])
	}
	if o.After >= 0 {
		words = append(words, "after", t.CallNames[o.After])
	}
	return strings.Join(words, " ")
}

// CallOf is the CUDA call that a text of [Cause.Where] names, the one that the host was in or came from; "" for none.
func CallOf(where string) string {
	if m := namesCall.FindStringSubmatch(where); m != nil {
		return m[1] + m[2]
	}
	return ""
}

// hostCode is what the host executes outside of CUDA calls.
const hostCode = "host code"

var namesCall = regexp.MustCompile(`^(?:` + hostCode + ` (?:.* )?after ((?:cu|hip)\w+)$|((?:cu|hip)\w+)(?: in .*)?$)`)

// Part is how much of a step is an owner's, in ns.
type Part struct {
	Cause
	Time int64
}

// Step is one step of a device. Its parts have each owner once and add up to its length.
type Breakdown struct {
	model.Interval
	Parts []Part
	// Hidden is the time in ns in which a collective ran behind a kernel that computes, and so cost nothing.
	Hidden int64
}

// What the names of kernels that move data between GPUs begin with, in some namespace, and what they hold: NCCL's, and those that
// NVIDIA's method adds.
var (
	communicationBegins = []string{"nccl", "rccl", "intranode", "internode", "rdma"}
	communicationHolds  = []string{"nvshmem", "deep_ep", "deepep", "hybrid_ep", "hybridep", "_rdma"}
)

// Communicates reports whether a kernel moves data between GPUs, by its name with or without namespaces and parameters.
func Communicates(name string) bool {
	name = strings.ReplaceAll(name, "(anonymous namespace)::", "")
	if i := strings.IndexAny(name, "<("); i >= 0 {
		name = name[:i]
	}
	name = strings.ToLower(name[strings.LastIndexByte(name, ' ')+1:])
	for part := range strings.SplitSeq(name, "::") {
		if slices.ContainsFunc(communicationBegins, func(s string) bool { return strings.HasPrefix(part, s) }) {
			return true
		}
	}
	return slices.ContainsFunc(communicationHolds, func(s string) bool { return strings.Contains(name, s) })
}

// operation is what a kernel of NCCL does: ncclDevKernel_AllReduce_Sum_f32_RING_LL.
var operation = regexp.MustCompile(`^n?r?ccl(?:Dev)?Kernel_([A-Za-z0-9]+)`)

// Operation is what a kernel that communicates does, by its short name: "AllReduce", else that name.
func Operation(short string) string {
	if m := operation.FindStringSubmatch(short); m != nil {
		return m[1]
	}
	return short
}

var (
	synchronises = regexp.MustCompile(`^cu(?:da)?(?:Device|Stream|Event|Ctx|Context)Synchronize|^hip(?:Device|Stream|Event)Synchronize`)
	blockingCopy = regexp.MustCompile(`^(?:cu|cuda|hip)Mem(?:cpy|set)`)
)

// Synchronises reports whether a CUDA call makes the host wait for the GPU: by its name, since whether an asynchronous copy
// waited is seen from its time alone.
func Synchronises(call string) bool {
	return synchronises.MatchString(call) || blockingCopy.MatchString(call) && !strings.Contains(call, "Async")
}

// work is a launch or a copy.
type work struct {
	start, end, api int64
	owner           Cause
	thread          int32
	known           bool // when it was issued
}

// Partition divides the periods of one device, which are sorted and do not overlap, among their owners. The recording must hold
// every operation: of CUDA graphs that were traced as a whole it does not.
func Partition(t *model.Trace, device int32, periods []model.Interval) []Breakdown {
	p := partition{t: t, host: newHost(t), steps: make([]Breakdown, len(periods)), sums: map[Cause]int64{}}
	for i := range periods {
		p.steps[i].Interval = periods[i]
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
	operations := p.operations(device)
	for i := range operations {
		o := &operations[i]
		advance(o.start, o)
		if o.end > now {
			active = append(active, *o)
		}
	}
	if n := len(periods); n > 0 {
		advance(periods[n-1].End, nil)
	}
	for !p.done() {
		p.close()
	}
	return p.steps
}

// operations are those of a device, in the order of their starts.
func (p *partition) operations(device int32) []work {
	t := p.t
	classes := make([]Class, len(t.Kernels))
	for i := range t.Kernels {
		if Communicates(t.Kernels[i].Subject.Name) {
			classes[i] = Communication
		}
	}
	n := 0
	for i := range t.Launches {
		if t.Launches[i].Device == device {
			n++
		}
	}
	launches, copies := make([]work, 0, n), make([]work, 0, len(t.Copies))
	for i := range t.Launches {
		if l := &t.Launches[i]; l.Device == device {
			launches = append(launches, work{l.Start, l.End, l.API, nobody(Cause{Class: classes[l.Kernel], Kernel: l.Kernel}), l.Thread, l.API != l.Start})
		}
	}
	for i := range t.Copies {
		c := &t.Copies[i]
		if c.Device != device {
			continue
		}
		o := Cause{Class: Copy, Kernel: -1, Copy: c.Kind}
		if c.Kind == model.Memset {
			o.Class = Memset
		}
		copies = append(copies, work{c.Start, c.End, c.API, nobody(o), c.Thread, c.API != c.Start})
	}
	return inTurn(byStart(launches), byStart(copies))
}

// byStart sorts operations, which most recordings have in this order.
func byStart(list []work) []work {
	order := func(a, b work) int { return cmp.Compare(a.start, b.start) }
	if !slices.IsSortedFunc(list, order) {
		slices.SortStableFunc(list, order)
	}
	return list
}

// inTurn merges operations by their starts; of those that start together the first list's come first.
func inTurn(a, b []work) []work {
	if len(b) == 0 {
		return a
	}
	out := make([]work, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if b[0].start < a[0].start {
			out, b = append(out, b[0]), b[1:]
		} else {
			out, a = append(out, a[0]), a[1:]
		}
	}
	return append(append(out, a...), b...)
}

// nobody is an owner for which the host plays no part.
func nobody(o Cause) Cause {
	o.Call, o.After, o.Range = -1, -1, -1
	return o
}

// partition is the work of [Partition].
type partition struct {
	t     *model.Trace
	host  *host
	steps []Breakdown
	at    int             // the step that is being filled
	sums  map[Cause]int64 // its parts
}

func (p *partition) done() bool { return p.at >= len(p.steps) }

// close ends a step.
func (p *partition) close() {
	step := &p.steps[p.at]
	for owner, time := range p.sums {
		step.Parts = append(step.Parts, Part{owner, time})
	}
	slices.SortStableFunc(step.Parts, func(a, b Part) int {
		return cmp.Or(cmp.Compare(a.Class, b.Class), cmp.Compare(a.Kernel, b.Kernel), cmp.Compare(a.Copy, b.Copy),
			cmp.Compare(a.Call, b.Call), cmp.Compare(a.After, b.After), cmp.Compare(a.Range, b.Range))
	})
	clear(p.sums)
	p.at++
}

// give gives a time in which the same operations ran to the steps that it lies in, and there to the owner.
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
			p.sums[o] += time/n + rest
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
		p.sums[nobody(Cause{Class: Profiler, Kernel: -1})] += busy.End - busy.Start
		a = busy.End
	}
	if b > a {
		p.pause(a, b, from, to, next)
	}
}

// pause is idle without the profiler's part.
func (p *partition) pause(a, b, from, to int64, next *work) {
	whole := nobody(Cause{Class: Unknown, Kernel: -1})
	switch {
	case next == nil || !next.known:
	case next.api <= from && to-from < MicroGap:
		whole.Class = Micro
	case next.api <= from:
		whole.Class = Stalled
	default:
		p.host.spend(a, min(b, next.api), next.thread, p.sums)
		if a = max(a, next.api); a < b {
			p.sums[p.host.issuing(next)] += b - a
		}
		return
	}
	p.sums[whole] += b - a
}
