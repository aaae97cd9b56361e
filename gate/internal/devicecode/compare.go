package devicecode

import (
	"cmp"
	"slices"
)

// Change is a kernel whose code differs between baseline and head.
type Change struct {
	Base Kernel `json:"base"`
	Head Kernel `json:"head"`
}

// Comparison is the difference between two tables of kernels.
type Comparison struct {
	Changed []Change `json:"changed,omitempty"`
	Added   []Kernel `json:"added,omitempty"`
	Removed []Kernel `json:"removed,omitempty"`
	// Same is the number of kernels with equal code.
	Same int `json:"same"`
}

// Equal reports whether no kernel differs.
func (c *Comparison) Equal() bool { return len(c.Changed)+len(c.Added)+len(c.Removed) == 0 }

// Compare matches kernels by architecture and name, in whatever file: equal hashes first, then the others in order.
func Compare(base, head []Kernel) *Comparison {
	type key struct{ arch, name string }
	var keys []key
	groups := map[key]*[2][]Kernel{}
	for side, kernels := range [][]Kernel{base, head} {
		for _, k := range kernels {
			at := key{k.Arch, k.Name}
			if groups[at] == nil {
				groups[at] = &[2][]Kernel{}
				keys = append(keys, at)
			}
			groups[at][side] = append(groups[at][side], k)
		}
	}
	slices.SortFunc(keys, func(a, b key) int { return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.arch, b.arch)) })
	out := &Comparison{}
	for _, at := range keys {
		b, h := groups[at][0], groups[at][1]
		for i := 0; i < len(b); {
			j := slices.IndexFunc(h, func(k Kernel) bool {
				k.File = b[i].File
				return k == b[i]
			})
			if j < 0 {
				i++
				continue
			}
			out.Same++
			b, h = slices.Delete(b, i, i+1), slices.Delete(h, j, j+1)
		}
		pairs := min(len(b), len(h))
		for i := range pairs {
			out.Changed = append(out.Changed, Change{b[i], h[i]})
		}
		out.Removed = append(out.Removed, b[pairs:]...)
		out.Added = append(out.Added, h[pairs:]...)
	}
	return out
}
