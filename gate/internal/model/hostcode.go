package model

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/stats"
)

// HostCode is the host code of a session's steps: the CUDA calls of all threads of a typical step as one chain, each
// with the code before it. The speeds of two hosts are compared by it.
type HostCode struct {
	Calls []HostCall
	// Tail is the code after the last call in ns.
	Tail float64
	// Periods are the periods of the replayed step in ns, where all host code takes e^x times as long, by [HostScales].
	Periods []float64
}

// HostCall is one call in the chain.
type HostCall struct {
	Thread int    // numbered by their first calls
	Name   uint32 // hash of the names of the call and its kernel
	// Code and Call are the medians of the code before the call and of the call itself in ns; Call is 0 where it waits
	// for the GPU.
	Code, Call float64
}

// HostSegment is a piece of host code: of a chain of n calls, segment 2i is the code before call i, 2i+1 that call, 2n
// the tail.
type HostSegment struct {
	Thread int
	Time   float64 // in ns, 0 for a call that waits
	// Handover is code between calls of two threads: one wakes the other up.
	Handover bool
}

const (
	hostScaleStep, hostScaleMost = 0.1, 10
	// MaxHostCalls is the largest number of calls in a chain.
	MaxHostCalls = 2000
	// HostWeightMost is the largest weight of a segment in a factor of host speed, hostEffective the fewest segments
	// that give one, by their effective number.
	HostWeightMost, hostEffective = 0.05, 40
)

// HostScales are the logarithms of the factors of host time at which [HostCode.Periods] are taken.
func HostScales() (out []float64) {
	for i := -hostScaleMost; i <= hostScaleMost; i++ {
		out = append(out, hostScaleStep*float64(i))
	}
	return out
}

// Segments are the pieces of the chain.
func (h *HostCode) Segments() (out []HostSegment) {
	for i, c := range h.Calls {
		handover := i > 0 && h.Calls[i-1].Thread != c.Thread
		out = append(out, HostSegment{c.Thread, c.Code, handover}, HostSegment{Thread: c.Thread, Time: c.Call})
	}
	return append(out, HostSegment{Time: h.Tail})
}

// HostWeights are the weights of segments, by thread, for a factor of host speed: their times, each at most 5 % of all.
// A thread with too few segments is weighed with all others. Nil where it takes more than 5 % of the time, or those are
// too few as well.
func HostWeights(segments []HostSegment, use func(i int) bool) [][]float64 {
	threads := 1
	for _, s := range segments {
		threads = max(threads, s.Thread+1)
	}
	weigh := func(of func(thread int) bool) (w []float64, total float64) {
		w = make([]float64, len(segments))
		for i, s := range segments {
			if !s.Handover && of(s.Thread) && use(i) {
				w[i] = s.Time
				total += s.Time
			}
		}
		if w = stats.Capped(w, HostWeightMost); stats.Effective(w) < hostEffective {
			w = nil
		}
		return w, total
	}
	all, whole := weigh(func(int) bool { return true })
	out := make([][]float64, threads)
	for t := range out {
		own, total := weigh(func(thread int) bool { return thread == t })
		if out[t] = own; own == nil {
			out[t] = all
		}
		if all == nil || own == nil && total > HostWeightMost*whole {
			return nil
		}
	}
	return out
}

// PeriodAt bounds the period where host code takes e^x times as long; NaN beyond [HostScales]. A replayed period is
// nearly convex in the host's time, so that it lies under the chord of its neighbours and above the lines through those
// beside them.
func (h *HostCode) PeriodAt(x float64) (low, high float64) {
	at := x/hostScaleStep + hostScaleMost
	if !(at >= 0 && at <= float64(len(h.Periods)-1)) {
		return math.NaN(), math.NaN()
	}
	scale := func(i int) float64 { return math.Exp(hostScaleStep * float64(i-hostScaleMost)) }
	line := func(i int) float64 { // through points i and i+1
		return h.Periods[i] + (h.Periods[i+1]-h.Periods[i])*(math.Exp(x)-scale(i))/(scale(i+1)-scale(i))
	}
	i := min(int(at), len(h.Periods)-2)
	high = line(i)
	low = math.Min(high, math.Min(h.Periods[i], h.Periods[i+1]))
	if i > 0 {
		low = math.Max(low, math.Min(high, line(i-1)))
	}
	if i+2 < len(h.Periods) {
		low = math.Max(low, math.Min(high, line(i+1)))
	}
	return low, high
}

// MarshalText writes the periods, a bar, the calls as thread.name:code:call, and the tail.
func (h HostCode) MarshalText() ([]byte, error) {
	var b strings.Builder
	for _, p := range h.Periods {
		fmt.Fprintf(&b, "%.0f ", p)
	}
	b.WriteString("|")
	for _, c := range h.Calls {
		fmt.Fprintf(&b, " %d.%08x:%.0f:%.0f", c.Thread, c.Name, c.Code, c.Call)
	}
	fmt.Fprintf(&b, " %.0f", h.Tail)
	return []byte(b.String()), nil
}

// UnmarshalText reads what MarshalText writes.
func (h *HostCode) UnmarshalText(text []byte) error {
	broken := errors.New("this is no host code (periods, a bar, calls as thread.name:code:call, code after them)")
	fields := strings.Fields(string(text))
	n := 2*hostScaleMost + 1
	if len(fields) < n+3 || len(fields) > n+2+MaxHostCalls || fields[n] != "|" {
		return broken
	}
	time := func(s string) float64 {
		v, err := strconv.ParseUint(s, 10, 40) // 2^40 ns are 18 minutes
		if err != nil {
			return math.NaN()
		}
		return float64(v)
	}
	for _, f := range fields[:n] {
		h.Periods = append(h.Periods, time(f))
	}
	h.Tail = time(fields[len(fields)-1])
	sum := h.Tail
	for _, f := range fields[n+1 : len(fields)-1] {
		parts := strings.FieldsFunc(f, func(r rune) bool { return r == '.' || r == ':' })
		if len(parts) != 4 {
			return broken
		}
		thread, err := strconv.ParseUint(parts[0], 10, 8)
		name, wrong := strconv.ParseUint(parts[1], 16, 32)
		if err != nil || wrong != nil {
			return broken
		}
		c := HostCall{int(thread), uint32(name), time(parts[2]), time(parts[3])}
		h.Calls, sum = append(h.Calls, c), sum+c.Code+c.Call
	}
	for _, p := range h.Periods {
		sum += 1 / p // infinite for a period of 0
	}
	if math.IsNaN(sum) || math.IsInf(sum, 0) {
		return broken
	}
	return nil
}
