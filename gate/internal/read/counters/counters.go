// Package counters holds what a profiler counted of single launches.
package counters

import (
	"slices"

	"github.com/nsgate/nsgate/gate/internal/judge/stats"
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
	// Kernels are the kernels and ranges that were profiled, in the order of their first launches, and Launches the
	// number of their launches.
	Kernels  []Kernel
	Launches int
	// Cells counts the cells of metrics that were read.
	Cells int
	// Warnings are doubts that do not forbid a judgement: launches that could not be profiled.
	Warnings []string

	index map[alike][]int // of Kernels, made by the first Find
}

// alike is the key of a kernel in [Profile.Find]: the subject itself, or its short name, with its geometry or without.
type alike struct {
	subject         measure.Subject
	short, geometry string
}

// Kernel is the profiled launches of a kernel with one geometry.
type Kernel struct {
	Subject measure.Subject
	// Values are those of the launches by the name of a metric or of [Evidence], each in its unit. A launch without the
	// counters of a metric has none.
	Values map[string][]float64
}

// Find gives the kernels of a subject. Profilers write names differently: if none has the full name, it gives those of
// the same short name and geometry, and if there are none either, those of the same short name. Kernels stay as they
// are from the first call on.
func (p *Profile) Find(s measure.Subject) (found []Kernel) {
	keys := func(s measure.Subject) [3]alike {
		return [...]alike{{subject: s}, {short: s.Short(), geometry: "of " + s.Geometry()}, {short: s.Short()}}
	}
	if p.index == nil {
		p.index = map[alike][]int{}
		for i := range p.Kernels {
			for _, key := range keys(p.Kernels[i].Subject) {
				p.index[key] = append(p.index[key], i)
			}
		}
	}
	for _, key := range keys(s) {
		for _, i := range p.index[key] {
			found = append(found, p.Kernels[i])
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

// Evidence lists what [Kernel.Values] may hold.
var Evidence = []measure.Metric{SharedWavefronts, GlobalSectors, ActiveThreads, UnmaskedThreads, TensorPeak, TensorBusy}

// Kernels are the counters of each subject of a session, a value for each run that has one.
func Kernels(s *model.Session) map[measure.Subject]Kernel {
	out := map[measure.Subject]Kernel{}
	for _, x := range s.Series {
		values := stats.Known(x.Values)
		if !is(x.Metric) || len(values) == 0 {
			continue
		}
		if out[x.Subject].Values == nil {
			out[x.Subject] = Kernel{x.Subject, map[string][]float64{}}
		}
		out[x.Subject].Values[x.Metric.Name] = values
	}
	return out
}

// is reports whether a metric is made of counters.
func is(m measure.Metric) bool {
	return m.Raw() != "" || slices.Contains(measure.Throughput, m) ||
		slices.Contains([]measure.Metric{measure.Registers, measure.StaticShared, measure.DynamicShared}, m)
}
