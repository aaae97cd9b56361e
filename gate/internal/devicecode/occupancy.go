package devicecode

import (
	"strconv"
	"strings"
)

// multiprocessor holds the limits of one compute capability: threads and blocks of an SM, its shared memory in KiB, and
// what registers and shared memory are handed out in.
type multiprocessor struct {
	threads, blocks, shared int
	// parts is the number of parts of the SM that have a share of the registers each.
	parts int
	// blockRegisters and blockShared (in KiB, what is reserved included) are the most that a block may have.
	blockRegisters, blockShared int
	// unit is the size in which shared memory is handed out, reserved what the driver takes of it for each block, in bytes.
	unit, reserved int
	// listed is true where the device code counts the reserved bytes among those of the kernel.
	listed bool
}

const (
	registers       = 65536 // of an SM
	registerUnit    = 256   // in which a warp is given registers
	threadRegisters = 255   // at most
	blockThreads    = 1024  // at most
	warp            = 32
)

// multiprocessors are the limits in the technical specifications of the CUDA C++ Programming Guide and the granularities
// in cuda_occupancy.h.
var multiprocessors = func() map[int]multiprocessor {
	out := map[int]multiprocessor{}
	add := func(like multiprocessor, capabilities ...int) {
		for _, c := range capabilities {
			out[c] = like
		}
	}
	add(multiprocessor{2048, 32, 64, 4, 65536, 48, 256, 0, false}, 50)
	add(multiprocessor{2048, 32, 64, 4, 32768, 48, 256, 0, false}, 53, 62)
	add(multiprocessor{2048, 32, 96, 4, 65536, 48, 256, 0, false}, 52, 61)
	add(multiprocessor{2048, 32, 64, 2, 65536, 48, 256, 0, false}, 60)
	add(multiprocessor{2048, 32, 96, 4, 65536, 96, 256, 0, false}, 70, 72)
	add(multiprocessor{1024, 16, 64, 4, 65536, 64, 256, 0, false}, 75)
	add(multiprocessor{2048, 32, 164, 4, 65536, 164, 128, 1024, false}, 80)
	add(multiprocessor{1536, 16, 100, 4, 65536, 100, 128, 1024, false}, 86)
	add(multiprocessor{1536, 16, 164, 4, 65536, 164, 128, 1024, false}, 87)
	add(multiprocessor{1536, 24, 100, 4, 65536, 100, 128, 1024, false}, 89)
	add(multiprocessor{2048, 32, 228, 4, 65536, 228, 128, 1024, true}, 90, 100, 103)
	add(multiprocessor{1536, 24, 228, 4, 65536, 228, 128, 1024, true}, 101, 110)
	add(multiprocessor{1536, 24, 100, 4, 65536, 100, 128, 1024, true}, 120, 121)
	return out
}()

// Occupancy is the theoretical occupancy in percent of blocks of so many threads with so many bytes of dynamic shared
// memory, by the rules of cuda_occupancy.h. ok is false for an architecture that is not known, and for a launch that
// does not fit.
func (k Kernel) Occupancy(threads, dynamic int) (percent float64, ok bool) {
	capability, err := strconv.Atoi(strings.TrimRight(strings.TrimPrefix(k.Arch, "sm_"), "af"))
	sm, known := multiprocessors[capability]
	if err != nil || !known || threads <= 0 || threads > blockThreads || k.Registers <= 0 || k.Registers > threadRegisters {
		return 0, false
	}
	shared := max(k.Shared, sm.reserved)
	if !sm.listed {
		shared = k.Shared + sm.reserved
	}
	warps := (threads + warp - 1) / warp
	each := up(k.Registers*warp, registerUnit)
	if shared = up(shared+dynamic, sm.unit); shared > sm.blockShared<<10 || each*up(warps, sm.parts) > sm.blockRegisters {
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
