package model

import (
	"testing"

	"pgregory.net/rapid"
)

// Calls that another process reads are those that were written, in any order of adding, with their threads.
func TestCallsBinary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var want, got Calls
		for _, x := range rapid.SliceOf(rapid.Custom(func(t *rapid.T) Call {
			start := rapid.Int64Range(-1<<40, 1<<40).Draw(t, "start")
			return Call{Start: start, End: start + rapid.Int64Range(0, 1<<20).Draw(t, "length"),
				Name: rapid.Int32Range(0, 9).Draw(t, "name"), Thread: rapid.Int32Range(0, 4).Draw(t, "thread")}
		})).Draw(t, "calls") {
			want.Add(x)
		}
		want.Settle(nil)
		if rapid.Bool().Draw(t, "renamed") {
			want.Settle(func(name int32) int32 { return 9 - name })
		}
		data, err := want.MarshalBinary()
		if err == nil {
			err = got.UnmarshalBinary(data)
		}
		if err != nil || !got.Equal(want) || got.Threads() != want.Threads() || got.Span() != want.Span() {
			t.Fatalf("%v: %+v became %+v", err, want, got)
		}
		if cut := data[:rapid.IntRange(0, len(data)-1).Draw(t, "cut")]; got.UnmarshalBinary(cut) == nil {
			t.Fatalf("%d of %d bytes are read", len(cut), len(data))
		}
	})
}
