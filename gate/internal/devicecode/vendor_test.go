package devicecode

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// properties are those of cudaOccDeviceProp that the functions below use.
type properties struct {
	major, minor                             int
	threadsPerSM, regsPerBlock, regsPerSM    int
	sharedPerBlock, sharedPerSM, reservedMem int
}

// deviceProperties are what cudaGetDeviceProperties gives on a device of the capability; the shared memory of a block
// is that after opting in.
func deviceProperties(major, minor int) properties {
	p := properties{major: major, minor: minor, threadsPerSM: 2048, regsPerBlock: 64 << 10, regsPerSM: 64 << 10}
	switch fmt.Sprintf("%d.%d", major, minor) {
	case "7.5":
		p.threadsPerSM = 1024
	case "8.6", "8.7", "8.9", "10.1", "11.0", "12.0", "12.1":
		p.threadsPerSM = 1536
	case "5.3", "6.2":
		p.regsPerBlock = 32 << 10
	}
	kib := map[string]int{"5.0": 64, "5.2": 96, "5.3": 64, "6.0": 64, "6.1": 96, "6.2": 64, "7.0": 96, "7.2": 96,
		"7.5": 64, "8.0": 164, "8.6": 100, "8.7": 164, "8.9": 100, "9.0": 228, "10.0": 228, "10.1": 228, "10.3": 228,
		"11.0": 228, "12.0": 100, "12.1": 100}[fmt.Sprintf("%d.%d", major, minor)]
	p.sharedPerSM = kib * 1024
	switch {
	case major >= 8:
		p.reservedMem = 1024
		p.sharedPerBlock = p.sharedPerSM - 1024
	case major == 7:
		p.sharedPerBlock = p.sharedPerSM
	default:
		p.sharedPerBlock = 48 * 1024
	}
	return p
}

// vendor is cudaOccMaxActiveBlocksPerMultiprocessor of cuda_occupancy.h, written again from its text: the smallest of
// the limits by blocks, warps, registers and shared memory.
func vendor(p properties, blockSize, numRegs, static, dynamic int) int {
	blocks := map[int]int{5: 32, 6: 32, 9: 32, 10: 32, 11: 24, 12: 24}[p.major]
	switch {
	case p.major == 7 && p.minor == 5:
		blocks = 16
	case p.major == 7, p.major == 8 && p.minor == 0:
		blocks = 32
	case p.major == 8 && p.minor == 9, p.major == 10 && p.minor == 1:
		blocks = 24
	case p.major == 8:
		blocks = 16
	}
	if blockSize > 1024 {
		return 0
	}
	divideRoundUp := func(x, y int) int { return (x + (y - 1)) / y }
	roundUp := func(x, y int) int { return y * divideRoundUp(x, y) }
	warpsPerCTA := divideRoundUp(blockSize, 32)
	byWarps := (p.threadsPerSM / 32) / warpsPerCTA

	partitions := 4
	if p.major == 6 && p.minor == 0 {
		partitions = 2
	}
	regsPerWarp := roundUp(numRegs*32, 256)
	regsAssumedPerCTA := regsPerWarp * roundUp(warpsPerCTA, partitions)
	regsAllocatedPerCTA := regsPerWarp * warpsPerCTA
	byRegisters := 0
	if p.regsPerBlock >= regsAssumedPerCTA && p.regsPerBlock >= regsAllocatedPerCTA && numRegs <= 255 {
		warpsPerSM := p.regsPerSM / partitions / regsPerWarp * partitions
		byRegisters = warpsPerSM / warpsPerCTA
	}

	granularity := 128
	if p.major < 8 {
		granularity = 256
	}
	byShared := 1 << 30
	if bytes := roundUp(static+p.reservedMem+dynamic, granularity); static+dynamic > p.sharedPerBlock {
		byShared = 0
	} else if bytes > 0 {
		byShared = p.sharedPerSM / bytes
	}
	return slices.Min([]int{blocks, byWarps, byRegisters, byShared})
}

// TestVendor compares the occupancy of random launches on every architecture with the formula of the vendor.
func TestVendor(t *testing.T) {
	for capability := range multiprocessors {
		p := deviceProperties(capability/10, capability%10)
		rapid.Check(t, func(t *rapid.T) {
			threads := rapid.OneOf(rapid.IntRange(1, 1100),
				rapid.SampledFrom([]int{32, 64, 96, 128, 256, 512, 1024})).Draw(t,
				"threads")
			numRegs := rapid.IntRange(1, 260).Draw(t, "registers")
			bytes := rapid.OneOf(rapid.Just(0), rapid.IntRange(0, 12<<10), rapid.IntRange(0, 240<<10))
			static, dynamic := bytes.Draw(t, "static"), bytes.Draw(t, "dynamic")
			k := Kernel{Arch: fmt.Sprintf("sm_%d", capability), Registers: numRegs, Shared: static}
			if capability >= 90 { // the compiler counts what is reserved
				k.Shared += 1024
			}
			want := float64(vendor(p, threads, numRegs, static,
				dynamic)*((threads+31)/32)*32) / float64(p.threadsPerSM) * 100
			got, ok := k.Occupancy(threads, dynamic)
			if ok != (want > 0) || ok && (got < want-1e-9 || got > want+1e-9) {
				t.Fatalf("%+v with %d threads and %d B: %v, %v, want %v", k, threads, dynamic, got, ok, want)
			}
		})
	}
	if len(multiprocessors) < 20 {
		t.Errorf("%d architectures", len(multiprocessors))
	}
}
