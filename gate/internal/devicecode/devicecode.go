// Package devicecode reads the kernels that a compiler left in ELF files, fat binaries and cubins, without a GPU or a
// CUDA toolkit.
package devicecode

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// Kernel is the compiled code of one kernel for one architecture. Sizes are in bytes.
type Kernel struct {
	File      string `json:"file"`
	Arch      string `json:"arch"` // "sm_90", "sm_90a"
	Name      string `json:"name"` // mangled
	Registers int    `json:"registers"`
	// Stack is the stack of a thread, called functions included: spilled registers and local arrays. It is -1 where
	// recursion leaves it open, and 0 in objects that are still to be linked (-rdc).
	Stack int `json:"stack_bytes"`
	// SpillStores is the size of the code's local stores, each instruction counted once. Spills and local arrays store
	// alike.
	SpillStores int `json:"spill_bytes"`
	Shared      int `json:"shared_bytes"`   // static shared memory of a block
	Constant    int `json:"constant_bytes"` // constant bank 0: parameters and launch state
	Barriers    int `json:"barriers"`
	Code        int `json:"code_bytes"`
	// Hash is the first 16 hexadecimal digits of the SHA-256 of the instructions, relocated ones masked.
	Hash string `json:"hash"`
}

// Compare orders kernels by file, architecture, name and hash.
func (k Kernel) Compare(o Kernel) int {
	return cmp.Or(cmp.Compare(k.File, o.File), cmp.Compare(k.Arch, o.Arch), cmp.Compare(k.Name, o.Name),
		cmp.Compare(k.Hash, o.Hash))
}

// An Unreadable error says why the device code of a file cannot be judged.
type Unreadable struct {
	File   string
	Reason string // such as "it holds PTX only"
	Next   string // the next step, such as "build the program again"
}

func (e *Unreadable) Error() string { return fmt.Sprintf("%s: %s; %s", e.File, e.Reason, e.Next) }

// ErrNoCode is the cause of an [Unreadable] file that is not a container of device code.
var ErrNoCode = errors.New("no device code")

// errPTX, errLarge and errCompressed are causes that another build mends.
var (
	errPTX        = errors.New("it holds PTX only, which the driver compiles when the program starts")
	errLarge      = errors.New("it is too large")
	errCompressed = errors.New("unknown compression")
)

// unreadable is the error of a file, with the next step for its cause. Whatever has none of its own is damage.
func unreadable(file string, cause error) *Unreadable {
	next := "build it again, and copy it whole"
	for _, c := range []struct {
		cause error
		next  string
	}{
		{ErrNoCode, "name an executable, library, object, fat binary or cubin of the build"},
		{errPTX, "build for the GPU's architecture (-arch=sm_…)"},
		{errLarge, "name the libraries or cubins that hold the kernels of interest"},
		{errCompressed, "build with --compress-mode=none"},
		{fs.ErrPermission, "let this user read it"},
		{fs.ErrNotExist, "build it first, or correct the path"},
	} {
		if errors.Is(cause, c.cause) {
			next = c.next
		}
	}
	if system, ok := errors.AsType[*fs.PathError](cause); ok {
		cause = system.Err // the path is that of the file
	}
	return &Unreadable{file, cause.Error(), next}
}

// The bounds on one file. libtorch_cuda.so, 1.5 GB, has about 100,000 kernels an architecture.
const (
	maxImage   = 512 << 20 // bytes of one decompressed cubin
	maxKernels = 4 << 20
	maxPlain   = 8 << 30 // bytes of all decompressed cubins of a file, beside mostGrowth times its size
	mostGrowth = 32
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
	slices.SortFunc(keys, func(a, b key) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.arch, b.arch))
	})
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

// multiprocessor holds the limits of one compute capability: threads and blocks of an SM, its shared memory and that of
// a block in KiB with what is reserved, the registers of a block, and the parts of the SM that have a share of the
// registers each.
type multiprocessor struct{ threads, blocks, shared, blockShared, blockRegisters, parts int }

const (
	registers       = 65536 // of an SM
	registerUnit    = 256   // in which a warp is given registers
	threadRegisters = 255   // at most
	blockThreads    = 1024  // at most
	warp            = 32
)

// multiprocessors are the limits in the technical specifications of the CUDA C++ Programming Guide.
var multiprocessors = map[int]multiprocessor{
	50: {2048, 32, 64, 48, 65536, 4}, 52: {2048, 32, 96, 48, 65536, 4},
	53: {2048, 32, 64, 48, 32768, 4}, 60: {2048, 32, 64, 48, 65536, 2},
	61: {2048, 32, 96, 48, 65536, 4}, 62: {2048, 32, 64, 48, 32768, 4},
	70: {2048, 32, 96, 96, 65536, 4}, 72: {2048, 32, 96, 96, 65536, 4},
	75: {1024, 16, 64, 64, 65536, 4}, 80: {2048, 32, 164, 164, 65536, 4},
	86: {1536, 16, 100, 100, 65536, 4}, 87: {1536, 16, 164, 164, 65536, 4},
	89: {1536, 24, 100, 100, 65536, 4}, 90: {2048, 32, 228, 228, 65536, 4},
	100: {2048, 32, 228, 228, 65536, 4}, 101: {1536, 24, 228, 228, 65536, 4},
	103: {2048, 32, 228, 228, 65536, 4}, 110: {1536, 24, 228, 228, 65536, 4},
	120: {1536, 24, 100, 100, 65536, 4}, 121: {1536, 24, 100, 100, 65536, 4},
}

// sharing is how shared memory is handed out (cuda_occupancy.h): in units, with what the driver takes for each block,
// in bytes. listed is true where the device code counts these among those of the kernel.
func sharing(capability int) (unit, reserved int, listed bool) {
	if capability < 80 {
		return 256, 0, false
	}
	return 128, 1024, capability >= 90
}

// Occupancy is the theoretical occupancy in percent of blocks of so many threads with so many bytes of dynamic shared
// memory, by the rules of cuda_occupancy.h. ok is false for an architecture that is not known, and for a launch that
// does not fit.
func (k Kernel) Occupancy(threads, dynamic int) (percent float64, ok bool) {
	capability, err := strconv.Atoi(strings.TrimRight(strings.TrimPrefix(k.Arch, "sm_"), "af"))
	sm, known := multiprocessors[capability]
	if err != nil || !known || threads <= 0 || threads > blockThreads ||
		k.Registers <= 0 || k.Registers > threadRegisters {
		return 0, false
	}
	unit, reserved, listed := sharing(capability)
	shared := max(k.Shared, reserved)
	if !listed {
		shared = k.Shared + reserved
	}
	warps := (threads + warp - 1) / warp
	each := up(k.Registers*warp, registerUnit)
	shared = up(shared+dynamic, unit)
	if shared > sm.blockShared<<10 || each*up(warps, sm.parts) > sm.blockRegisters {
		return 0, false
	}
	blocks := min(sm.blocks, sm.threads/warp/warps, registers/sm.parts/each*sm.parts/warps)
	if shared > 0 {
		blocks = min(blocks, sm.shared<<10/shared)
	}
	return 100 * float64(blocks*warps*warp) / float64(sm.threads), blocks > 0
}

// up is the smallest multiple of a unit from n on.
func up(n, unit int) int { return (n + unit - 1) / unit * unit }
