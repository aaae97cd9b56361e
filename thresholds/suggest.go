package thresholds

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/measure"
)

// errorAt is an error at a line of the file, whose name [Parse] adds; line 0 is no place.
func errorAt(line int, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	if line == 0 {
		return err
	}
	return &measure.PlaceError{Line: line, Err: err}
}

// tableNames are the tables that a file may have, any number of each.
var tableNames = []string{"rule", "workload", "workload.output", "workload.results"}

// unknown is the error for a key or table that no policy file has.
func unknown(line int, name string, known []string, what string) error {
	for _, table := range tableNames {
		if name == table || what == "key" && "workload."+name == table {
			return errorAt(line, "%s must be written as a table [[%s]]", name, table)
		}
	}
	near, longest := suggestion(name, known), 80
	if r := []rune(name); len(r) > longest {
		name = string(r[:longest]) + "…"
	}
	return errorAt(line, "unknown %s %q%s", what, name, near)
}

// suggestion names the nearest of the known words, or all of them where none is near.
func suggestion(name string, known []string) string {
	if near := Nearest(name, known); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return "; known are " + strings.Join(slices.Sorted(slices.Values(known)), ", ")
}

// Nearest is the one of the known words that a misspelt word was meant for, the first in the alphabet where several are as
// near; "" where none is within two letters of it.
func Nearest(word string, known []string) string {
	best, least := "", 3
	for _, k := range slices.Sorted(slices.Values(known)) {
		if d := distance(word, k); d < least && d < len(k) {
			best, least = k, d
		}
	}
	return best
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
