package trace

import (
	"cmp"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// A workload without a range around its steps repeats itself all the same. What shows it is a kernel that every cycle launches
// once: the launches from one of its launches to the next are the same again and again.
const (
	// regular is the part of a run's cycles that are as long as most, and of its launches that are those of the cycle before.
	regular = 0.8
	// cycleTries is how many kernels are tried: those that are launched least often, for a cycle is the longest that repeats.
	cycleTries = 20
)

// setCycles finds the cycle that every run repeats about as often, of runs without steps, and lays it over them. Sums stay those of
// the run; the cycle has a period. Runs that have none in common stay without. The cycle of a finished session is tried first: it
// was repeated so many times, 0 where there is none.
func setCycles(cuts []*cut, times int) (found bool, err error) {
	if len(cuts) == 0 {
		return false, nil
	}
	// One by one: the launches of many ranks are not held at once.
	seen := make([]map[measure.Subject]recurrence, len(cuts))
	if err := each(cuts, func(i int, c *cut) error {
		seen[i] = map[measure.Subject]recurrence{}
		_, places := c.inOrder()
		for s, at := range places {
			_, share := gap(at)
			seen[i][s] = recurrence{len(at), share, at[0]}
		}
		return nil
	}); err != nil {
		return false, err
	}
	tried := recurring(seen, times)
	recurs := make([][]bool, len(cuts))
	if err := each(cuts, func(i int, c *cut) error {
		order, places := c.inOrder()
		for _, s := range tried {
			recurs[i] = append(recurs[i], c.recurs(order, places[s]))
		}
		return nil
	}); err != nil {
		return false, err
	}
	for k, s := range tried {
		if slices.ContainsFunc(recurs, func(f []bool) bool { return !f[k] }) {
			continue
		}
		return true, each(cuts, func(_ int, c *cut) error {
			order, places := c.inOrder()
			c.setCycle(order, places[s])
			return nil
		})
	}
	return false, nil
}

// recurrence is how often a run launches a kernel, which part of the distances between these launches is the most common, and
// the place of the first.
type recurrence struct {
	times int
	share float64
	first int32
}

// inOrder are a run's launches in the order of their calls, and where in that order each kernel is.
func (c *cut) inOrder() (order []int32, places map[measure.Subject][]int32) {
	order = make([]int32, len(c.launches))
	for i := range order {
		order[i] = int32(i)
	}
	called := func(a, b int32) int {
		x, y := &c.launches[a], &c.launches[b]
		return cmp.Or(cmp.Compare(x.API, y.API), cmp.Compare(x.Start, y.Start))
	}
	if !slices.IsSortedFunc(order, called) {
		slices.SortStableFunc(order, called)
	}
	by := make([][]int32, len(c.Kernels))
	for at, i := range order {
		k := c.launches[i].Kernel
		by[k] = append(by[k], int32(at))
	}
	places = make(map[measure.Subject][]int32, len(by))
	for k, at := range by {
		if len(at) > 0 {
			places[c.Kernels[k].Subject] = at
		}
	}
	return order, places
}

// alikeTimes reports whether two runs do something equally often, but for one time or a tenth.
func alikeTimes(a, b int) bool { return 10*max(a-b, b-a) <= max(10, a) }

// recurring are the kernels that every run launches about as often, and evenly: those launched so many times, then those launched least.
func recurring(seen []map[measure.Subject]recurrence, times int) (out []measure.Subject) {
	for s, first := range seen[0] {
		if first.times <= minSteps {
			continue
		}
		same := !slices.ContainsFunc(seen, func(of map[measure.Subject]recurrence) bool {
			return !alikeTimes(first.times, of[s].times) || of[s].share < regular
		})
		if same {
			out = append(out, s)
		}
	}
	other := func(s measure.Subject) int {
		if times == 0 || alikeTimes(times, seen[0][s].times-1) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(out, func(a, b measure.Subject) int {
		return cmp.Or(cmp.Compare(other(a), other(b)), cmp.Compare(seen[0][a].times, seen[0][b].times),
			cmp.Compare(seen[0][a].first, seen[0][b].first))
	})
	return out[:min(len(out), cycleTries)]
}

// gap is the most common distance between neighbours, and the part of the distances that are it.
func gap(places []int32) (most int32, share float64) {
	counts := map[int32]int{}
	for i := range len(places) - 1 {
		counts[places[i+1]-places[i]]++
	}
	for n, times := range counts {
		if times > counts[most] || times == counts[most] && n < most {
			most = n
		}
	}
	return most, float64(counts[most]) / float64(max(1, len(places)-1))
}

// recurs reports whether a run is for the most part what lies between these places of its launches in order, again and again.
func (c *cut) recurs(order []int32, places []int32) bool {
	n, _ := gap(places)
	first, last := places[0], places[len(places)-1]
	same := 0
	for at := first; at+n < last; at++ {
		if c.launches[order[at]].Kernel == c.launches[order[at+n]].Kernel {
			same++
		}
	}
	var in, all int64
	for at, i := range order {
		ns := c.launches[i].End - c.launches[i].Start
		all += ns
		if at := int32(at); first <= at && at < last {
			in += ns
		}
	}
	return float64(same) >= regular*float64(last-n-first) && 2*in > all
}

// setCycle lays cycles over the run, each from one of these places to the next.
func (c *cut) setCycle(order []int32, places []int32) {
	api := func(place int32) int64 { return c.launches[order[place]].API }
	c.cycles, c.turns = nil, make([]float64, len(places)-1)
	for i := range c.turns {
		c.cycles = append(c.cycles, model.Interval{Start: api(places[i]), End: api(places[i+1]) - 1})
		for _, l := range order[places[i]:places[i+1]] {
			c.turns[i] += float64(c.launches[l].End - c.launches[l].Start)
		}
	}
}
