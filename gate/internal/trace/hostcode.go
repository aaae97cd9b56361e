package trace

import (
	"hash/fnv"
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/stats"
)

// The host code of steps has a factor in common per thread and step, that of the host's speed there. It is taken out of
// the segments by a median polish (Tukey 1977), so that a session has one typical time of each. What the factors would
// not explain has none.
const (
	// modalLeast is the part of a run's steps that must make the same calls.
	modalLeast = 0.8
	// replayOff is the largest error of a replay, copiesMost the largest part of a step spent waiting for copies of
	// pageable memory.
	replayOff, copiesMost = 0.005, 0.05
	// unevenMost is the robust standard deviation of a step's segments about its factor up to which it has one.
	unevenMost = 0.3
	// shortest is the time in ns below which a segment's time is the profiler's.
	shortest     = 50
	polishRounds = 3
)

// hostSteps are the steps of a run that make the same calls.
type hostSteps struct {
	*replay
	chain  []model.HostCall // the calls, without times
	print  uint64           // of the chain
	same   []int            // steps that make them
	logs   [][]float64      // ln ns of the segments, by those steps
	speeds [][]float64      // factor of each thread, by those steps
}

// newHostSteps are the steps of a replay whose period is known; nil where their host code says little of the host's
// speed.
func (c *cut) newHostSteps(r *replay, period float64) *hostSteps {
	h, threads := &hostSteps{replay: r}, model.Interned[int32]{}
	prints, counts := make([]uint64, len(r.steps)-1), map[uint64]int{} // the last step may be cut
	for i, calls := range r.steps[:len(r.steps)-1] {
		hash := fnv.New64a()
		for k := range calls {
			x := &calls[k]
			role, _ := threads.Of(x.Thread)
			x.role = int(role)
			name := c.hashOf(x)
			hash.Write([]byte{byte(x.role), byte(name), byte(name >> 8), byte(name >> 16), byte(name >> 24)})
		}
		prints[i] = hash.Sum64()
		if counts[prints[i]]++; counts[prints[i]] > counts[h.print] {
			h.print = prints[i]
		}
	}
	if float64(counts[h.print]) < modalLeast*float64(len(prints)) || len(threads.List) > 255 {
		return nil
	}
	copies := 0.0
	for i, p := range prints {
		if p != h.print {
			continue
		}
		calls := r.steps[i]
		logs, previous := make([]float64, 0, 2*len(calls)+1), r.bounds[i]
		ln := func(ns int64) { logs = append(logs, math.Log(float64(max(ns, shortest)))) }
		for k := range calls {
			x := &calls[k]
			ln(x.Start - previous)
			ln(x.End - x.Start)
			previous = x.End
			if x.blocks == waitsForCopy {
				copies += float64(x.End - x.Start)
			}
		}
		ln(r.bounds[i+1] - previous)
		h.same, h.logs = append(h.same, i), append(h.logs, logs)
	}
	calls := r.steps[h.same[0]]
	if len(calls) > model.MaxHostCalls || copies/float64(len(h.same)) > copiesMost*period {
		return nil
	}
	for k := range calls {
		call := model.HostCall{Thread: calls[k].role, Name: c.hashOf(&calls[k]), Call: 1}
		if calls[k].blocks != free {
			call.Call = 0
		}
		h.chain = append(h.chain, call)
	}
	return h
}

// hashOf is a hash of the names of a call and of the kernel that it launches.
func (c *cut) hashOf(x *replayed) uint32 {
	hash := fnv.New32a()
	hash.Write([]byte(c.CallNames[x.Name]))
	if len(x.ops) > 0 && x.ops[0].kind == 0 {
		hash.Write([]byte(c.Kernels[x.ops[0].kernel].Subject.Name))
	}
	return hash.Sum32()
}

// hostCode is the host code of a session, by most of its runs; nil where they do not make the same calls, or too few.
func hostCode(runs []*hostSteps) *model.HostCode {
	runs, all := commonest(runs), len(runs)
	if 2*len(runs) <= all {
		return nil
	}
	code := &model.HostCode{Calls: slices.Clone(runs[0].chain)}
	segments, waits := code.Segments(), make([]bool, 2*len(code.Calls)+1)
	for i, c := range code.Calls {
		waits[2*i+1] = c.Call == 0
	}
	typical := make([]float64, len(segments)) // ln ns
	for i := range typical {
		typical[i] = overRuns(runs, func(r *hostSteps, s int) float64 { return r.logs[s][i] })
	}
	for round := range polishRounds {
		for i := range segments {
			if segments[i].Time = math.Exp(typical[i]); waits[i] {
				segments[i].Time = 0
			}
		}
		weights := model.HostWeights(segments, func(int) bool { return true })
		if weights == nil || polish(runs, typical, weights, round == polishRounds-1) > unevenMost {
			return nil
		}
		anchors := make([]float64, len(weights))
		for t := range anchors {
			anchors[t] = overRuns(runs, func(r *hostSteps, s int) float64 { return r.speeds[s][t] })
		}
		for i := range typical {
			t, work := segments[i].Thread, 1.0
			if segments[i].Handover {
				work = 0
			}
			typical[i] = overRuns(runs, func(r *hostSteps, s int) float64 {
				return r.logs[s][i] - work*(r.speeds[s][t]-anchors[t])
			})
		}
	}
	for i, ns := range typical {
		switch v := math.Round(math.Exp(ns)); {
		case i == len(typical)-1:
			code.Tail = v
		case i%2 == 0:
			code.Calls[i/2].Code = v
		case !waits[i]:
			code.Calls[i/2].Call = v
		}
	}
	for _, x := range model.HostScales() {
		period := medianOf(len(runs), func(i int) float64 { return runs[i].periodAt(math.Exp(x)) })
		code.Periods = append(code.Periods, math.Round(period))
	}
	return code
}

// commonest are the runs whose steps make the calls that those of most runs make.
func commonest(runs []*hostSteps) (out []*hostSteps) {
	for _, r := range runs {
		other := func(o *hostSteps) bool { return r == nil || o == nil || o.print != r.print }
		alike := slices.DeleteFunc(slices.Clone(runs), other)
		if len(alike) > len(out) {
			out = alike
		}
	}
	return out
}

// polish gives every step the factors of its threads, and returns the typical spread of segments about them if asked
// to.
func polish(runs []*hostSteps, typical []float64, weights [][]float64, spread bool) float64 {
	var spreads []float64
	off := make([]float64, len(typical))
	for _, r := range runs {
		r.speeds = make([][]float64, len(r.logs))
		for s, logs := range r.logs {
			for i := range logs {
				off[i] = logs[i] - typical[i]
			}
			for _, w := range weights {
				f := stats.WeightedMedian(off, w)
				r.speeds[s] = append(r.speeds[s], f)
				if spread {
					spreads = append(spreads, unevenness(off, w, f))
				}
			}
		}
	}
	return stats.Median(spreads)
}

// unevenness is the weighted median distance from a centre, as a standard deviation.
func unevenness(x, weights []float64, centre float64) float64 {
	far := make([]float64, len(x))
	for i, v := range x {
		far[i] = math.Abs(v - centre)
	}
	return 1.4826 * stats.WeightedMedian(far, weights)
}

// periodAt is the period at the session's typical speed of the host, with host times scaled by a factor.
func (h *hostSteps) periodAt(factor float64) float64 {
	scales := make([][]float64, len(h.steps))
	usual := make([]float64, len(h.speeds[0]))
	for t := range usual {
		usual[t] = math.Exp(-medianOf(len(h.speeds), func(s int) float64 { return h.speeds[s][t] }))
	}
	for i := range scales {
		scales[i] = usual
	}
	for s, i := range h.same {
		scales[i] = make([]float64, len(usual))
		for t, f := range h.speeds[s] {
			scales[i][t] = math.Exp(-f)
		}
	}
	return medianPeriod(h.run(factor, scales))
}

// overRuns is the median over runs of the median over their steps.
func overRuns(runs []*hostSteps, of func(r *hostSteps, step int) float64) float64 {
	return medianOf(len(runs), func(i int) float64 {
		return medianOf(len(runs[i].logs), func(s int) float64 { return of(runs[i], s) })
	})
}

func medianOf(n int, of func(i int) float64) float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = of(i)
	}
	return stats.Median(v)
}
