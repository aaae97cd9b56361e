package devicecode

import (
	"strconv"
	"strings"
)

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
