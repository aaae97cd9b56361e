package torch

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/nsgate/nsgate/gate/measure"
)

// finish turns what was read into a trace, or says why it cannot be judged.
func (t *trace) finish() (*measure.Trace, error) {
	slices.SortFunc(t.launches, func(a, b launch) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end), cmp.Compare(a.id, b.id),
			cmp.Compare(a.variant, b.variant), cmp.Compare(a.device, b.device), cmp.Compare(a.stream, b.stream))
	})
	t.dropTwice()
	slices.SortFunc(t.calls, func(a, b call) int { return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.start, b.start)) })
	slices.SortStableFunc(t.copies, func(a, b transfer) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End))
	})
	if err := t.check(); err != nil {
		return nil, err
	}
	out := &measure.Trace{Source: t.src.name, MemoryPeak: -1, RangeNames: t.spans.list}
	if pid, err := strconv.Atoi(t.pid); err == nil {
		out.Process = pid
	}
	kernels, to := t.kernels()
	out.Kernels = kernels
	out.Launches = make([]measure.Launch, len(t.launches))
	for i, l := range t.launches {
		out.Launches[i] = measure.Launch{
			Start: l.start, End: l.end, API: l.start, Kernel: to[l.variant], Range: -1, Device: l.device, Stream: l.stream,
		}
	}
	t.leaveOutUnsized(out)
	out.Copies = make([]measure.Copy, len(t.copies))
	for i := range t.copies {
		out.Copies[i] = t.copies[i].Copy
	}
	t.attach(out)
	out.Environment = t.environment(out.Launches)
	if t.amd && out.GPU == "" {
		return nil, t.src.refuse("amd-model")
	}
	t.doubt(out)
	return out, nil
}

// kernels are the variants, those of one subject merged. to gives the kernel of each variant. Kineto tells only the sum of static and dynamic shared memory, which stands as dynamic.
func (t *trace) kernels() (kernels []measure.KernelInfo, to []int32) {
	launches := make([]int, len(t.variants))
	for _, l := range t.launches {
		launches[l.variant]++
	}
	subjects := make(map[int32]measure.Subject) // by name, each normalised once
	kernels = make([]measure.KernelInfo, len(t.variants))
	for i, v := range t.variants {
		subject, ok := subjects[v.name]
		if !ok {
			subject = measure.KernelSubject(t.names.list[v.name], measure.Dim3{}, measure.Dim3{})
			subjects[v.name] = subject
		}
		subject.Grid, subject.Block = v.grid, v.block
		kernels[i] = measure.KernelInfo{
			Subject: subject, Raw: t.names.list[v.name], Registers: v.registers,
			StaticShared: -1, DynamicShared: v.shared, LocalMemory: -1,
		}
		if v.shared == 0 {
			kernels[i].StaticShared = 0
		}
	}
	return measure.MergeKernels(kernels, launches)
}

// leaveOutUnsized drops the copies where some do not tell their size: the bytes of the others would pass for all.
func (t *trace) leaveOutUnsized(out *measure.Trace) {
	if t.unsized == 0 {
		return
	}
	out.Warnings = append(out.Warnings, fmt.Sprintf(
		"%d of %d copies and memsets do not tell their size: none is judged", t.unsized, len(t.copies)))
	t.copies = nil
}

// find gives the earliest call of an id.
func (t *trace) find(id int64) *call {
	i, ok := slices.BinarySearchFunc(t.calls, id, func(c call, id int64) int { return cmp.Compare(c.id, id) })
	if !ok || id == 0 {
		return nil
	}
	return &t.calls[i]
}

// attach gives each launch and copy the time of its call, and the innermost range around that on the same thread.
func (t *trace) attach(out *measure.Trace) {
	var asked []question
	missing := 0
	for i, l := range t.launches {
		c := t.find(l.id)
		if c == nil {
			missing++
			continue
		}
		x := &out.Launches[i]
		x.API = c.start
		x.Node = t.doesAny(l.id, launchesGraph)
		asked = append(asked, question{c.start, c.thread, &x.Range})
	}
	for i, x := range t.copies {
		if c := t.find(x.id); c != nil {
			out.Copies[i].API = c.start
			asked = append(asked, question{c.start, c.thread, &out.Copies[i].Range})
		}
	}
	out.Ranges = t.nest(asked)
	if missing > 0 {
		out.Warnings = append(out.Warnings, fmt.Sprintf(
			"%d of %d launches have no CUDA call in the trace: they belong to no range", missing, len(t.launches)))
	}
}

// doesAny reports whether any call of an id does something: the runtime's call, or the driver's inside it.
func (t *trace) doesAny(id int64, what does) bool {
	i, _ := slices.BinarySearchFunc(t.calls, id, func(c call, id int64) int { return cmp.Compare(c.id, id) })
	for ; i < len(t.calls) && t.calls[i].id == id; i++ {
		if t.calls[i].does&what != 0 {
			return true
		}
	}
	return false
}
