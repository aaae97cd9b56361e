package measure

import (
	"slices"
	"strings"
)

// Nearest is the one of the known words that a misspelt word was meant for, the first in the alphabet where several are
// as near; "" where none is within two letters of it.
func Nearest(word string, known []string) string {
	best, least := "", 3
	for _, k := range slices.Sorted(slices.Values(known)) {
		if max(len(k)-len(word), len(word)-len(k)) >= least {
			continue // the distance is no less
		}
		if d := distance(word, k); d < least && d < len(k) {
			best, least = k, d
		}
	}
	return best
}

// Nearby are the n known words that are nearest to a word, the nearest first; those that hold it come before others.
func Nearby(word string, known []string, n int) []string {
	near := slices.Sorted(slices.Values(known))
	Sort(near, func(a, b string) int { return distance(word, a) - distance(word, b) })
	Sort(near, func(a, b string) int { return strings.Count(b, word) - strings.Count(a, word) })
	return near[:min(n, len(near))]
}

// distance is the Levenshtein distance of two words, in bytes.
func distance(a, b string) int {
	if len(a) > 64 {
		return len(a)
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
