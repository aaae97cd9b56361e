package model

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/nsgate/nsgate/gate/internal/measure"
)

// Sampling is the samples that a profiler took of the GPUs of a process while it ran, in columns: Values[m][i] is the
// mean of metric Metrics[m] from Spans[i].Start to Spans[i].End, in the metric's unit. The counters are the GPU's own
// and include everything that ran on it.
type Sampling struct {
	// Period is the usual time between two samples in ns.
	Period int64
	// Spans are the times that the samples stand for, sorted by Start. Of several GPUs each has samples of its own.
	Spans   []Interval
	Metrics []measure.Metric
	Values  [][]float64
}

// Mean is the mean of a metric over the samples that are inside one of the windows as a whole, and their number; it is
// NaN without samples. The windows are sorted and disjoint.
func (s *Sampling) Mean(metric int, windows []Interval) (mean float64, samples int) {
	total := 0.0
	for _, w := range windows {
		from := sort.Search(len(s.Spans), func(i int) bool { return s.Spans[i].Start >= w.Start })
		for i := from; i < len(s.Spans) && s.Spans[i].Start < w.End; i++ {
			if v := s.Values[metric][i]; s.Spans[i].End <= w.End && !math.IsNaN(v) {
				total += v
				samples++
			}
		}
	}
	return total / float64(samples), samples
}

// Request is one allocation of device memory from the driver.
type Request struct {
	Time  int64 // ns, of the profiler's clock
	Bytes int64
}

// Caller is a call stack of a process at its CUDA calls.
type Caller struct {
	// Kernel is the launched kernel, an index into Trace.Kernels; -1 for a call that launched nothing.
	Kernel int32
	// Call is the CUDA function, without the suffix of its version: "cudaLaunchKernel".
	Call string
	// Calls are the calls from here, sorted by their start.
	Calls []Interval
	// Python is the stack of Python, Native that of machine code. Either may be empty; the innermost frame is the
	// first.
	Python, Native []Frame
}

// Frame is a function on a call stack.
type Frame struct {
	Function string
	// File is the source file as the interpreter knows it, of machine code the executable or library.
	File string
	// Line is 0 where it is not known: of machine code always.
	Line int
}

// Interval is a span of the profiler's clock in ns.
type Interval struct{ Start, End int64 }

// Cover is the span from the earlier start to the later end of it and another; that one alone of the zero value.
func (x Interval) Cover(start, end int64) Interval {
	if x == (Interval{}) {
		return Interval{start, end}
	}
	return Interval{min(x.Start, start), max(x.End, end)}
}

// Union sorts spans and joins those that touch.
func Union(spans []Interval) []Interval {
	slices.SortFunc(spans, func(a, b Interval) int { return cmp.Compare(a.Start, b.Start) })
	out := spans[:0]
	for _, x := range spans {
		if n := len(out); n > 0 && x.Start <= out[n-1].End {
			out[n-1].End = max(out[n-1].End, x.End)
			continue
		}
		out = append(out, x)
	}
	return out
}
