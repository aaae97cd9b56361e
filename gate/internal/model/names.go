package model

import (
	"cmp"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/measure"
)

// mostDemangling bounds the cost of demangling the kernel names of one recording, see [measure.Normalizer]. It allows
// 2,700 names of 300 bytes or 4 of 8 kB, the longest; the slowest ones take three seconds.
const mostDemangling = 250_000_000

// KernelNames are the normalised kernel names of one recording, each computed once.
type KernelNames struct {
	normalizer measure.Normalizer
	known      map[string]string
}

// Subject is a kernel by the name that a profiler wrote, without its geometry. The error is a *Refusal if all names
// together take too long to demangle.
func (n *KernelNames) Subject(file, raw string) (measure.Subject, error) {
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
