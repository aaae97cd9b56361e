package trace

import (
	"cmp"
	"slices"
)

// ranks counts the processes that launched kernels at the same time, and the devices that they used together: the ranks of
// one job that are recorded in one file. Files of their own have clocks of their own, and tell nothing of each other.
func ranks(cuts []*cut) {
	order := slices.Clone(cuts)
	slices.SortStableFunc(order, func(a, b *cut) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.seen.span.Start, b.seen.span.Start))
	})
	for len(order) > 0 {
		// A job is what overlaps, directly or through others.
		n, end := 1, order[0].seen.span.End
		for n < len(order) && order[n].Source == order[0].Source && order[n].seen.span.Start < end {
			end = max(end, order[n].seen.span.End)
			n++
		}
		devices, most := map[int32]bool{}, 0
		for i, c := range order[:n] {
			at := 1
			for _, earlier := range order[:i] {
				if earlier.seen.span.End > c.seen.span.Start {
					at++
				}
			}
			most = max(most, at)
			for _, d := range c.seen.devices {
				devices[d] = true
			}
		}
		for _, c := range order[:n] {
			c.processes, c.devices = most, max(c.GPUs, len(devices))
		}
		order = order[n:]
	}
}
