package torch

import (
	"cmp"
	"slices"

	"github.com/nsgate/nsgate/gate/measure"
)

// question asks for the innermost range of a thread at a time.
type question struct {
	at     int64
	thread int32
	answer *int32
}

// nest finds the parent of each range and answers the questions. The ranges of one thread nest; where two overlap
// nevertheless, the later one to begin is the inner one from then on. A range still holds at its very end.
func (t *trace) nest(asked []question) []measure.Range {
	slices.SortStableFunc(t.ranges, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.start, b.start), -cmp.Compare(a.end, b.end))
	})
	slices.SortStableFunc(asked, func(a, b question) int { return cmp.Compare(a.at, b.at) })
	ranges := make([]measure.Range, len(t.ranges))
	// open are the ranges of a thread that may still hold, each ending no later than those before it.
	open := make([][]int32, len(t.threads.list))
	// innermost closes what ends before a time.
	innermost := func(thread int32, before int64) int32 {
		o := open[thread]
		for len(o) > 0 && ranges[o[len(o)-1]].End < before {
			o = o[:len(o)-1]
		}
		open[thread] = o
		if len(o) == 0 {
			return -1
		}
		return o[len(o)-1]
	}
	next := 0
	begin := func(until int64) {
		for ; next < len(t.ranges) && t.ranges[next].start <= until; next++ {
			s := t.ranges[next]
			innermost(s.thread, s.start)
			ranges[next] = measure.Range{Start: s.start, End: s.end, Name: s.name, Parent: innermost(s.thread, s.end)}
			open[s.thread] = append(open[s.thread], int32(next))
		}
	}
	for _, q := range asked {
		begin(q.at)
		*q.answer = innermost(q.thread, q.at)
	}
	if len(t.ranges) > 0 {
		begin(t.ranges[len(t.ranges)-1].start)
	}
	return ranges
}
