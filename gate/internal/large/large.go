// Package large sorts lists of large things.
package large

import (
	"cmp"
	"slices"
)

// Sort sorts a list; what compares equal keeps its order. It sorts pointers and then moves each item once, with the same machine code
// for every type, of which slices.SortStableFunc has 10 kB a type. Millions of small items are sorted faster by that.
func Sort[T any](list []T, compare func(a, b T) int) {
	sorted := make([]*T, len(list))
	for i := range list {
		sorted[i] = &list[i]
	}
	slices.SortStableFunc(sorted, func(a, b *T) int { return compare(*a, *b) })
	items := make([]T, len(list))
	for i, x := range sorted {
		items[i] = *x
	}
	copy(list, items)
}

// By sorts a list by a number of each item, the smallest first; what has the same number keeps its order.
func By[T any](list []T, key func(*T) float64) {
	keys := make([]place, len(list))
	for i := range list {
		keys[i] = place{key(&list[i]), i}
	}
	slices.SortFunc(keys, func(a, b place) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.at, b.at)) })
	items := make([]T, len(list))
	for i, k := range keys {
		items[i] = list[k.at]
	}
	copy(list, items)
}

// place is an item's key, and where the item stands.
type place struct {
	key float64
	at  int
}
