package nsys

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

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
