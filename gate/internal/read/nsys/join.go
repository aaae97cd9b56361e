package nsys

import (
	"cmp"
	"slices"
	"sort"
)

// join finds launches or copies by their correlation ids, for calls that come nearly in the order of these: a sorted
// merge.
type join struct {
	ids   []int64 // of all
	order []int32 // their places by id, of equal ids in the order of the table; nil if they are sorted already
	at    int     // the place in that order where the last search ended
}

func newJoin(ids []int64) join {
	j := join{ids: ids}
	if !slices.IsSorted(ids) {
		j.order = make([]int32, len(ids))
		for i := range j.order {
			j.order[i] = int32(i)
		}
		slices.SortStableFunc(j.order, func(a, b int32) int { return cmp.Compare(ids[a], ids[b]) })
	}
	return j
}

// place is the index of the i-th by id.
func (j *join) place(i int) int {
	if j.order != nil {
		return int(j.order[i])
	}
	return i
}

func (j *join) id(i int) int64 { return j.ids[j.place(i)] }

// find gives the index of the first with an id, -1 for none. CUPTI gives the id 0 to work without a call.
func (j *join) find(id int64) int {
	n := len(j.ids)
	if id == 0 || n == 0 {
		return -1
	}
	low, high := 0, n // the first whose id is not less lies here
	const near = 8
	if j.id(j.at) < id {
		low = j.at + 1
		for range near {
			if low == n || j.id(low) >= id {
				high = low
				break
			}
			low++
		}
	} else {
		high = j.at
		for range near {
			if high == 0 || j.id(high-1) < id {
				low = high
				break
			}
			high--
		}
	}
	low += sort.Search(high-low, func(i int) bool { return j.id(low+i) >= id })
	j.at = min(low, n-1)
	if low == n || j.id(low) != id {
		return -1
	}
	return j.place(low)
}

// shared calls f for all but the first with the same id, with the first.
func (j *join) shared(f func(first, other int)) {
	first := 0
	for i := 1; i < len(j.ids); i++ {
		if j.id(i) != j.id(first) {
			first = i
		} else if j.id(i) != 0 {
			f(j.place(first), j.place(i))
		}
	}
}
