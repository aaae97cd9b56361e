package model

import (
	"fmt"

	"github.com/nsgate/nsgate/gate/internal/measure"
)

// mostDevices is the largest number of devices with kernels of one process. The driver knows 32 GPUs of a host, and the
// time of a judgement grows with devices times launches.
const mostDevices = 64

// MostSubjects is the largest number of subjects of a session, and of kernels, by name and geometry, of a trace. The
// largest programs that are known have some thousands; a judgement of so many takes a gigabyte.
const MostSubjects = 50_000

// NameKernels gives the kernels of a trace their subjects, by Raw and their geometry, and merges the kernels of one
// subject. A trace of too many devices or kernels is a *[Refusal].
func (t *Trace) NameKernels(file string, names *KernelNames) error {
	if n := len(Devices(t.Launches)); n > mostDevices {
		return Refuse(TooLarge, "record the workload again; no host has so many GPUs",
			"%s: a process launched kernels on %d devices, more than %d", file, n, mostDevices)
	}
	if n := len(t.Kernels); n > MostSubjects {
		return Refuse(TooLarge, "record fewer steps, or a part of the program",
			"%s: a process launched %d kernels of different names or geometries, more than %d", file, n, MostSubjects)
	}
	launches, mangled := make([]int, len(t.Kernels)), names.normalizer.Mangled
	for i := range t.Kernels {
		k := &t.Kernels[i]
		subject, err := names.Subject(file, k.Raw)
		if err != nil {
			return err
		}
		subject.Grid, subject.Block = k.Subject.Grid, k.Subject.Block
		k.Subject = subject
	}
	if n := names.normalizer.Mangled - mangled; n > 0 {
		t.Warnings = append(t.Warnings, fmt.Sprintf("%s too long or too nested to demangle",
			measure.Count(n, "kernel name is", "kernel names are")))
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
	seen, last := map[int32]bool{}, int32(0) // most launches are on the device of the one before
	for i := range launches {
		if d := launches[i].Device; i == 0 || d != last {
			last = d
			if !seen[d] {
				seen[d], out = true, append(out, d)
			}
		}
	}
	return out
}
