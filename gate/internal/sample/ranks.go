package sample

import (
	"cmp"
	"slices"

	"github.com/nsgate/nsgate/gate/measure"
)

// ranks counts the processes that launched kernels at the same time, and the devices that they used together: the ranks of
// one job that are recorded in one file. Files of their own have clocks of their own, and tell nothing of each other.
func ranks(cuts []*cut) {
	order := slices.Clone(cuts)
	slices.SortStableFunc(order, func(a, b *cut) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(span(a.Trace).Start, span(b.Trace).Start))
	})
	for len(order) > 0 {
		// A job is what overlaps, directly or through others.
		n, end := 1, span(order[0].Trace).End
		for n < len(order) && order[n].Source == order[0].Source && span(order[n].Trace).Start < end {
			end = max(end, span(order[n].Trace).End)
			n++
		}
		devices, most := map[int32]bool{}, 0
		for i, c := range order[:n] {
			at := 1
			for _, earlier := range order[:i] {
				if span(earlier.Trace).End > span(c.Trace).Start {
					at++
				}
			}
			most = max(most, at)
			for _, l := range c.Launches {
				devices[l.Device] = true
			}
		}
		for _, c := range order[:n] {
			c.processes, c.devices = most, max(c.GPUs, len(devices))
		}
		order = order[n:]
	}
}

// span is the time from a trace's first launch to its last.
func span(t *measure.Trace) measure.Interval {
	if len(t.Launches) == 0 {
		return measure.Interval{}
	}
	return measure.Interval{Start: t.Launches[0].Start, End: t.Launches[len(t.Launches)-1].End}
}
