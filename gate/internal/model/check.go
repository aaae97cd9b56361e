package model

import (
	"errors"
	"fmt"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/measure"
)

// Check gives the first error that makes a trace of a file unfit to be reduced: a number that refers to
// nothing, a list that is not sorted, an end before its start, more devices or kernels than a process has.
func (t *Trace) Check() error {
	for _, list := range []struct {
		what  string
		n     int
		sound func(i int) bool
	}{
		{"launch", len(t.Launches), t.soundLaunch}, {"copy", len(t.Copies), t.soundCopy},
		{"range", len(t.Ranges), t.soundRange}, {"kernel", len(t.Kernels), t.soundKernel},
		{"interval of overhead", len(t.Overhead), disjoint(t.Overhead)},
		{"capture", len(t.Captures), disjoint(t.Captures)},
		{"call stack", len(t.Callers), func(i int) bool { return refers(t.Callers[i].Kernel, len(t.Kernels), -1) }},
	} {
		for i := range list.n {
			if !list.sound(i) {
				return fmt.Errorf("its %s %d", list.what, i+1)
			}
		}
	}
	for x := range t.Calls.All() {
		if !lasts(x.Start, x.End) || !refers(x.Name, len(t.CallNames), 0) {
			return errors.New("a call")
		}
	}
	if t.Fragment != nil {
		return t.Fragment.check(t)
	}
	switch {
	case len(t.Launches) == 0 || len(Devices(t.Launches)) > mostDevices || len(t.Kernels) > MostSubjects:
		return errors.New("the number of its launches, devices or kernels")
	case t.RangeCategories != nil && len(t.RangeCategories) != len(t.RangeNames):
		return errors.New("the number of its NVTX categories")
	case t.Sampling != nil && !t.Sampling.sound():
		return errors.New("a sample of the GPU")
	}
	return nil
}

// lasts reports whether two times, whose differences are numbers, are a start and an end.
func lasts(start, end int64) bool {
	const latest = 1 << 61
	return -latest < start && start <= end && end < latest
}

// refers reports whether i is an index into a list of n, or not less than least.
func refers(i int32, n int, least int32) bool { return least <= i && int(i) < n }

func (t *Trace) soundLaunch(i int) bool {
	l := &t.Launches[i]
	return lasts(l.Start, l.End) && (i == 0 || l.Start >= t.Launches[i-1].Start) && lasts(l.API, l.API) &&
		refers(l.Kernel, len(t.Kernels), 0) && refers(l.Range, len(t.Ranges), -1)
}

func (t *Trace) soundCopy(i int) bool {
	x := &t.Copies[i]
	return lasts(x.Start, x.End) && (i == 0 || x.Start >= t.Copies[i-1].Start) && lasts(x.API, x.API) && x.Bytes >= 0 &&
		refers(x.Range, len(t.Ranges), -1)
}

func (t *Trace) soundRange(i int) bool {
	r := &t.Ranges[i]
	return lasts(r.Start, r.End) && (i == 0 || r.Start >= t.Ranges[i-1].Start) &&
		refers(r.Name, len(t.RangeNames), 0) && refers(r.Parent, i, -1)
}

func (t *Trace) soundKernel(i int) bool {
	return t.Kernels[i].Subject.Scope == measure.ScopeKernel && t.Kernels[i].Graph >= 0
}

func disjoint(list []Interval) func(i int) bool {
	return func(i int) bool {
		return lasts(list[i].Start, list[i].End) && (i == 0 || list[i].Start >= list[i-1].End)
	}
}

func (s *Sampling) sound() bool {
	return len(s.Values) == len(s.Metrics) &&
		!slices.ContainsFunc(s.Values, func(v []float64) bool { return len(v) != len(s.Spans) }) &&
		!slices.ContainsFunc(s.Metrics, func(m measure.Metric) bool {
			known, _ := measure.MetricByName(m.Name)
			return known != m || !m.Sampled()
		})
}
