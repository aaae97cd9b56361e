package model

import (
	"cmp"
	"fmt"
	"strings"

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

// KernelNames are the normalised kernel names of one recording, each computed once.
type KernelNames struct {
	normalizer measure.Normalizer
	known      map[string]string
}

// Subject is a kernel by the name that a profiler wrote, without its geometry. The error is a *Refusal if all names
// together take too long to demangle.
func (n *KernelNames) Subject(file, raw string) (measure.Subject, error) {
	// mostDemangling bounds the cost of demangling the kernel names of one recording, see [measure.Normalizer]. It
	// allows 2,700 names of 300 bytes or 4 of 8 kB, the longest; the slowest ones take three seconds.
	const mostDemangling = 250_000_000
	name, known := n.known[raw]
	if !known {
		name = cmp.Or(n.normalizer.Name(raw), "(unnamed kernel)")
		if n.known == nil {
			n.known = map[string]string{}
		}
		n.known[strings.Clone(raw)] = name
	}
	if n.normalizer.Cost > mostDemangling {
		return measure.Subject{}, Refuse(TooLarge, "record fewer kernels", "%s: the mangled names of its kernels "+
			"would take too long to read: the squares of their lengths add up to more than %d", file, mostDemangling)
	}
	return measure.Subject{Scope: measure.ScopeKernel, Name: name}, nil
}

// Operation is where a kernel comes from that a compiler named, as XLA names loop_add_fusion_2: the number in its name
// is that of one build. Several operations have one kernel's name where several programs of a run use it: that of the
// largest program comes first.
type Operation struct {
	Kernel   string `json:"kernel"`         // short name
	Path     string `json:"path"`           // of the operation in the program: "jit(step)/jvp()/add"
	File     string `json:"file,omitempty"` // relative to the repository, "" where the place is not known
	Line     int    `json:"line,omitempty"`
	Function string `json:"function,omitempty"`
	Parts    string `json:"parts,omitempty"` // names of the fused operations in order: "add exp mul tanh"
	Was      string `json:"-"`               // the name in the baseline, where Kernel is that of the head
}

// Compare orders operations by their places.
func (x Operation) Compare(y Operation) int {
	return cmp.Or(cmp.Compare(x.File, y.File), cmp.Compare(x.Line, y.Line), cmp.Compare(x.Function, y.Function))
}

// MostOperations bounds the operations of a session.
const MostOperations = 10_000

// Interned numbers values in the order of their first appearance.
type Interned[T comparable] struct {
	Number map[T]int32
	List   []T
}

// Of gives the number of a value, and whether it is new.
func (n *Interned[T]) Of(x T) (i int32, isNew bool) {
	if i, ok := n.Number[x]; ok {
		return i, false
	}
	if n.Number == nil {
		n.Number = make(map[T]int32)
	}
	n.Number[x] = int32(len(n.List))
	n.List = append(n.List, x)
	return n.Number[x], true
}
