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
			j := slices.IndexFunc(h, func(k Kernel) bool { return k.same(b[i]) })
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

// same reports whether two kernels are equal but for their files.
func (k Kernel) same(o Kernel) bool {
	k.File = o.File
	return k == o
}

// limits are the resources of a multiprocessor (CUDA C++ Programming Guide, table "Technical Specifications per Compute Capability").
type limits struct{ warps, blocks, shared int }

// multiprocessor gives the limits of an architecture; ok is false if they are unknown.
func multiprocessor(arch string) (l limits, ok bool) {
	known := map[string]limits{
		"sm_70": {64, 32, 96 << 10}, "sm_75": {32, 16, 64 << 10}, "sm_80": {64, 32, 164 << 10}, "sm_86": {48, 16, 100 << 10}, "sm_87": {48, 16, 164 << 10},
		"sm_89": {48, 24, 100 << 10}, "sm_90": {64, 32, 228 << 10}, "sm_100": {64, 32, 228 << 10}, "sm_103": {64, 32, 228 << 10}, "sm_120": {48, 24, 100 << 10},
	}
	for name := arch; name != "" && !ok; name = name[:len(name)-1] {
		l, ok = known[name]
	}
	return l, ok
}

// Occupancy is the theoretical occupancy of a kernel: the share of a multiprocessor's warps that blocks of so many threads fill,
// with dynamic shared memory in bytes. ok is false for unknown architectures and blocks that do not fit.
func Occupancy(k Kernel, threads, dynamic int) (share float64, ok bool) {
	const (
		warp, registers        = 32, 64 << 10
		granularity, allocated = 256, 4 // registers are allocated by 256 a warp, warps by 4
		sharedUnit             = 128
	)
	l, ok := multiprocessor(k.Arch)
	if !ok || threads <= 0 || threads > 1024 {
		return 0, false
	}
	up := func(n, to int) int { return (n + to - 1) / to * to }
	warps := up(threads, warp) / warp
	blocks := min(l.blocks, l.warps/warps)
	if k.Registers > 0 {
		perWarp := up(k.Registers*warp, granularity)
		blocks = min(blocks, registers/perWarp/allocated*allocated/warps)
	}
	if shared := up(k.Shared+dynamic, sharedUnit); shared > 0 {
		blocks = min(blocks, l.shared/shared)
	}
	return float64(blocks*warps) / float64(l.warps), blocks > 0
}
