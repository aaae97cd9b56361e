package model

import (
	"errors"
	"fmt"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/measure"
)

// Check gives the first error that makes an unpacked trace of a file unfit to be reduced: a number that refers to
// nothing, a list that is not sorted, an end before its start, more devices or kernels than a process has.
func (t *Trace) Check() error {
	const latest = 1 << 61 // differences of two times are numbers
	span := func(start, end int64) bool { return -latest < start && start <= end && end < latest }
	of := func(i int32, n int, least int32) bool { return least <= i && int(i) < n }
	for i := range t.Launches {
		l := &t.Launches[i]
		if !span(l.Start, l.End) || i > 0 && l.Start < t.Launches[i-1].Start || !span(l.API, l.API) ||
			!of(l.Kernel, len(t.Kernels), 0) || !of(l.Range, len(t.Ranges), -1) {
			return fmt.Errorf("its launch %d", i+1)
		}
	}
	for i := range t.Copies {
		x := &t.Copies[i]
		if !span(x.Start, x.End) || i > 0 && x.Start < t.Copies[i-1].Start || !span(x.API, x.API) || x.Bytes < 0 ||
			!of(x.Range, len(t.Ranges), -1) {
			return fmt.Errorf("its copy %d", i+1)
		}
	}
	for i := range t.Ranges {
		r := &t.Ranges[i]
		if !span(r.Start, r.End) || i > 0 && r.Start < t.Ranges[i-1].Start || !of(r.Name, len(t.RangeNames), 0) ||
			!of(r.Parent, i, -1) {
			return fmt.Errorf("its range %d", i+1)
		}
	}
	for x := range t.Calls.All() {
		if !span(x.Start, x.End) || !of(x.Name, len(t.CallNames), 0) {
			return errors.New("a call")
		}
	}
	for i := range t.Kernels {
		if k := &t.Kernels[i]; k.Subject.Scope != measure.ScopeKernel || k.Graph < 0 {
			return fmt.Errorf("its kernel %d", i+1)
		}
	}
	disjoint := func(list []Interval) bool {
		for i, x := range list {
			if !span(x.Start, x.End) || i > 0 && x.Start < list[i-1].End {
				return false
			}
		}
		return true
	}
	switch s := t.Sampling; {
	case len(t.Launches) == 0 || len(Devices(t.Launches)) > mostDevices || len(t.Kernels) > MostSubjects:
		return errors.New("the number of its launches, devices or kernels")
	case !disjoint(t.Overhead) || !disjoint(t.Captures):
		return errors.New("the order of its intervals")
	case t.RangeCategories != nil && len(t.RangeCategories) != len(t.RangeNames):
		return errors.New("the number of its NVTX categories")
	case slices.ContainsFunc(t.Callers, func(c Caller) bool { return !of(c.Kernel, len(t.Kernels), -1) }):
		return errors.New("a call stack")
	case s != nil && (len(s.Values) != len(s.Metrics) || slices.ContainsFunc(s.Metrics, func(m measure.Metric) bool {
		known, _ := measure.MetricByName(m.Name)
		return known != m || !m.Sampled()
	}) || slices.ContainsFunc(s.Values, func(v []float64) bool { return len(v) != len(s.Spans) })):
		return errors.New("a sample of the GPU")
	}
	return nil
}
