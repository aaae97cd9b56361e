package devicecode

import (
	"strconv"
	"strings"
)

// multiprocessor holds the limits of one compute capability; shared memory in KiB.
type multiprocessor struct{ threads, blocks, shared int }

// multiprocessors are the limits in the technical specifications of the CUDA C++ Programming Guide. All have
// 65,536 registers.
var multiprocessors = map[int]multiprocessor{
	70: {2048, 32, 96}, 72: {2048, 32, 96}, 75: {1024, 16, 64},
	80: {2048, 32, 164}, 86: {1536, 16, 100}, 87: {1536, 16, 164}, 89: {1536, 24, 100},
	90: {2048, 32, 228}, 100: {2048, 32, 228}, 103: {2048, 32, 228}, 110: {1536, 24, 228},
	120: {1536, 24, 100}, 121: {1536, 24, 100},
}

// Occupancy is the theoretical occupancy in percent of blocks of so many threads with so many bytes of dynamic shared
// memory, by the rules of cuda_occupancy.h. ok is false for an architecture that is not known, and for a launch that
// does not fit.
func (k Kernel) Occupancy(threads, dynamic int) (percent float64, ok bool) {
	capability, err := strconv.Atoi(strings.TrimRight(strings.TrimPrefix(k.Arch, "sm_"), "af"))
	sm, known := multiprocessors[capability]
	if err != nil || !known || threads <= 0 || threads > 1024 || k.Registers <= 0 {
		return 0, false
	}
	const quarter = 65536 / 4 // registers of one of the four parts, which are handed out in units of 256 a warp
	warps := (threads + 31) / 32
	byRegisters := quarter / ((k.Registers*32 + 255) &^ 255) * 4 / warps
	blocks := min(sm.blocks, sm.threads/32/warps, byRegisters)
	shared := k.Shared
	if capability >= 90 {
		shared = max(shared, 1024) // with the 1 KiB that the driver takes
	} else if capability >= 80 {
		shared += 1024
	}
	if shared = (shared + dynamic + 127) &^ 127; shared > 0 {
		blocks = min(blocks, sm.shared<<10/shared)
	}
	return 100 * float64(blocks*warps*32) / float64(sm.threads), blocks > 0
}
