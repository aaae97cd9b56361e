// Package counters holds what a profiler counted of single launches.
package counters

import (
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// Profile is the counters of one run.
type Profile struct {
	// Source is the name of the file, for messages only.
	Source string
	// GPU is the model, "" on a page that does not give it (details, or the raw page of few metrics).
	GPU string
	// Devices is the number of GPUs that launched the kernels.
	Devices int
	// Records are the profiled launches in the order of the file.
	Records []Record
	// Cells counts the cells of metrics that were read.
	Cells int
	// Warnings are doubts that do not forbid a judgement: launches that could not be profiled.
	Warnings []string

	index map[alike][]int // of Records, made by the first Find
}

// alike is the key of a launch in [Profile.Find]: the subject itself, or its short name, with its geometry or without.
type alike struct {
	subject         measure.Subject
	short, geometry string
}

// Record is one profiled launch.
type Record struct {
	Subject measure.Subject
	// Line is the first line of the launch in the file, 0 if it was not read from a file.
	Line int
	// Metrics are the values by the name of the metric, each in the metric's unit.
	Metrics map[string]float64
	// Evidence are the values of [Evidence], which explain a change and are in no session.
	Evidence map[string]float64
	// Raw are the cells that metrics and evidence use, by their own names. The others, over two thousand with --set
	// full, are read and checked, and not kept.
	Raw map[string]Value
}

// Value is one cell.
type Value struct {
	// Number is NaN if the cell is not a number.
	Number float64
	// Unit is a base unit: "ns", "byte", "hz", "byte/s"; Number is converted to it.
	Unit string
	// Step is the smallest difference that the cell can show, in Unit: 8.19 Kbyte has a step of 10 byte.
	Step float64
	// Text is the cell as written.
	Text string
	Line int
}

// Find gives the launches of a subject. Profilers write names differently: if none has the full name, it gives
// those of the same short name and geometry, and if there are none either, those of the same short name. Records stay
// as they are from the first call on.
func (p *Profile) Find(s measure.Subject) (found []Record) {
	keys := func(s measure.Subject) [3]alike {
		return [...]alike{{subject: s}, {short: s.Short(), geometry: "of " + s.Geometry()}, {short: s.Short()}}
	}
	if p.index == nil {
		p.index = map[alike][]int{}
		for i := range p.Records {
			for _, key := range keys(p.Records[i].Subject) {
				p.index[key] = append(p.index[key], i)
			}
		}
	}
	for _, key := range keys(s) {
		for _, i := range p.index[key] {
			found = append(found, p.Records[i])
		}
		if len(found) > 0 {
			break
		}
	}
	return found
}

// The counters that explain a change without being a metric of a session.
var (
	// SharedWavefronts is how many times the passes through shared memory exceed those that the accesses need, whatever
	// their width: 1 where there are no bank conflicts.
	SharedWavefronts = measure.Metric{Name: "shared_wavefronts", Unit: "times", Better: measure.Lower}
	// GlobalSectors is how many times the sectors of global memory exceed those of perfectly coalesced accesses.
	GlobalSectors = measure.Metric{Name: "global_sectors", Unit: "times", Better: measure.Lower}
	// ActiveThreads are the threads that take part in an instruction of a warp, UnmaskedThreads those of them that are
	// not masked out by a predicate. Both are 32 at best.
	ActiveThreads   = measure.Metric{Name: "active_threads", Unit: "threads", Better: measure.Higher}
	UnmaskedThreads = measure.Metric{Name: "unmasked_threads", Unit: "threads", Better: measure.Higher}
	// TensorPeak is the rate of tensor operations, of the types that the launch used, at the clocks of the launch.
	TensorPeak = measure.Metric{Name: "peak_tensor", Unit: "op/s"}
	// TensorBusy is the share of cycles in which the tensor cores worked.
	TensorBusy = measure.Metric{Name: "tensor_busy", Unit: "%", Better: measure.Higher}
)

// Evidence lists what [Record.Evidence] may hold.
var Evidence = []measure.Metric{SharedWavefronts, GlobalSectors, ActiveThreads, UnmaskedThreads, TensorPeak, TensorBusy}

// Records are the runs of a stored session as one record each, by subject, with the counters that a committed baseline
// keeps. A run without counters of a subject has no record.
func Records(s *model.Session) map[measure.Subject][]Record {
	counters := map[measure.Subject][]*model.Series{}
	for i := range s.Series {
		if x := &s.Series[i]; is(x.Metric) {
			counters[x.Subject] = append(counters[x.Subject], x)
		}
	}
	out := make(map[measure.Subject][]Record, len(counters))
	for subject, of := range counters {
		for i := range s.Runs {
			r := Record{Subject: subject, Metrics: map[string]float64{}}
			for _, x := range of {
				if !math.IsNaN(x.Values[i]) {
					r.Metrics[x.Metric.Name] = x.Values[i]
				}
			}
			if len(r.Metrics) > 0 {
				out[subject] = append(out[subject], r)
			}
		}
	}
	return out
}

// is reports whether a metric is made of counters.
func is(m measure.Metric) bool {
	return m.Raw() != "" || slices.Contains(measure.Throughput, m) ||
		slices.Contains([]measure.Metric{measure.Registers, measure.StaticShared, measure.DynamicShared}, m)
}
