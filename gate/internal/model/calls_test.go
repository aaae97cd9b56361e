package model

import (
	"cmp"
	"math"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// outermost is a plain reference of [Calls].
func outermost(calls []Call) []Call {
	slices.SortFunc(calls, func(a, b Call) int {
		return cmp.Or(cmp.Compare(a.Thread, b.Thread), cmp.Compare(a.Start, b.Start), -cmp.Compare(a.End, b.End),
			cmp.Compare(a.Name, b.Name))
	})
	kept := calls[:0]
	for _, x := range calls {
		if n := len(kept); n > 0 && kept[n-1].Thread == x.Thread && x.inside(&kept[n-1]) {
			continue
		}
		kept = append(kept, x)
	}
	return kept
}

func TestOutermost(t *testing.T) {
	calls := callsOf([]Call{
		{Start: 20, End: 30, Thread: 1}, {Start: 12, End: 18, Name: 1}, {Start: 10, End: 20},
		{Start: 13, End: 14, Name: 2}, {Start: 10, End: 15, Name: 3},
		{Start: 12, End: 18, Thread: 1}, {Start: 20, End: 20, Name: 4}, {Start: 20, End: 20, Name: 4},
		{Start: 19, End: 20, Name: 5}, {Start: 25, End: 40}, {Start: 30, End: 41, Name: 6},
	}...)
	want := []Call{
		// which overlaps
		{Start: 10, End: 20}, {Start: 20, End: 20, Name: 4}, {Start: 25, End: 40}, {Start: 30, End: 41, Name: 6},
		{Start: 12, End: 18, Thread: 1}, {Start: 20, End: 30, Thread: 1},
	}
	if diff := gocmp.Diff(want, slices.Collect(calls.All())); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if none := callsOf(); none.Len() != 0 || len(slices.Collect(none.All())) != 0 || none.From(0, 0).OK ||
		none.From(-1, 0).OK {
		t.Errorf("of none: %v", none)
	}
}

// Calls give back their input, in any order of it, and find the first call that ends after a time.
func TestCalls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var list []Call
		now := rapid.SampledFrom([]int64{0, -50, 1 << 60, math.MinInt64 + 1000}).Draw(t, "begin")
		inOrder := rapid.IntRange(0, 40).Draw(t, "in order for") // of 40 calls
		for range rapid.IntRange(0, 200).Draw(t, "calls") {
			now += rapid.Int64Range(0, 6).Draw(t, "pause")
			start := now
			if rapid.IntRange(0, 40).Draw(t, "order") > inOrder {
				start -= rapid.Int64Range(0, 40).Draw(t, "back")
			}
			list = append(list, Call{Start: start, End: start + rapid.Int64Range(0, 9).Draw(t, "length"), Name: 0,
				Thread: rapid.Int32Range(0, 2).Draw(t, "thread")})
			list[len(list)-1].Name = int32(list[len(list)-1].End - start) // equal spans have equal names
		}
		calls := callsOf(list...)
		want := outermost(list)
		if diff := gocmp.Diff(want, slices.Collect(calls.All()),
			gocmp.Transformer("", func(c Call) []int64 {
				return []int64{c.Start, c.End, int64(c.Name), int64(c.Thread)}
			})); len(want) > 0 && diff != "" {
			t.Fatalf("-want +got:\n%s", diff)
		}
		if calls.Len() != len(want) || !calls.Equal(callsOf(want...)) {
			t.Fatalf("%d calls of %d", calls.Len(), len(want))
		}
		thread, time := rapid.Int32Range(0, 3).Draw(t, "of thread"), now-rapid.Int64Range(-10, 600).Draw(t, "time")
		want = slices.DeleteFunc(want, func(c Call) bool { return c.Thread != thread })
		i := slices.IndexFunc(want, func(c Call) bool { return c.End > time })
		if i < 0 {
			i = len(want)
		}
		at := calls.From(thread, time)
		for ; ; i++ {
			before := int32(-1)
			if i > 0 {
				before = want[i-1].Name
			}
			if at.Before != before || at.OK != (i < len(want)) || at.OK && at.Call != want[i] {
				t.Fatalf("call %d of %v from %d on: %+v", i, want, time, at)
			}
			if !at.OK {
				break
			}
			at.Next()
		}
	})
}

// Names are changed for those that were added as others.
func TestCallNames(t *testing.T) {
	var calls Calls
	for i := range int64(100) {
		calls.Add(Call{Start: 10 * i, End: 10*i + 5, Name: int32(i % 2)})
	}
	var asked []int32
	calls.Settle(func(name int32) int32 {
		asked = append(asked, name)
		return 7 * (1 - name)
	})
	if !slices.Equal(asked, []int32{0, 1}) {
		t.Errorf("asked for the names %d", asked)
	}
	at := calls.From(0, 320)
	if got := at.Call.Name; got != 7 || at.Before != 0 {
		t.Errorf("name %d after %d", got, at.Before)
	}
	for x := range calls.All() {
		if want := int32(7 * (1 - x.Start/10%2)); x.Name != want {
			t.Fatalf("%+v is not of name %d", x, want)
		}
	}
	if bytes := calls.size(); bytes > 8*100 {
		t.Errorf("100 calls take %d bytes", bytes)
	}
}

// size is how many bytes the calls take.
func (c *Calls) size() (n int) {
	for _, l := range c.threads {
		for _, b := range l.blocks {
			n += 40 + len(b.bytes)
		}
	}
	return n
}

// callsOf holds calls in any order.
func callsOf(calls ...Call) (c Calls) {
	for _, x := range calls {
		c.Add(x)
	}
	c.Settle(nil)
	return c
}
