//go:build linux

package command_test

import (
	"fmt"
	"testing"
)

// parameter is a dimension of a covering array: its name and its values.
type parameter struct {
	name   string
	values []string
}

// covering returns rows, one index of a value a parameter, that together hold every pair of values of two parameters
// that some row allowed by possible can hold, and the values of each seed, -1 for any, first. It is greedy, as AETG is
// (Cohen et al. 1997): each row starts from an open pair and takes, parameter by parameter, the value that closes most
// open pairs. possible judges rows with -1 for what is not chosen yet: it returns false only where no completion is
// allowed. The rows depend on nothing else, and the first of them close most pairs.
func covering(parameters []parameter, possible func(row []int) bool, seeds ...[]int) [][]int {
	open := map[[4]int]bool{}
	var order [][4]int
	for a := range parameters {
		for b := a + 1; b < len(parameters); b++ {
			for i := range parameters[a].values {
				for j := range parameters[b].values {
					pair := [4]int{a, i, b, j}
					open[pair] = true
					order = append(order, pair)
				}
			}
		}
	}
	var rows [][]int
	take := func(row []int) {
		if !possible(row) || !complete(parameters, row, 0, open, possible) {
			return // no row can hold the pair
		}
		for a := range row {
			for b := a + 1; b < len(row); b++ {
				delete(open, [4]int{a, row[a], b, row[b]})
			}
		}
		rows = append(rows, row)
	}
	for _, seed := range seeds {
		take(seed)
	}
	for at := range order {
		// Pairs of later parameters come late in the order; a stride that is prime to its length mixes them.
		pair := order[(at*7919)%len(order)]
		if !open[pair] {
			continue
		}
		delete(open, pair)
		row := make([]int, len(parameters))
		for i := range row {
			row[i] = -1
		}
		row[pair[0]], row[pair[2]] = pair[1], pair[3]
		take(row)
	}
	return rows
}

// complete chooses the parameters from at on that are not chosen yet, and goes back where that leads to no possible
// row.
func complete(parameters []parameter, row []int, at int, open map[[4]int]bool, possible func([]int) bool) bool {
	for at < len(row) && row[at] >= 0 {
		at++
	}
	if at == len(row) {
		return true
	}
	tried := make([]bool, len(parameters[at].values))
	for range tried {
		best, most := -1, -1
		for i := range tried {
			// The values take turns where several close as many pairs, or the first would stand in most rows.
			v := (i + len(open)) % len(tried)
			if tried[v] {
				continue
			}
			closes := 0
			for other, w := range row {
				if w >= 0 && open[[4]int{min(at, other), pick(at < other, v, w), max(at, other),
					pick(at < other, w, v)}] {
					closes++
				}
			}
			if closes > most {
				best, most = v, closes
			}
		}
		tried[best] = true
		row[at] = best
		if possible(row) && complete(parameters, row, at+1, open, possible) {
			return true
		}
		row[at] = -1
	}
	return false
}

func pick(first bool, a, b int) int {
	if first {
		return a
	}
	return b
}

// TestCovering counts the pairs that the rows hold, with a constraint and without.
func TestCovering(t *testing.T) {
	t.Parallel()
	parameters := []parameter{{"a", make([]string, 7)}, {"b", make([]string, 3)}, {"c", make([]string, 5)}, {"d",
		make([]string, 2)}}
	for name, possible := range map[string]func([]int) bool{
		"all":        func([]int) bool { return true },
		"constraint": func(row []int) bool { return row[0] != 0 || row[3] != 1 && row[2] < 2 },
	} {
		rows, held, want := covering(parameters, possible), map[[4]int]bool{}, 0
		for _, row := range rows {
			if !possible(row) {
				t.Errorf("%s: the row %v is not possible", name, row)
			}
			for a := range row {
				for b := a + 1; b < len(row); b++ {
					held[[4]int{a, row[a], b, row[b]}] = true
				}
			}
		}
		all := map[[4]int]bool{}
		for n := range 7 * 3 * 5 * 2 {
			row := []int{n % 7, n / 7 % 3, n / 21 % 5, n / 105}
			if !possible(row) {
				continue
			}
			for a := range row {
				for b := a + 1; b < len(row); b++ {
					all[[4]int{a, row[a], b, row[b]}] = true
				}
			}
		}
		want = len(all)
		if len(held) != want {
			t.Errorf("%s: %d of %d pairs", name, len(held), want)
		}
		if most := 7 * 5 * 3 / 2; len(rows) > most {
			t.Error(fmt.Sprint(name, ": ", len(rows), " rows are more than ", most))
		}
	}
}
