// Package large sorts lists of large things.
package large

import "slices"

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
