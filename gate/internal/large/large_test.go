package large

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A list is sorted as slices.SortStableFunc sorts it.
func TestSort(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type thing struct{ key, place int }
		var list []thing
		for i, key := range rapid.SliceOf(rapid.IntRange(0, 5)).Draw(t, "keys") {
			list = append(list, thing{key, i})
		}
		compare := func(a, b thing) int { return a.key - b.key }
		want := slices.Clone(list)
		slices.SortStableFunc(want, compare)
		if Sort(list, compare); !slices.Equal(list, want) {
			t.Errorf("%v, want %v", list, want)
		}
	})
}

// So it is by a number.
func TestBy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type thing struct {
			key   float64
			place int
		}
		var list []thing
		for i, key := range rapid.SliceOf(rapid.IntRange(0, 5)).Draw(t, "keys") {
			list = append(list, thing{float64(key), i})
		}
		want := slices.Clone(list)
		slices.SortStableFunc(want, func(a, b thing) int { return cmp.Compare(a.key, b.key) })
		if By(list, func(x *thing) float64 { return x.key }); !slices.Equal(list, want) {
			t.Errorf("%v, want %v", list, want)
		}
	})
}
