package nsysstats

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/nsgate/nsgate/gate/measure"
)

// spanRow is a row of nvtx_gpu_proj_trace: one occurrence of a range.
type spanRow struct {
	Name     string `csv:"name"`
	Start    string `csv:"projected start"`
	Duration string `csv:"projected duration"`
	CPUStart string `csv:"orig start"`
	CPUTime  string `csv:"orig duration"`
	Style    string `csv:"style"`
	Process  string `csv:"pid"`
	Thread   string `csv:"tid"`
	Level    string `csv:"lvl"`
	ID       string `csv:"rangeid"`
	Parent   string `csv:"parentid"`
}

// span is one occurrence of a range: on the GPU, and on the CPU (-1 where the table does not say).
type span struct {
	name      string
	gpu, cpu  measure.Interval
	pushed    bool // of the style that nests
	by        thread
	level     int64
	id        int64 // 0 where there is none
	parent    int64
	line      int
	inherited int // index of the parent, -1 for none
}

func (r *rows) readSpans(t *table) error {
	if err := r.need(r.file, r.from, "name", "projected start", "projected duration"); err != nil {
		return err
	}
	units, err := r.times("projected start", "projected duration", "orig start", "orig duration")
	if err != nil {
		return err
	}
	err = each(r, func(row spanRow) error {
		x := span{cpu: measure.Interval{Start: -1, End: -1}, pushed: row.Style == "PushPop", line: r.line, inherited: -1}
		if x.name = rangeName(row.Name); x.name == "" {
			return nil // what was launched in no range: 2023 gives it a row
		}
		x.name = strings.Clone(x.name)
		if x.gpu.Start, x.gpu.End, err = r.span(field{"projected start", row.Start, units[0]},
			field{"projected duration", row.Duration, units[1]}, &t.units); err != nil {
			return err
		}
		if r.has("orig start", "orig duration") {
			var p precision
			x.cpu.Start, x.cpu.End, err = r.span(field{"orig start", row.CPUStart, units[2]},
				field{"orig duration", row.CPUTime, units[3]}, &p)
			if err != nil {
				return err
			}
		}
		for _, n := range []struct {
			name, cell string
			to         *int64
		}{{"pid", row.Process, &x.by.process}, {"tid", row.Thread, &x.by.thread}, {"lvl", row.Level, &x.level},
			{"rangeid", row.ID, &x.id}, {"parentid", row.Parent, &x.parent}} {
			if !r.has(n.name) || n.name == "parentid" && (n.cell == "" || n.cell == none) {
				continue
			}
			if *n.to, err = r.whole(n.name, n.cell, highest); err != nil {
				return err
			}
		}
		t.spans = append(t.spans, x)
		return nil
	})
	if err != nil {
		return err
	}
	return r.coarse(t.units)
}

// none is what releases of 2022 write into a cell without a value.
const none = "None"

// rangeName is the normalised name of a range, "" of what is in none. nsys writes domain:name, with nothing before the
// colon for the default domain; until 2023 that has no colon either.
func rangeName(cell string) string {
	if cell == none {
		return ""
	}
	return measure.NormalizeRange(strings.TrimPrefix(cell, ":"))
}

// ranges adds the ranges to a trace, and finds the range of each launch and copy.
func (c *collection) ranges(trace *measure.Trace, t *table) error {
	p := c.tables[projTrace]
	if p == nil {
		return nil
	}
	onCPU := t.kind == execTrace
	if onCPU {
		if i := slices.IndexFunc(p.spans, func(x span) bool { return x.cpu.Start < 0 }); i >= 0 {
			return p.refuse(p.spans[i].line, "the range does not say when it began on the CPU", again)
		}
	}
	spans := slices.Clone(p.spans)
	if err := p.belong(spans, trace, t); err != nil {
		return err
	}
	when := func(x *span) *measure.Interval {
		if onCPU {
			return &x.cpu
		}
		return &x.gpu
	}
	slices.SortStableFunc(spans, func(a, b span) int {
		x, y := when(&a), when(&b)
		return cmp.Or(cmp.Compare(x.Start, y.Start), -cmp.Compare(x.End, y.End), cmp.Compare(a.level, b.level))
	})
	if err := inherit(spans, p); err != nil {
		return err
	}
	if !onCPU {
		clip(spans)
	}
	number := map[string]int32{}
	processes := map[int64]bool{}
	for i := range spans {
		x := &spans[i]
		n, ok := number[x.name]
		if !ok {
			n = int32(len(trace.RangeNames))
			number[x.name] = n
			trace.RangeNames = append(trace.RangeNames, x.name)
		}
		trace.Ranges = append(trace.Ranges,
			measure.Range{Start: when(x).Start, End: when(x).End, Name: n, Parent: int32(x.inherited)})
		processes[x.by.process] = true
		trace.Process = int(x.by.process)
	}
	if len(processes) > 1 {
		trace.Process = 0
		p.warn(trace, "the ranges are of %d processes, which count as one run", len(processes))
	}
	innermost(trace, spans, t.traced.threads)
	return nil
}

// belong refuses ranges of another recording: on the GPU each begins with one of its kernels or copies. Half of them must,
// or one where the table lists no copies. Where the two tables are rounded differently, ranges are moved to where they
// begin.
func (p *table) belong(spans []span, trace *measure.Trace, t *table) error {
	tolerance := int64(rounding(p.units.start) + rounding(t.units.start))
	l, c := trace.Launches, trace.Copies
	astray := 0
	var first *span
	for n := range spans {
		x := &spans[n]
		earliest := x.gpu.Start - tolerance
		i := sort.Search(len(l), func(i int) bool { return l[i].Start >= earliest })
		j := sort.Search(len(c), func(j int) bool { return c[j].Start >= earliest })
		begins := int64(math.MaxInt64)
		if i < len(l) {
			begins = l[i].Start
		}
		if j < len(c) {
			begins = min(begins, c[j].Start)
		}
		if begins > x.gpu.Start+tolerance {
			if astray++; first == nil {
				first = x
			}
			continue
		}
		x.gpu = measure.Interval{Start: begins, End: x.gpu.End + tolerance}
	}
	switch {
	case astray == 0 || t.kind == execTrace && astray < len(spans):
		return nil
	case t.kind == gpuTrace && 2*astray <= len(spans):
		p.warn(trace, "%d of the %d ranges begin with no kernel or copy of the table at %s, as ranges around whole CUDA graphs do",
			astray, len(spans), t.place())
		return nil
	}
	return p.refuse(first.line, fmt.Sprintf("range %s begins with no kernel or copy of the table at %s", quote(first.name),
		t.place()), oneRun)
}

// inherit finds the parents among sorted spans. A parent stands before its children, being longer or at a lower level.
func inherit(spans []span, p *table) error {
	at := map[int64]int{}
	for i, x := range spans {
		if x.id == 0 {
			continue
		}
		if old, ok := at[x.id]; ok {
			return p.refuse(x.line, fmt.Sprintf("range %d is there twice, also on line %d", x.id, spans[old].line), again)
		}
		at[x.id] = i
	}
	for i := range spans {
		x := &spans[i]
		if x.parent == 0 {
			continue
		}
		parent, ok := at[x.parent]
		if !ok {
			continue // left out by a filter
		}
		if parent >= i {
			return p.refuse(x.line, fmt.Sprintf("range %d begins before range %d, which it lies in", x.id, x.parent), again)
		}
		x.inherited = parent
	}
	return nil
}

// clip ends each range where the next one of the same thread and level begins. On the CPU such ranges follow each other;
// projected onto the GPU they overlap where streams run side by side, and steps must not.
func clip(spans []span) {
	type place struct {
		by     thread
		level  int64
		parent int64
	}
	last := map[place]int{}
	for i := range spans {
		x := &spans[i]
		if x.inherited >= 0 {
			x.gpu.End = max(x.gpu.Start, min(x.gpu.End, spans[x.inherited].gpu.End))
		}
		if !x.pushed {
			continue
		}
		k := place{x.by, x.level, x.parent}
		if before, ok := last[k]; ok {
			spans[before].gpu.End = min(spans[before].gpu.End, x.gpu.Start)
		}
		last[k] = i
	}
}

// innermost finds the range of each launch and copy: of those that are open when it is launched (or begins, where that is
// not known), the one that began last. Threads are given where they are known, of each launch.
func innermost(trace *measure.Trace, spans []span, threads []thread) {
	stacks := map[thread][]int32{}
	of := func(t thread) thread {
		if threads == nil {
			return thread{}
		}
		return t
	}
	next := 0
	at := func(time int64, by thread) int32 {
		for ; next < len(trace.Ranges) && trace.Ranges[next].Start <= time; next++ {
			t := of(spans[next].by)
			stacks[t] = append(stacks[t], int32(next))
		}
		open := stacks[of(by)]
		for len(open) > 0 && trace.Ranges[open[len(open)-1]].End < time {
			open = open[:len(open)-1]
		}
		stacks[of(by)] = open
		if len(open) == 0 {
			return -1
		}
		return open[len(open)-1]
	}
	if threads == nil {
		i, j := 0, 0
		for i < len(trace.Launches) || j < len(trace.Copies) {
			if j == len(trace.Copies) || i < len(trace.Launches) && trace.Launches[i].API <= trace.Copies[j].API {
				trace.Launches[i].Range = at(trace.Launches[i].API, thread{})
				i++
			} else {
				trace.Copies[j].Range = at(trace.Copies[j].API, thread{})
				j++
			}
		}
		return
	}
	calls := make([]int, len(trace.Launches))
	for i := range calls {
		calls[i] = i
	}
	slices.SortStableFunc(calls, func(a, b int) int { return cmp.Compare(trace.Launches[a].API, trace.Launches[b].API) })
	for _, i := range calls {
		trace.Launches[i].Range = at(trace.Launches[i].API, threads[i])
	}
}
