package trace

import (
	"cmp"
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/measure"
)

const (
	// outer is the part of a run's steps that is left out on either side, by their periods, before the others are averaged:
	// a step with a garbage collection, an evaluation or a profiler's flush is not the typical one. Unlike medians, means
	// over the same steps add up.
	outer = 0.25
	// ownerShare is the part of a step from which a cause of idle time has a row of its own.
	ownerShare = 0.002
)

// repeated are the steps that count, of a run without them its cycles, on the API's time line.
func (c *cut) repeated() []model.Interval {
	if len(c.steps) == 0 {
		return c.cycles
	}
	return c.steps[max(c.skip, 0):]
}

// periods are the GPU periods of the steps that count on one device, from the first operation of a step to the first of the
// next. Steps without operations, and those that begin before the one before them, have none.
func (c *cut) periods(device int32) []model.Interval {
	steps := c.repeated()
	firsts := make([]int64, len(steps))
	for i := range firsts {
		firsts[i] = math.MaxInt64
	}
	begun := finder{spans: steps}
	begin := func(api, start int64) {
		if at := begun.find(api); at >= 0 {
			firsts[at] = min(firsts[at], start)
		}
	}
	for i := range c.launches {
		if l := &c.launches[i]; l.Device == device {
			begin(l.API, l.Start)
		}
	}
	for i := range c.copies {
		if x := &c.copies[i]; x.Device == device {
			begin(x.API, x.Start)
		}
	}
	var out []model.Interval
	for i := 0; i+1 < len(firsts); i++ {
		if firsts[i] < firsts[i+1] && firsts[i+1] < math.MaxInt64 {
			out = append(out, model.Interval{Start: firsts[i], End: firsts[i+1]})
		}
	}
	return out
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
	sorted = sorted[n : len(sorted)-n]
	slices.SortFunc(sorted, func(a, b model.Interval) int { return cmp.Compare(a.Start, b.Start) })
	return sorted
}

// reduceSteps writes the period of the typical step into the table, and who owns how much of it: of several devices, the mean.
// A recording in which something that ran is not in sight has no owners.
func (c *cut) reduceSteps(run int, t *table) {
	if len(c.repeated()) == 0 {
		return
	}
	devices := map[int32]bool{}
	for i := range c.launches {
		devices[c.launches[i].Device] = true
	}
	whole := c.GraphTrace != "graph"
	var period, exposed, hidden float64
	owned := map[measure.Subject]float64{}
	n := 0.0
	for device := range devices {
		steps := typical(c.periods(device))
		if len(steps) == 0 {
			continue
		}
		n++
		for _, s := range steps {
			period += float64(s.End-s.Start) / float64(len(steps))
		}
		if !whole {
			continue
		}
		for _, s := range Partition(c.Trace, device, steps) {
			hidden += float64(s.Hidden) / float64(len(steps))
			for _, p := range s.Parts {
				owned[c.owner(p.Cause)] += float64(p.Time) / float64(len(steps))
				if p.Class == Communication {
					exposed += float64(p.Time) / float64(len(steps))
				}
			}
		}
	}
	if n == 0 {
		return
	}
	t.set(run, measure.Workload, measure.StepTime, period/n)
	if c.repeats > 0 {
		t.set(run, measure.Workload, measure.Repeats, float64(c.repeats))
	}
	for subject, ns := range owned {
		t.set(run, subject, measure.Owned, ns/n)
	}
	if whole && len(c.moves) > 0 {
		t.set(run, measure.Workload, measure.ExposedCommunication, exposed/n)
		t.set(run, measure.Workload, measure.HiddenCommunication, hidden/n)
	}
}

// owner is the subject of an owner.
func (c *cut) owner(o Cause) measure.Subject {
	switch {
	case o.Class <= Communication:
		return c.Kernels[o.Kernel].Subject
	case o.Class == Copy:
		return measure.Subject{Scope: measure.ScopeWorkload, Name: o.Copy.String()}
	case o.Class == Memset:
		return measure.Subject{Scope: measure.ScopeWorkload, Name: model.Memset.String()}
	}
	return measure.IdleSubject(o.Class.String(), o.Where(c.Trace))
}

// settleOwners completes the owners of a session: who owned nothing in a run whose step is known owned 0 of it, and causes of
// idle time too small for a row of their own go into one a class.
func (t *table) settleOwners() {
	whole := t.rows[key{measure.Workload, measure.StepTime.Name}]
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
		if class, where := k.subject.Idle(); where != "" && largest(row.Values) < ownerShare*largest(whole.Values) {
			rest[measure.IdleSubject(class, "elsewhere")] = append(rest[measure.IdleSubject(class, "elsewhere")], row)
			delete(t.rows, k)
		}
	}
	for subject, rows := range rest {
		for run := range whole.Values {
			sum := 0.0
			for _, row := range rows {
				sum += row.Values[run] // NaN where the run has no step
			}
			t.set(run, subject, measure.Owned, sum)
		}
	}
}

// settleUnmatched leaves out that every collective was matched, where no run has another.
func (t *table) settleUnmatched() {
	k := key{measure.Workload, measure.UnmatchedCollectives.Name}
	if row := t.rows[k]; row != nil && largest(row.Values) == 0 {
		delete(t.rows, k)
	}
}
