package torch

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/measure"
)

// finish turns what was read into a trace, or says why it cannot be judged.
func (t *trace) finish() (*model.Trace, error) {
	slices.SortFunc(t.launches, func(a, b launch) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End), cmp.Compare(a.id, b.id),
			cmp.Compare(a.Kernel, b.Kernel), cmp.Compare(a.Device, b.Device), cmp.Compare(a.Stream, b.Stream))
	})
	t.dropTwice()
	slices.SortStableFunc(t.copies, func(a, b transfer) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End))
	})
	t.joinCalls()
	missing := t.attach()
	if err := t.check(); err != nil {
		return nil, err
	}
	out := &model.Trace{Source: string(t.source), MemoryPeak: -1, RangeNames: t.spans.list}
	if pid, err := strconv.Atoi(t.pid); err == nil {
		out.Process = pid
	}
	kernels, to, err := t.kernels()
	if err != nil {
		return nil, err
	}
	out.Kernels = kernels
	out.Launches = make([]model.Launch, len(t.launches))
	for i, l := range t.launches {
		l.Kernel = to[l.Kernel]
		out.Launches[i] = l.Launch
	}
	out.Copies = []model.Copy{}
	if t.unsized == 0 { // or the bytes of the others would pass for all
		for _, c := range t.copies {
			out.Copies = append(out.Copies, c.Copy)
		}
	}
	out.Ranges = make([]model.Range, len(t.ranges))
	for i, r := range t.ranges {
		out.Ranges[i] = r.Range
		out.Ranges[i].Thread = r.thread
	}
	if t.undated == 0 { // or the others would pass for all
		out.CallNames = t.nameCalls()
		out.Calls = t.made
	}
	out.Environment = t.environment(out.Launches)
	t.doubt(out, missing)
	if t.amd && out.GPU == "" {
		out.Warnings = append(out.Warnings, "the trace is of an AMD GPU and does not say of which model")
	}
	return out, nil
}

// dropTwice takes out launches that are written twice, and counts them.
func (t *trace) dropTwice() {
	before := len(t.launches)
	t.launches = slices.CompactFunc(t.launches, func(a, b launch) bool { return a == b && a.End > a.Start && a.id != 0 })
	t.twice = before - len(t.launches)
}

// joinCalls makes one of the calls of one id: the runtime's, and the driver's inside it, which begins later.
func (t *trace) joinCalls() {
	slices.SortFunc(t.calls, func(a, b call) int { return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.start, b.start)) })
	joined := t.calls[:0]
	for _, c := range t.calls {
		if n := len(joined); n > 0 && joined[n-1].id == c.id {
			joined[n-1].launches = joined[n-1].launches || c.launches
			joined[n-1].graph = joined[n-1].graph || c.graph
			continue
		}
		joined = append(joined, c)
	}
	t.calls = joined
}

// attach gives each launch and copy the time of its call, and the innermost range around that on the same thread. It
// counts the launches that have no call.
func (t *trace) attach() (missing int) {
	slices.SortStableFunc(t.ranges, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), -cmp.Compare(a.End, b.End))
	})
	lines := model.Nest(len(t.ranges), func(i int) (*model.Range, int32) { return &t.ranges[i].Range, t.ranges[i].thread })
	find := func(id int64) *call {
		i, ok := slices.BinarySearchFunc(t.calls, id, func(c call, id int64) int { return cmp.Compare(c.id, id) })
		if !ok {
			return nil
		}
		return &t.calls[i]
	}
	for i := range t.launches {
		l := &t.launches[i]
		c := find(l.id)
		if c == nil {
			missing++
			continue
		}
		c.answered = true
		l.API, l.Node, l.Range, l.Thread = c.start, c.graph, lines[c.thread].At(c.start), c.thread
	}
	for i := range t.copies {
		if c := find(t.copies[i].id); c != nil {
			t.copies[i].API, t.copies[i].Range, t.copies[i].Thread = c.start, lines[c.thread].At(c.start), c.thread
		}
	}
	return missing
}

// nameCalls gives every call the index of its name among those that it returns.
func (t *trace) nameCalls() []string {
	var clean interned[string]
	t.made.Settle(func(name int32) int32 {
		to, _ := clean.of(callName(text([]byte(t.callNames.list[name]))))
		return to
	})
	return clean.list
}

// kernels are the variants, those of one subject merged. to gives the kernel of each variant. Kineto tells only the sum of
// static and dynamic shared memory, which stands as dynamic.
func (t *trace) kernels() (kernels []model.KernelInfo, to []int32, err error) {
	var budget model.NameBudget
	launches := make([]int, len(t.variants.list))
	for _, l := range t.launches {
		launches[l.Kernel]++
	}
	raw := make([]string, len(t.names.list))
	subjects := make([]measure.Subject, len(raw)) // by name, each normalised once
	for i, name := range t.names.list {
		raw[i] = text([]byte(name))
		if err := budget.Add(string(t.source), raw[i]); err != nil {
			return nil, nil, err
		}
		subjects[i] = model.KernelSubject(raw[i], measure.Dim3{}, measure.Dim3{})
	}
	for _, v := range t.variants.list {
		k := model.KernelInfo{Subject: subjects[v.name], Raw: raw[v.name], Registers: v.registers,
			StaticShared: -1, DynamicShared: v.shared, LocalMemory: -1}
		k.Subject.Grid, k.Subject.Block = v.grid, v.block
		if v.shared == 0 {
			k.StaticShared = 0
		}
		kernels = append(kernels, k)
	}
	kernels, to = model.MergeKernels(kernels, launches)
	return kernels, to, nil
}

// doubt adds what does not forbid a judgement.
func (t *trace) doubt(out *model.Trace, missing int) {
	warn := func(n int, format string, args ...any) {
		if n > 0 {
			out.Warnings = append(out.Warnings, fmt.Sprintf(format, append([]any{n}, args...)...))
		}
	}
	calls, without := t.unanswered()
	swallowed, longest := swallowed(out.Launches)
	warn(t.unsized, "%d of %d copies and memsets do not tell their size: none is judged", len(t.copies))
	warn(t.undated, "%d CUDA calls do not tell when they were: none is judged")
	warn(missing, "%d of %d launches have no CUDA call in the trace: they belong to no range", len(t.launches))
	warn(t.twice, "%d launches are written twice in the trace: each counts once")
	warn(without, "%d of %d calls that launch a kernel have no kernel in the trace", calls)
	warn(swallowed, "%d launches last longer than others that start later on their stream, up to %d µs: their durations are doubtful",
		longest/1000)
}
