package gate

import (
	"cmp"
	"slices"
)

// ordered puts rows with the smallest keys first, and leaves those of equal keys as they stand. The rows are large and their keys
// are not: what is sorted are keys.
func ordered[Row any](rows []Row, key func(*Row) float64) []Row {
	type place struct {
		key float64
		at  int
	}
	places := make([]place, len(rows))
	for i := range rows {
		places[i] = place{key(&rows[i]), i}
	}
	slices.SortFunc(places, func(a, b place) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.at, b.at)) })
	out := make([]Row, len(rows))
	for i, p := range places {
		out[i] = rows[p.at]
	}
	return out
}
