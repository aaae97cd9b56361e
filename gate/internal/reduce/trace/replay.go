package trace

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/judge/stats"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/reduce/attribution"
)

// The replay of recorded steps tells how much of their period depends on the host. The host's clock advances through
// code and calls, calls that block wait for the GPU, and an operation starts when it was issued and its stream is free
// (Zhu et al., Daydream, USENIX ATC 2020, with the host's speed as the question). Events between streams are not
// replayed: the error shows where they matter.
const (
	// replayedSteps and replayedCalls bound what is replayed of a run.
	replayedSteps, replayedCalls = 60, 20_000
	// queuedFrom is the least time in ns from the end of a call to its operation if that waited for its stream.
	queuedFrom = 20_000
	// speedStep is the change of the host's speed that the sensitivity is measured at.
	speedStep = 0.05
	// overlapMost is the largest part of calls that overlap the one before: one clock replays one chain of calls.
	overlapMost = 0.001
	// The latency of a launch and the gap between queued operations in ns, for runs with too few of them.
	defaultLatency, defaultGap = 9500, 1300
)

// replayed is a call of the host and the operations that it issued.
type replayed struct {
	model.Call
	ops    []replayedOp
	blocks blocking
}

type blocking uint8

const (
	free blocking = iota
	waitsForAll
	waitsForCopy
)

type replayedOp struct {
	start, end int64
	on         onStream
	kind       int16 // of copies, 0 for kernels
	place      int32 // among the operations of its step
}

type onStream struct{ device, stream int32 }

// replay is the recorded steps of a run as one chain of calls.
type replay struct {
	steps   [][]replayed
	bounds  []int64   // starts of the steps, and the end of the last
	firsts  []float64 // starts of their first operations
	before  map[onStream]int64
	latency map[int16]int64
	gaps    map[[2]int32]int64 // by place and kind
	kinds   map[int16]int64    // by kind
}

// newReplay takes the first steps that count; nil where there are too few, or where calls of several threads overlap.
func (c *cut) newReplay() *replay {
	steps := c.repeated()
	if n := len(steps); n < minSteps+1 || c.Calls.Len() == 0 {
		return nil
	}
	steps = steps[:min(len(steps), replayedSteps)]
	r := &replay{before: map[onStream]int64{}}
	span := model.Interval{Start: steps[0].Start, End: steps[len(steps)-1].End}
	calls, overlap := c.callsIn(span)
	if len(calls) == 0 || float64(overlap) > overlapMost*float64(len(calls)) {
		return nil
	}
	ops := c.opsIn(span, r.before)
	waits := measure.Map(c.CallNames, attribution.Synchronises) // the names are matched once, the calls are many
	at := 0
	for i, s := range steps {
		var of []replayed
		first, place := math.Inf(1), int32(0)
		for ; at < len(calls) && calls[at].Start <= s.End; at++ {
			x := replayed{Call: calls[at], ops: ops[calls[at].Start]}
			for k := range x.ops {
				first, x.ops[k].place = min(first, float64(x.ops[k].start)), place
				place++
			}
			x.blocks = c.blocks(&x, waits)
			of = append(of, x)
		}
		r.steps, r.bounds, r.firsts = append(r.steps, of), append(r.bounds, s.Start), append(r.firsts, first)
		if at > replayedCalls && i > minSteps {
			break
		}
	}
	r.bounds = append(r.bounds, steps[len(r.steps)-1].End+1)
	r.calibrate()
	return r
}

// callsIn are the calls that start in a span, by start, and how many begin before the end of an earlier one.
func (c *cut) callsIn(span model.Interval) (out []model.Call, overlap int) {
	for thread := range int32(c.Calls.Threads()) {
		for at := c.Calls.From(thread, span.Start-1); at.OK && at.Call.Start <= span.End; at.Next() {
			if at.Call.Start >= span.Start {
				out = append(out, at.Call)
			}
		}
	}
	slices.SortFunc(out, func(a, b model.Call) int { return cmp.Compare(a.Start, b.Start) })
	end := int64(math.MinInt64)
	for i := range out {
		if out[i].Start < end {
			overlap++
		}
		end = max(end, out[i].End)
	}
	return out, overlap
}

// opsIn are the operations issued by calls of a span, by the start of the call, and the ends of those before by stream.
func (c *cut) opsIn(span model.Interval, before map[onStream]int64) map[int64][]replayedOp {
	out := map[int64][]replayedOp{}
	add := func(api int64, x replayedOp) {
		switch {
		case api < span.Start:
			before[x.on] = max(before[x.on], x.end)
		case api <= span.End:
			out[api] = append(out[api], x)
		}
	}
	for i := range c.launches {
		l := &c.launches[i]
		add(l.API, replayedOp{start: l.Start, end: l.End, on: onStream{l.Device, l.Stream}})
	}
	for i := range c.copies {
		x := &c.copies[i]
		kind := int16(x.Kind)
		if x.Source == model.Pageable || x.Target == model.Pageable {
			kind = -kind
		}
		add(x.API, replayedOp{start: x.Start, end: x.End, on: onStream{x.Device, x.Stream}, kind: kind})
	}
	return out
}

// blocks is the operations that a call waits for: by its name, and copies of pageable memory for themselves. waits
// says by name which calls synchronise.
func (c *cut) blocks(x *replayed, waits []bool) blocking {
	switch name := c.CallNames[x.Name]; {
	case len(x.ops) == 0 && waits[x.Name]:
		return waitsForAll
	case len(x.ops) > 0 && strings.Contains(name, "Memcpy") && (x.ops[0].kind < 0 || !strings.Contains(name, "Async")):
		return waitsForCopy
	}
	return free
}

// calibrate takes latencies from operations whose stream was empty when they were issued, and gaps from those that
// waited for it.
func (r *replay) calibrate() {
	latency, kinds, gaps := map[int16][]float64{}, map[int16][]float64{}, map[[2]int32][]float64{}
	last := maps.Clone(r.before)
	for _, calls := range r.steps {
		for _, x := range calls {
			for _, o := range x.ops {
				switch end := last[o.on]; {
				case x.Start > end:
					latency[o.kind] = append(latency[o.kind], float64(o.start-x.Start))
				case o.start-x.End > queuedFrom:
					kinds[o.kind] = append(kinds[o.kind], float64(o.start-end))
					k := [2]int32{o.place, int32(o.kind)}
					gaps[k] = append(gaps[k], float64(o.start-end))
				}
				last[o.on] = max(last[o.on], o.end)
			}
		}
	}
	r.latency, r.kinds, r.gaps = medians(latency, minSteps), medians(kinds, 1), medians(gaps, 1)
}

func medians[K comparable](of map[K][]float64, least int) map[K]int64 {
	out := make(map[K]int64, len(of))
	for k, values := range of {
		if len(values) >= least {
			out[k] = int64(stats.Median(values))
		}
	}
	return out
}

// run replays the steps with host times scaled by a factor, and gives the starts of the first operations of the steps.
func (r *replay) run(factor float64) (firsts []float64) {
	now, previous := float64(r.bounds[0]), r.bounds[0]
	last, seen := map[onStream]float64{}, maps.Clone(r.before) // ends of the streams, in the replay and as recorded
	busy, recorded := 0.0, int64(0)                            // the largest of each
	for on, end := range r.before {
		last[on] = float64(end)
		busy, recorded = max(busy, float64(end)), max(recorded, end)
	}
	for i, calls := range r.steps {
		first := math.Inf(1)
		for k := range calls {
			x := &calls[k]
			now += float64(max(x.Start-previous, 0)) * factor
			copied := 0.0
			for _, o := range x.ops {
				start := max(now+float64(or(r.latency, o.kind, defaultLatency)),
					last[o.on]+float64(r.gapOf(o, x, seen)))
				end := start + float64(o.end-o.start)
				last[o.on], seen[o.on] = max(last[o.on], end), max(seen[o.on], o.end)
				busy, recorded = max(busy, end), max(recorded, o.end)
				first, copied = min(first, start), end
			}
			switch x.blocks {
			case waitsForAll:
				tail := x.End - max(x.Start, min(recorded, x.End))
				now = max(now, busy) + float64(tail)*factor
			case waitsForCopy:
				now = max(now, copied+float64(max(x.End-x.ops[len(x.ops)-1].end, 0)))
			default:
				now += float64(x.End-x.Start) * factor
			}
			previous = max(previous, x.End)
		}
		end := r.bounds[i+1]
		now += float64(max(end-previous, 0)) * factor
		previous = max(previous, end)
		firsts = append(firsts, first)
	}
	return firsts
}

// gapOf is the time between an operation and the one before on its stream where it waits for that: its own where it
// did.
func (r *replay) gapOf(o replayedOp, x *replayed, seen map[onStream]int64) int64 {
	if end, ok := seen[o.on]; ok && o.start-x.End > queuedFrom {
		return o.start - end
	}
	return or(r.gaps, [2]int32{o.place, int32(o.kind)}, or(r.kinds, o.kind, defaultGap))
}

// or is a value of a map, or another one where the map has none.
func or[K comparable](in map[K]int64, k K, another int64) int64 {
	if v, ok := in[k]; ok {
		return v
	}
	return another
}

// medianPeriod is the median distance between first operations, NaN for none.
func medianPeriod(firsts []float64) float64 {
	var out []float64
	for i := range len(firsts) - 1 {
		if d := firsts[i+1] - firsts[i]; d > 0 && !math.IsInf(d, 0) && !math.IsNaN(d) {
			out = append(out, d)
		}
	}
	return stats.Median(out)
}

// reduceReplay writes how much the period of a step depends on the speed of the host, and how far the replay at the
// recorded speed is from the period.
func (c *cut) reduceReplay(run int, t *table) {
	r := c.newReplay()
	if r == nil {
		return
	}
	period := medianPeriod(r.firsts)
	same, faster, slower := medianPeriod(r.run(1)), medianPeriod(r.run(math.Exp(-speedStep))),
		medianPeriod(r.run(math.Exp(speedStep)))
	if math.IsNaN(period + same + faster + slower) {
		return
	}
	set := func(m measure.Metric, v float64) { t.set(run, measure.Workload, m, math.Round(max(v, 0)*1e4)/1e4) }
	set(measure.ReplayError, math.Abs(same/period-1))
	set(measure.Sensitivity, math.Log(slower/faster)/(2*speedStep))
}
