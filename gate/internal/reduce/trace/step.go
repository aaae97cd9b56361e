package trace

import (
	"cmp"
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/reduce/attribution"
)

const (
	// outer is the part of a run's steps that is left out on either side, by their periods, before the others are
	// averaged: a step with a garbage collection, an evaluation or a profiler's flush is not the typical one. Unlike
	// medians, means over the same steps add up.
	outer = 0.25
	// ownerShare is the least part of a step of a cause of idle time with a row of its own.
	ownerShare = 0.002
)

// firsts are the starts of the first operations of the steps that count on a device, in its main stream; math.MaxInt64
// for none. Other streams may run ahead or behind by many steps: their operations do not mark the beginning of a step.
func (c *cut) firsts(device int32) []int64 {
	return c.mainStream(c.skipped(), func(d int32) bool { return d == device })
}

// mainStream gives the start of the first operation of each step, from a first one on, in the main stream of some
// devices; math.MaxInt64 for none. That is the busiest of the streams that work in most steps; collectives, which wait,
// do not count. Without such a stream, as in CUDA graphs that run in changing ones, it is the first of all.
func (c *cut) mainStream(from int, wanted func(device int32) bool) []int64 {
	const most = 0.9
	type first struct {
		step  int
		start int64
	}
	type work struct {
		firsts []first // of its steps, those of one step next to one another in one entry
		busy   int64
	}
	add := func(s *work, at int, start, busy int64) {
		s.busy += busy
		if n := len(s.firsts); n > 0 && s.firsts[n-1].step == at {
			s.firsts[n-1].start = min(s.firsts[n-1].start, start)
			return
		}
		s.firsts = append(s.firsts, first{at, start})
	}
	count := func(s *work) int { // of steps
		slices.SortFunc(s.firsts, func(a, b first) int {
			return cmp.Or(cmp.Compare(a.step, b.step), cmp.Compare(a.start, b.start))
		})
		s.firsts = slices.CompactFunc(s.firsts, func(a, b first) bool { return a.step == b.step })
		return len(s.firsts)
	}
	of := placer{c, map[int32]*finder{}}
	var streams []*work
	byStream := map[onStream]*work{}
	var last *work // that of the operation before,
	var lastOn onStream
	run := func(on onStream, api, start, busy int64) {
		if !wanted(on.device) {
			return
		}
		at := of.find(on.device, api) - from
		if at < 0 {
			return
		}
		if last == nil || on != lastOn {
			last, lastOn = byStream[on], on
			if last == nil {
				last = new(work)
				byStream[on], streams = last, append(streams, last)
			}
		}
		add(last, at, start, busy)
	}
	communicates := c.communicates()
	for i := range c.launches {
		l, busy := &c.launches[i], int64(0)
		if !communicates[l.Kernel] {
			busy = l.End - l.Start
		}
		run(onStream{l.Device, l.Stream}, l.API, l.Start, busy)
	}
	for i := range c.copies {
		x := &c.copies[i]
		run(onStream{x.Device, x.Stream}, x.API, x.Start, x.End-x.Start)
	}
	all := new(work)
	for _, s := range streams {
		all.firsts = append(all.firsts, s.firsts...)
	}
	least := most * float64(count(all))
	streams = slices.DeleteFunc(streams, func(s *work) bool { return float64(count(s)) < least })
	if len(streams) > 0 {
		all = slices.MaxFunc(streams, func(a, b *work) int { return cmp.Compare(a.busy, b.busy) })
	}
	out := slices.Repeat([]int64{math.MaxInt64}, len(c.laid())-from)
	for _, x := range all.firsts {
		out[x.step] = x.start
	}
	return out
}

// periods are the GPU periods between steps that count, from the first operation of a step to the first of the next one
// that has any and begins later. They follow one another without gaps; n is the number of steps that they are of.
func periods(firsts []int64) (out []model.Interval, n int) {
	last := -1
	for i, start := range firsts {
		if start == math.MaxInt64 || last >= 0 && start <= firsts[last] {
			continue
		}
		if last >= 0 {
			out = append(out, model.Interval{Start: firsts[last], End: start})
			n += i - last
		}
		last = i
	}
	return out, n
}

// typical are the periods in the middle half, those nearest the median period; of a few all but the extremes.
func typical(periods []model.Interval) []model.Interval {
	length := func(x model.Interval) int64 { return x.End - x.Start }
	sorted := slices.Clone(periods)
	slices.SortStableFunc(sorted, func(a, b model.Interval) int { return cmp.Compare(length(a), length(b)) })
	n := int(math.Ceil(outer * float64(len(sorted))))
	if 2*n >= len(sorted) {
		n = (len(sorted) - 1) / 2
	}
	return sorted[n : len(sorted)-n]
}

// mean is the mean length of intervals in ns.
func mean(of []model.Interval) float64 {
	sum := measure.Sum(of, func(x model.Interval) int64 { return x.End - x.Start })
	return float64(sum) / float64(len(of))
}

// attributed are the typical and the mean period of a step in ns, its communication and its causes, summed over n
// devices.
type attributed struct {
	period, all, exposed, hidden, n float64
	owned                           map[measure.Subject]*float64
}

// attribute divides the steps that count among their causes. It changes nothing in the cut.
func (c *cut) attribute() (a attributed) {
	a.owned = map[measure.Subject]*float64{}
	if len(c.repeated()) == 0 {
		return a
	}
	for _, device := range model.Devices(c.launches) {
		steps, count := periods(c.firsts(device))
		if len(steps) == 0 {
			continue
		}
		a.n++
		a.period += mean(typical(steps))
		a.all += float64(steps[len(steps)-1].End-steps[0].Start) / float64(count)
		var sums []*float64 // by number of the cause
		attribution.Partition(c.Trace, device, steps, func(s attribution.Breakdown) {
			a.hidden += float64(s.Hidden) / float64(count)
			for i := range s.Parts {
				p := &s.Parts[i]
				for int(p.Number) >= len(sums) {
					sums = append(sums, nil)
				}
				if sums[p.Number] == nil {
					subject := c.owner(p.Cause)
					if a.owned[subject] == nil {
						a.owned[subject] = new(float64)
					}
					sums[p.Number] = a.owned[subject]
				}
				*sums[p.Number] += float64(p.Time) / float64(count)
				if p.Class == attribution.Communication {
					a.exposed += float64(p.Time) / float64(count)
				}
			}
		})
	}
	return a
}

// reduceSteps writes the typical and the mean period of a step into the table, and the causes of the mean: of several
// devices, the mean.
func (c *cut) reduceSteps(run int, a attributed, t *table) {
	if a.n == 0 {
		return
	}
	t.set(run, measure.Workload, measure.StepTime, a.period/a.n)
	t.set(run, measure.Workload, measure.MeanStep, a.all/a.n)
	t.set(run, measure.Workload, measure.MeanToTypical, math.Round(a.all/a.period*1e6)/1e6)
	if len(c.steps) == 0 {
		t.set(run, measure.Workload, measure.Repeats, math.Round(c.phases[0].weight*float64(c.phases[0].cycles)))
	}
	for subject, ns := range a.owned {
		t.set(run, subject, measure.Owned, *ns/a.n)
	}
	if len(c.channels) > 0 {
		t.set(run, measure.Workload, measure.ExposedCommunication, a.exposed/a.n)
		t.set(run, measure.Workload, measure.HiddenCommunication, a.hidden/a.n)
	}
}

func (c *cut) owner(o attribution.Cause) measure.Subject {
	switch {
	case o.Class <= attribution.Communication:
		return c.Kernels[o.Kernel].Subject
	case o.Class == attribution.Copy:
		return measure.Subject{Scope: measure.ScopeWorkload, Name: o.Copy.String()}
	case o.Class == attribution.Memset:
		return measure.Subject{Scope: measure.ScopeWorkload, Name: model.Memset.String()}
	}
	return measure.IdleSubject(o.Class.String(), o.Where(c.Trace))
}

// settleOwners completes the owners of a session: who owned nothing in a run whose step is known owned 0 of it, and
// causes of idle time too small for a row of their own go into one a class.
func (t *table) settleOwners() {
	whole := t.rows[key{measure.Workload, measure.MeanStep.Name}]
	if whole == nil {
		return
	}
	rest := map[measure.Subject][]*model.Series{}
	for k, row := range t.rows {
		if k.metric != measure.Owned.Name {
			continue
		}
		for run, v := range row.Values {
			if math.IsNaN(v) && !math.IsNaN(whole.Values[run]) {
				row.Values[run] = 0
			}
		}
		if class, at := k.subject.Idle(); at != (measure.Place{}) &&
			largest(row.Values) < ownerShare*largest(whole.Values) {
			all := measure.IdleSubject(class, measure.Elsewhere)
			rest[all] = append(rest[all], row)
			delete(t.rows, k)
		}
	}
	for subject, rows := range rest {
		for run := range whole.Values {
			t.set(run, subject, measure.Owned, measure.Sum(rows, func(row *model.Series) float64 {
				return row.Values[run] // NaN where the run has no step
			}))
		}
	}
}
