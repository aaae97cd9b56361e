package nsysstats

import (
	"cmp"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/measure"
)

// span is one occurrence of a range, projected onto the GPU.
type span struct {
	model.Interval
	name            string
	pushed          bool // of the style that nests
	process, thread int64
	level           int64
	id, parent      int64 // 0 where there is none
}

// none is what releases of 2022 write into a cell without a value.
const none = "None"

func (t *table) readSpans() error {
	if err := cmp.Or(t.need("name", "projected start", "projected duration"), t.units("ns", "projected start", "projected duration")); err != nil {
		return err
	}
	named, start, duration, style := t.column("name"), t.column("projected start"), t.column("projected duration"), t.column("style")
	process, thread, level, id, parent := t.column("pid"), t.column("tid"), t.column("lvl"), t.column("rangeid"), t.column("parentid")
	number := func(r *row, c *column) int64 {
		if text := r.cell(c); text == "" || text == none {
			return 0
		}
		return r.whole(c, highest)
	}
	err := t.each(func(r *row) {
		// nsys writes domain:name, with nothing before the colon for the default domain; until 2023 that has no colon either.
		name := r.cell(named)
		if name = measure.NormalizeRange(strings.TrimPrefix(name, ":")); name == "" || name == none {
			return // what was launched in no range: 2023 gives it a row
		}
		t.spans = append(t.spans, span{name: strings.Clone(name), Interval: r.span(start, duration), pushed: r.cell(style) == "PushPop",
			process: number(r, process), thread: number(r, thread), level: number(r, level), id: number(r, id), parent: number(r, parent)})
	})
	if err != nil {
		return err
	}
	return t.fine("durations")
}

// ranges adds the ranges to a trace, and finds the range of each launch and copy.
func (t *table) ranges(trace *model.Trace) {
	spans := t.spans
	// A parent stands before its children, being longer or at a lower level.
	slices.SortStableFunc(spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), -cmp.Compare(a.End, b.End), cmp.Compare(a.level, b.level))
	})
	byID, number, processes := map[int64]int32{}, map[string]int32{}, map[int64]bool{}
	// last is the range before one of the same thread and level. On the CPU such ranges follow each other; projected onto
	// the GPU they overlap where streams run side by side, and steps must not: each ends where the next one begins.
	type place struct{ process, thread, level, parent int64 }
	last := map[place]int{}
	for i, x := range spans {
		n, ok := number[x.name]
		if !ok {
			n = int32(len(trace.RangeNames))
			number[x.name] = n
			trace.RangeNames = append(trace.RangeNames, x.name)
		}
		r := model.Range{Start: x.Start, End: x.End, Name: n, Parent: -1}
		if parent, ok := byID[x.parent]; ok && x.parent != 0 { // or a filter left it out
			r.Parent = parent
			r.End = max(r.Start, min(r.End, trace.Ranges[parent].End))
		}
		byID[x.id] = int32(i)
		if k := (place{x.process, x.thread, x.level, x.parent}); x.pushed {
			if before, ok := last[k]; ok {
				trace.Ranges[before].End = min(trace.Ranges[before].End, r.Start)
			}
			last[k] = i
		}
		trace.Ranges = append(trace.Ranges, r)
		processes[x.process] = true
		trace.Process = int(x.process)
	}
	if len(processes) > 1 {
		trace.Process = 0
		t.warn(trace, "the ranges are of %d processes, which count as one run", len(processes))
	}
	// The ranges have their parents already; of all threads the one that began last holds.
	ranges := slices.Clone(trace.Ranges)
	line := model.Nest(len(ranges), func(i int) (*model.Range, int) { return &ranges[i], 0 })[0]
	for i := range trace.Launches {
		trace.Launches[i].Range = line.At(trace.Launches[i].Start)
	}
	for i := range trace.Copies {
		trace.Copies[i].Range = line.At(trace.Copies[i].Start)
	}
}
