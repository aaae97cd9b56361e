package trace

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"iter"
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/reduce/attribution"
)

// collect lists the collectives, packed. steps finds the steps of calls.
func (c *cut) collect(steps *finder) {
	var moves []model.Collective
	var channels model.Interned[model.Channel]
	var streams model.Interned[int32] // those of collectives
	communicates := c.communicates()
	for i := range c.launches {
		l := &c.launches[i]
		if !communicates[l.Kernel] {
			continue
		}
		channel := model.Channel{Communicator: c.Messages[l.Range].Communicator}
		if channel.Communicator == 0 {
			channel.Stream, _ = streams.Of(l.Stream)
		}
		m := model.Collective{Own: l.End - l.Start, API: l.API, Kernel: l.Kernel, Step: int32(steps.find(l.API)),
			Range: l.Range, Device: l.Device}
		m.Channel, _ = channels.Of(channel)
		moves = append(moves, m)
	}
	c.moves, c.channels, c.transfers, c.moved = model.PackCollectives(moves), channels.List, nil, nil
}

func (c *cut) communicates() []bool {
	return measure.Map(c.Kernels, func(k model.KernelInfo) bool { return attribution.Communicates(k.Subject.Name) })
}

// collective is a launch of a kernel that moves data between ranks, and the shortest time of it in ns among the
// participants: that rank came last and waited for none. Without known counterparts it is the own time.
type collective struct {
	model.Collective
	transfer int64
	matched  bool
}

// collectives are those of the run, in the order of their starts.
func (c *cut) collectives() []collective {
	moves, _ := c.moves.Unpack()
	var times []int64
	if c.transfers != nil {
		times, _ = model.UnpackTimes(c.transfers, len(moves))
	}
	out := make([]collective, len(moves))
	for i, m := range moves {
		if out[i] = (collective{Collective: m, transfer: m.Own}); times != nil && times[i] < 0 {
			out[i].transfer, out[i].matched = ^times[i], true
		}
	}
	return out
}

// match finds the counterparts of collectives in the other ranks, by their order within a step and channel, and their
// times without waiting: each lasts as long in every rank as in the one where it is shortest (TraceLens' communication
// latency, Megatron-Bridge's transfer proxy), which needs no clock that hosts share. Where ranks do not make the same
// ones, they keep their waiting.
func (j *job) match() {
	if len(j.ranks) == 1 {
		j.ranks[0].matchDevices()
		return
	}
	patterns, own := j.patterns()
	made, members := map[group][]madeBy{}, map[model.Channel]int{} // members are the ranks that take part
	for _, p := range patterns {
		for _, x := range j.ranks[p.ranks[0]].channels {
			members[x] += len(p.ranks)
		}
		for i := range p.parts {
			made[p.parts[i].group] = append(made[p.parts[i].group], madeBy{p, &p.parts[i]})
		}
	}
	for g, by := range made {
		n := measure.Either(g.Communicator == 0, len(j.ranks), members[g.Channel])
		all := measure.Sum(by, func(x madeBy) int { return len(x.ranks) })
		if n < 2 || all < n || slices.ContainsFunc(by, func(x madeBy) bool { return x.names != by[0].names }) {
			continue
		}
		for i := range int(by[0].n) {
			j.meet(own, by, i)
		}
	}
	for _, p := range patterns {
		spread(len(p.ranks), func(i int) {
			c, times := j.ranks[p.ranks[i]], own[p.ranks[i]]
			c.transfers, c.moved = model.PackTimes(times), make([]float64, len(c.steps))
			for k := range p.parts {
				x := &p.parts[k]
				for i := range int(x.n) {
					if ns := times[p.at(x, i)]; x.step >= 0 {
						c.moved[x.step] += float64(max(ns, ^ns))
					}
				}
			}
		})
	}
}

// matchDevices finds the counterparts of collectives on the other devices of a process, each of them as if it were a
// rank.
func (c *cut) matchDevices() {
	moves, _ := c.moves.Unpack()
	var devices job
	var places [][]int // in moves, by device
	for _, device := range c.seen.Devices {
		var own []model.Collective
		var at []int
		var channels model.Interned[model.Channel]
		var streams model.Interned[int32]
		for i, m := range moves {
			if m.Device != device {
				continue
			}
			channel := c.channels[m.Channel]
			if channel.Communicator == 0 {
				channel.Stream, _ = streams.Of(channel.Stream)
			}
			m.Channel, _ = channels.Of(channel)
			own, at = append(own, m), append(at, i)
		}
		if len(own) > 0 {
			devices.ranks = append(devices.ranks,
				&cut{Trace: c.Trace, steps: c.steps, moves: model.PackCollectives(own), channels: channels.List})
			places = append(places, at)
		}
	}
	if len(places) < 2 {
		return
	}
	devices.match()
	all := make([]int64, len(moves))
	c.moved = make([]float64, len(c.steps))
	for d, x := range devices.ranks {
		times, _ := model.UnpackTimes(x.transfers, len(places[d]))
		for k, i := range places[d] {
			all[i] = times[k]
		}
		addTo(c.moved, x.moved)
	}
	c.transfers = model.PackTimes(all)
}

// group is the collectives of a step and channel.
type group struct {
	step int32
	model.Channel
}

// part is the share of a rank in a group: so many of its collectives from a place in their order, and a hash of the
// names of their kernels.
type part struct {
	group
	from, n int32
	names   uint64
}

// pattern is the collectives of ranks that make the same ones: by step and channel, which is their order where that is
// nil.
type pattern struct {
	ranks []int
	order []int32
	parts []part
}

// madeBy is a part of the ranks of a pattern.
type madeBy struct {
	*pattern
	*part
}

// at is the index of the i-th collective of a part.
func (p *pattern) at(of *part, i int) int {
	if p.order == nil {
		return int(of.from) + i
	}
	return int(p.order[int(of.from)+i])
}

// patterns are those of the ranks, and the times of their collectives.
func (j *job) patterns() (out []*pattern, own [][]int64) {
	type identity struct {
		rest  model.Shared
		names string // of kernels and channels
	}
	known, seed := map[identity]*pattern{}, maphash.MakeSeed()
	own = make([][]int64, len(j.ranks))
	spread(len(j.ranks), func(i int) {
		own[i] = j.ranks[i].moves.Times()
	})
	for i, c := range j.ranks {
		c.caused = map[int]int64{}
		id := identity{c.moves.Rest, fmt.Sprint(c.channels)}
		names := make([]uint64, len(c.Kernels))
		for k := range names {
			name := c.Kernels[k].Subject.Short()
			id.names += "\x00" + name
			names[k] = maphash.String(seed, name)
		}
		p := known[id]
		if p == nil {
			p = c.pattern(seed, names)
			known[id], out = p, append(out, p)
		}
		p.ranks = append(p.ranks, i)
	}
	return out, own
}

// pattern divides the collectives of a rank by steps and channels. names are the hashes of its kernels.
func (c *cut) pattern(seed maphash.Seed, names []uint64) *pattern {
	moves, _ := c.moves.Unpack()
	p, order := &pattern{}, make([]int32, len(moves))
	for i := range order {
		order[i] = int32(i)
	}
	in := func(a, b int32) int {
		x, y := &moves[a], &moves[b]
		return cmp.Or(cmp.Compare(x.Step, y.Step), cmp.Compare(x.Channel, y.Channel), cmp.Compare(a, b))
	}
	if !slices.IsSortedFunc(order, in) {
		slices.SortFunc(order, in)
		p.order = order
	}
	for i, at := range order {
		m := &moves[at]
		g := group{m.Step, c.channels[m.Channel]}
		if n := len(p.parts); n == 0 || p.parts[n-1].group != g {
			p.parts = append(p.parts, part{group: g, from: int32(i)})
		}
		x := &p.parts[len(p.parts)-1]
		x.n, x.names = x.n+1, maphash.Comparable(seed, [2]uint64{x.names, names[m.Kernel]})
	}
	return p
}

// meet finds for the i-th collective of a group the rank that came last, and the time without the waiting: its
// complement takes the place of the own times.
func (j *job) meet(own [][]int64, by []madeBy, i int) {
	last, at, n, sum, transfer := 0, 0, int64(0), int64(0), int64(math.MaxInt64)
	for _, x := range by {
		k := x.at(x.part, i)
		for _, r := range x.ranks {
			ns := own[r][k]
			n, sum = n+1, sum+ns
			if ns < transfer || ns == transfer && r < last {
				last, at, transfer = r, k, ns
			}
		}
	}
	j.ranks[last].caused[at] = (sum - n*transfer) / (n - 1)
	for _, x := range by {
		k := x.at(x.part, i)
		for _, r := range x.ranks {
			own[r][k] = ^transfer
		}
	}
}

// counted are the collectives of the steps that count, or of the run without its start-up, each with its weight.
func (c *cut) counted(moves []collective) iter.Seq2[*collective, float64] {
	return func(yield func(*collective, float64) bool) {
		for i := range moves {
			n := 1.0
			if len(c.steps) == 0 {
				n = c.share(moves[i].API)
			} else if int(moves[i].Step) < max(c.skip, 0) {
				n = 0
			}
			if n > 0 && !yield(&moves[i], n) {
				return
			}
		}
	}
}

// per is the divisor of sums: the number of steps that count, 1 without steps.
func (c *cut) per() float64 { return max(1, float64(len(c.steps)-c.skip)) }

// reduceMessages writes the bytes of the collectives where each of them tells its size.
func (c *cut) reduceMessages(run int, t *table) {
	bytes, silent := map[int32]float64{}, map[int32]bool{}
	for m, n := range c.counted(c.collectives()) {
		size := c.Messages[m.Range].Bytes
		bytes[m.Kernel] += n * float64(size)
		silent[m.Kernel] = silent[m.Kernel] || size == 0
	}
	for kernel, n := range bytes {
		if !silent[kernel] {
			t.set(run, c.Kernels[kernel].Subject, measure.MessageBytes, counted(n)/c.per())
		}
	}
}
