package nsys

import (
	"slices"
	"testing"

	"github.com/nsgate/nsgate/gate/measure"
	"pgregory.net/rapid"
)

// The innermost range at any time is the one that began last of those that hold, whatever way the ranges of a thread
// overlap; the parent of a range is the one that began last of those around it.
func TestTimelines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := new(process)
		for range rapid.IntRange(0, 30).Draw(t, "ranges") {
			start := rapid.Int64Range(0, 40).Draw(t, "start")
			end := start + rapid.Int64Range(0, 20).Draw(t, "length")
			if rapid.IntRange(0, 9).Draw(t, "open") == 0 {
				end = unended
			}
			tid := rapid.Int64Range(1, 2).Draw(t, "thread")
			p.ranges = append(p.ranges, threadRange{measure.Range{Start: start, End: end, Parent: -1}, tid})
		}
		p.sortRanges()
		threads := make(map[thread]*timeline)
		p.timelines(threads)

		inner := func(tid, start, end int64, among []threadRange) int32 {
			last := int32(-1)
			for i, x := range among {
				if x.tid == tid && x.Start <= start && x.End >= end {
					last = int32(i)
				}
			}
			return last
		}
		for i, x := range p.ranges {
			if want := inner(x.tid, x.Start, x.End, p.ranges[:i]); x.Parent != want {
				t.Fatalf("range %d %+v: parent %d, want %d", i, x, x.Parent, want)
			}
		}
		for tid := int64(1); tid <= 2; tid++ {
			c := cursor{timeline: threads[thread{p, tid}]}
			times := rapid.SliceOfN(rapid.Int64Range(0, 70), 0, 80).Draw(t, "times")
			if rapid.Bool().Draw(t, "in order") {
				slices.Sort(times)
			}
			for _, at := range times {
				if got, want := c.at(at), inner(tid, at, at, p.ranges); got != want {
					t.Fatalf("thread %d at %d: range %d, want %d", tid, at, got, want)
				}
			}
		}
	})
}

// Every id is found wherever the search before it ended, and nothing else is.
func TestFindCall(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.Int64Range(-5, 50)
		ids := rapid.SliceOfDistinct(id, rapid.ID[int64]).Draw(t, "ids")
		slices.Sort(ids)
		c := newCalls(ids)
		for _, x := range rapid.SliceOf(id).Draw(t, "wanted") {
			want := slices.Index(ids, x)
			if x == 0 {
				want = -1
			}
			if got := c.find(x); got != want {
				t.Fatalf("id %d at %d, want %d", x, got, want)
			}
		}
	})
}
