package trace

import (
	"cmp"
	"iter"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/measure"
)

// match finds the counterparts of collectives in the other ranks, by their order within a step and channel, and takes the waiting
// out: each lasts as long in every rank as in the one where it is shortest (TraceLens' communication latency, Megatron-Bridge's
// transfer proxy), which needs no clock that hosts share. Where ranks do not make the same ones, they keep their waiting.
func (j *job) match() {
	if len(j.ranks) == 1 {
		return
	}
	type group struct {
		step int
		channel
	}
	members := map[channel][]int{} // ranks that take part
	made := map[group][][]*collective{}
	var all []int
	for r, c := range j.ranks {
		all = append(all, r)
		for i := range c.moves {
			m := &c.moves[i]
			g := group{m.step, m.channel}
			if made[g] == nil {
				made[g] = make([][]*collective, len(j.ranks))
			}
			made[g][r] = append(made[g][r], m)
			if of := members[m.channel]; len(of) == 0 || of[len(of)-1] != r {
				members[m.channel] = append(of, r)
			}
		}
	}
	for g, byRank := range made {
		ranks := members[g.channel]
		if g.communicator == 0 {
			ranks = all
		}
		if !j.agree(ranks, byRank) {
			continue
		}
		for i := range byRank[ranks[0]] {
			var same []*collective
			for _, r := range ranks {
				same = append(same, byRank[r][i])
			}
			meet(same)
		}
	}
}

// agree reports whether ranks make the same collectives, one after the other.
func (j *job) agree(ranks []int, byRank [][]*collective) bool {
	first := j.names(ranks[0], byRank)
	return len(ranks) > 1 && !slices.ContainsFunc(ranks[1:], func(r int) bool { return !slices.Equal(first, j.names(r, byRank)) })
}

func (j *job) names(rank int, byRank [][]*collective) (out []string) {
	for _, m := range byRank[rank] {
		out = append(out, j.ranks[rank].Kernels[m.kernel].Subject.Short())
	}
	return out
}

// meet sets for one collective the rank that came last, and the time without the waiting.
func meet(same []*collective) {
	last := slices.MinFunc(same, func(a, b *collective) int { return cmp.Compare(a.own, b.own) })
	n, sum := int64(len(same)), int64(0)
	for _, m := range same {
		sum += m.own
		m.transfer, m.matched = last.own, true
	}
	last.caused = (sum - n*last.own) / (n - 1)
}

// shorten lets matched collectives last as long as their transfers. The launches of the trace stay as they were.
func (c *cut) shorten() {
	if !slices.ContainsFunc(c.moves, func(m collective) bool { return m.matched }) {
		return
	}
	c.launches = slices.Clone(c.launches)
	for _, m := range c.moves {
		l := &c.launches[m.launch]
		l.End = l.Start + m.transfer
	}
}

// countedMoves are the collectives of the steps that count, or of the run without its start-up, each with its weight.
func (c *cut) countedMoves() iter.Seq2[collective, float64] {
	return func(yield func(collective, float64) bool) {
		for _, m := range c.moves {
			if n := c.share(c.launches[m.launch].API); n > 0 && !yield(m, n) {
				return
			}
		}
	}
}

// per is the divisor of sums: the number of steps that count, 1 without steps.
func (c *cut) per() float64 { return max(1, float64(len(c.steps)-c.skip)) }

// reduceWaits writes a rank's wait in its collectives, the others' wait for it, and the number without a counterpart.
func (c *cut) reduceWaits(run int, t *table) {
	var waited, caused, matched, unmatched float64
	by := map[int32]float64{}
	for m, n := range c.countedMoves() {
		if !m.matched {
			unmatched += n
			continue
		}
		matched += n
		waited += n * float64(m.own-m.transfer)
		caused += n * float64(m.caused)
		by[m.kernel] += n * float64(m.own-m.transfer)
	}
	per := c.per()
	if matched+unmatched > 0 {
		t.set(run, measure.Workload, measure.UnmatchedCollectives, counted(unmatched)/per)
	}
	if matched == 0 {
		return
	}
	t.set(run, measure.Workload, measure.CollectiveWait, waited/per)
	t.set(run, measure.Workload, measure.CausedWait, caused/per)
	for kernel, ns := range by {
		t.set(run, c.Kernels[kernel].Subject, measure.CollectiveWait, ns/per)
	}
}

// reduceMessages writes the bytes of the collectives where each of them tells its size.
func (c *cut) reduceMessages(run int, t *table) {
	bytes, silent := map[int32]float64{}, map[int32]bool{}
	for m, n := range c.countedMoves() {
		size := c.Messages[c.launches[m.launch].Range].Bytes
		bytes[m.kernel] += n * float64(size)
		silent[m.kernel] = silent[m.kernel] || size == 0
	}
	for kernel, n := range bytes {
		if !silent[kernel] {
			t.set(run, c.Kernels[kernel].Subject, measure.MessageBytes, counted(n)/c.per())
		}
	}
}
