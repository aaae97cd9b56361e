package model_test

import (
	"cmp"
	"slices"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/model"
	"pgregory.net/rapid"
)

// The innermost range at any time is the youngest of those open, for any overlap of the ranges of a thread; the parent
// of a range is the youngest of those around it.
func TestNest(t *testing.T) {
	type threadRange struct {
		model.Range
		thread int
	}
	rapid.Check(t, func(t *rapid.T) {
		var ranges []threadRange
		for range rapid.IntRange(0, 30).Draw(t, "ranges") {
			start := rapid.Int64Range(0, 40).Draw(t, "start")
			end := start + rapid.Int64Range(0, 20).Draw(t, "length")
			if rapid.IntRange(0, 9).Draw(t, "open") == 0 {
				end = 1<<63 - 1
			}
			ranges = append(ranges, threadRange{model.Range{Start: start, End: end},
				rapid.IntRange(1, 2).Draw(t, "thread")})
		}
		slices.SortStableFunc(ranges, func(a, b threadRange) int {
			return cmp.Or(cmp.Compare(a.Start, b.Start), -cmp.Compare(a.End, b.End))
		})
		lines := model.Nest(len(ranges), func(i int) (*model.Range, int) { return &ranges[i].Range, ranges[i].thread })
		inner := func(thread int, start, end int64, among []threadRange) int32 {
			last := int32(-1)
			for i, x := range among {
				if x.thread == thread && x.Start <= start && x.End >= end {
					last = int32(i)
				}
			}
			return last
		}
		for i, x := range ranges {
			if want := inner(x.thread, x.Start, x.End, ranges[:i]); x.Parent != want {
				t.Fatalf("range %d %+v: parent %d, want %d", i, x, x.Parent, want)
			}
		}
		for thread := 1; thread <= 2; thread++ {
			times := rapid.SliceOfN(rapid.Int64Range(0, 70), 0, 80).Draw(t, "times")
			if rapid.Bool().Draw(t, "in order") {
				slices.Sort(times)
			}
			c := model.Cursor{Timeline: lines[thread]}
			for _, at := range times {
				if got := c.At(at); got != lines[thread].At(at) {
					t.Fatalf("thread %d at %d: the cursor is at %d", thread, at, got)
				}
				if got, want := lines[thread].At(at), inner(thread, at, at, ranges); got != want {
					t.Fatalf("thread %d at %d: range %d, want %d", thread, at, got, want)
				}
			}
		}
	})
}
