package model

import (
	"slices"

	"github.com/nsgate/nsgate/gate/measure"
)

// NameKernels gives the kernels of a trace their subjects, by Raw and the geometry that is there, and merges those of one subject.
func (t *Trace) NameKernels(file string, budget *NameBudget) error {
	names, launches := map[string]measure.Subject{}, make([]int, len(t.Kernels)) // few names differ
	for i := range t.Kernels {
		k := &t.Kernels[i]
		if err := budget.Add(file, k.Raw); err != nil {
			return err
		}
		subject, known := names[k.Raw]
		if !known {
			subject = KernelSubject(k.Raw, measure.Dim3{}, measure.Dim3{})
			names[k.Raw] = subject
		}
		subject.Grid, subject.Block = k.Subject.Grid, k.Subject.Block
		k.Subject = subject
	}
	for i := range t.Launches {
		launches[t.Launches[i].Kernel]++
	}
	var to []int32
	t.Kernels, to = MergeKernels(t.Kernels, launches)
	for i := range t.Launches {
		t.Launches[i].Kernel = to[t.Launches[i].Kernel]
	}
	return nil
}

// Devices are the devices of launches, that of the first launch first.
func Devices(launches []Launch) (out []int32) {
	for i := range launches {
		if d := launches[i].Device; !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	return out
}
