package gate

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/profile"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// Scope is the kind of a subject.
type Scope string

// The scopes.
const (
	Kernel   Scope = "kernel"
	Range    Scope = "range"    // an NVTX range
	Device   Scope = "device"   // one of several GPUs of a run: "GPU 3"
	Workload Scope = "workload" // the whole, without a name, or a kind of copy: "memcpy HtoD"
	Output   Scope = "output"   // a number that the workload prints: "tokens/s"
	Section  Scope = "section"  // a part of a run by time: "warm-up"
)

// Subject is the object of a metric.
type Subject struct {
	Scope Scope
	Name  string // full name of a kernel, of a range with its domain
	// Grid and Block are the extents of a kernel's launches, "1056x1x1", "" where they do not matter.
	Grid, Block string
}

// String is the short name of the subject: of a kernel without template arguments and parameters.
func (s Subject) String() string {
	return measure.Subject{Scope: measure.Scope(s.Scope), Name: s.Name}.Short()
}

// Host is the machine of a session. Empty fields are unknown.
type Host struct {
	GPU string // model, as its driver names it; sessions of unlike models are not compared
	// UUID is that of the GPU; a hash is kept. Sessions of one GPU within an hour have no error term between hosts.
	UUID         string
	CPU          string // model
	Driver, CUDA string // versions
	Profiler     string // name and version; sessions of unlike profilers are not compared
}

// Run is one fresh process of the workload.
type Run struct {
	Start time.Time // zero where unknown
	// Unprofiled is true for a run without a profiler: it has outputs and its wall time, and no other run has these.
	Unprofiled bool
}

// Series is one metric of one subject.
type Series struct {
	Subject Subject
	// Metric is the name of a metric. A kernel has "time" (a launch) and "total" (all launches of a
	// run), the workload "gpu_time", an output "rate" (more is better) or "cost".
	Metric string
	// Unit is that of the values, "" for the base unit of the metric: "us", "MiB". Outputs and counts have none.
	Unit string
	// Values holds one value for each run that is profiled, or for each that is not: the metric tells which.
	Values []float64
}

// NewSession makes a recording of one session: runs on one host, close together in time. It refuses runs without a
// value, values that are negative or not finite, units that are not of the metric, and metrics that nsgate does not
// know; the error names the run and the metric.
func NewSession(host Host, runs []Run, series []Series) (*Recording, error) {
	if len(runs) == 0 {
		return nil, errors.New("the session has no run; give at least one")
	}
	s := model.Session{Environment: model.Environment{GPUs: 1, Tick: model.ShortestTick}}
	line := measure.NormalizeLine
	s.GPU, s.CPU, s.Driver, s.CUDA, s.Tool = line(host.GPU), line(host.CPU), line(host.Driver), line(host.CUDA),
		line(host.Profiler)
	if host.UUID != "" {
		s.GPUHash = model.HashUUID(host.UUID)
	}
	var numbers [2][]int // of the runs, counted from 1: the profiled ones and the others
	for i, r := range runs {
		if !r.Start.IsZero() && (s.Start.IsZero() || r.Start.Before(s.Start)) {
			s.Start = r.Start.UTC()
		}
		kind := kindOf(r.Unprofiled)
		numbers[kind] = append(numbers[kind], i+1)
	}
	for _, i := range slices.Concat(numbers[:]...) {
		r := runs[i-1]
		s.Runs = append(s.Runs, model.Run{Unprofiled: r.Unprofiled, Steady: true, Start: r.Start})
	}
	var measured [2]bool
	totals := map[measure.Subject]bool{} // of kernels whose cost of a run is known
	for _, x := range series {
		out, err := x.model(numbers)
		if err != nil {
			return nil, err
		}
		measured[kindOf(out.Metric.Unprofiled())] = true
		totals[out.Subject] = totals[out.Subject] || out.Metric.Name == measure.Total.Name
		s.Series = append(s.Series, out)
	}
	for kind, some := range measured {
		if !some && len(numbers[kind]) > 0 {
			return nil, fmt.Errorf("run %d has no value of any metric; leave it out", numbers[kind][0])
		}
	}
	s.SortSeries()
	for _, x := range s.Series { // a slowdown of unknown cost fails no gate
		if x.Metric.Name == measure.Time.Name && !totals[x.Subject] {
			return nil, fmt.Errorf("%s, metric %q: what it costs a run is not known; add the metric %q",
				called(Scope(x.Subject.Scope), x.Subject.Name), x.Metric.Name, measure.Total.Name)
		}
	}
	if err := s.Check(); err != nil {
		return nil, refused(err)
	}
	return &Recording{profile.Recording{Finished: []model.Session{s}}}, nil
}

// called is a subject in a message.
func called(scope Scope, name string) string {
	return string(scope) + result.Given(name, " ", measure.Quote(name))
}

// kindOf is the index of profiled and unprofiled runs.
func kindOf(unprofiled bool) int {
	return measure.Either(unprofiled, 1, 0)
}

// model is the series in base units, with NaN in the runs of the other kind; numbers are those of the runs.
func (x *Series) model(numbers [2][]int) (out model.Series, err error) {
	what := called(x.Subject.Scope, x.Subject.Name) + ", metric " + measure.Quote(x.Metric)
	metric, ok := measure.MetricByName(x.Metric)
	if !ok {
		return out, fmt.Errorf("%s: there is no such metric; nsgate help library lists those of a session", what)
	}
	subject, err := x.Subject.model(metric)
	if err != nil {
		return out, fmt.Errorf("%s: %w", what, err)
	}
	factor := 1.0
	if x.Unit != "" && x.Unit != metric.Unit {
		f, base, _ := measure.BaseUnit(x.Unit)
		if base == "" || base != metric.Unit {
			return out, fmt.Errorf("%s: the unit %s is not of the metric; that has %s", what,
				measure.Quote(x.Unit), measure.Quote(metric.Unit))
		}
		factor = f
	}
	kind := kindOf(metric.Unprofiled())
	own := numbers[kind]
	var values [2][]float64
	values[1-kind] = slices.Repeat([]float64{math.NaN()}, len(numbers[1-kind]))
	for i, v := range x.Values {
		if i >= len(own) {
			return out, fmt.Errorf("%s: %d values for %s", what, len(x.Values), measure.Count(len(own), "run"))
		}
		v *= factor
		if !(v >= 0) || math.IsInf(v, 0) {
			return out, fmt.Errorf("%s: run %d has the value %v; values are finite and not negative",
				what, own[i], x.Values[i])
		}
		values[kind] = append(values[kind], v)
	}
	if len(x.Values) < len(own) {
		return out, fmt.Errorf("%s: run %d has no value", what, own[len(x.Values)])
	}
	if len(own) == 0 {
		return out, fmt.Errorf("%s: no run is of the kind that it is measured in; see Run.Unprofiled", what)
	}
	return model.Series{Subject: subject, Metric: metric, Values: slices.Concat(values[:]...)}, nil
}

// model is the subject under its normalised name.
func (s Subject) model(metric measure.Metric) (out measure.Subject, err error) {
	out = measure.Subject{Scope: measure.Scope(s.Scope), Name: measure.NormalizeLine(s.Name)}
	switch s.Scope {
	case Kernel:
		out.Name = measure.NormalizeName(s.Name)
	case Range:
		out.Name = measure.NormalizeRange(s.Name)
	case Device, Workload, Output, Section:
	default:
		return out, fmt.Errorf("there is no scope %s", measure.Quote(string(s.Scope)))
	}
	output := metric == measure.Rate || metric == measure.Cost
	switch {
	case out.Name == "" && s.Scope != Workload:
		return out, errors.New("the subject has no name")
	case s.Scope != Kernel && s.Grid+s.Block != "":
		return out, errors.New("only kernels have a grid and a block")
	case output != (s.Scope == Output):
		return out, fmt.Errorf("the metrics %s and %s are those of outputs", measure.Rate.Name, measure.Cost.Name)
	}
	if out.Grid, err = measure.ParseDim3(s.Grid); err == nil {
		out.Block, err = measure.ParseDim3(s.Block)
	}
	return out, err
}
