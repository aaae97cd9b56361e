package nsys

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The first of every id is found wherever the search before it ended, and nothing else is; the others follow it.
func TestJoin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.Int64Range(-5, 50)
		ids := rapid.SliceOf(id).Draw(t, "ids")
		if rapid.Bool().Draw(t, "sorted") {
			slices.Sort(ids)
		}
		j := newJoin(ids)
		for _, x := range rapid.SliceOf(id).Draw(t, "wanted") {
			want := slices.Index(ids, x)
			if x == 0 {
				want = -1
			}
			if got := j.find(x); got != want {
				t.Fatalf("id %d at %d, want %d", x, got, want)
			}
		}
		others := 0
		j.shared(func(first, other int) {
			others++
			if ids[first] != ids[other] || first != slices.Index(ids, ids[other]) || ids[other] == 0 {
				t.Fatalf("%d follows %d", other, first)
			}
		})
		want := 0
		for i, x := range ids {
			if x != 0 && slices.Index(ids, x) < i {
				want++
			}
		}
		if others != want {
			t.Fatalf("%d follow another, want %d", others, want)
		}
	})
}
