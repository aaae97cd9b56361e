package model

import "slices"

// ticks are the known steps in ns of the timers of GPUs, the longest first.
var ticks = []int64{1024, 1000, 512, 256, 128, 64, ShortestTick}

// ShortestTick is the finest known step in ns, that of an H200. It is the default for an unknown timer.
const ShortestTick = 32

// Tick finds the resolution of the GPU's timer in ns. It is the longest known step T with at least nine in ten of n
// durations in ns within so many ns of a multiple; by chance (2 within + 1) in T would be. Each duration counts once,
// so that many launches of 1024 ns prove nothing. With fewer than 20 different durations, and where no step fits, the
// answer is 0. Of very many durations it reads some.
func Tick(n int, duration func(i int) int64, within int64) float64 {
	const enough, many = 20, 10_000
	var durations []int64
	for i := 0; i < n; i += max(1, n/many) {
		if d := duration(i); d > 1 {
			durations = append(durations, d)
		}
	}
	slices.Sort(durations)
	durations = slices.Compact(durations)
	if len(durations) < enough {
		return 0
	}
	for _, step := range ticks {
		on := 0
		for _, d := range durations {
			if rest := d % step; rest <= within || rest >= step-within {
				on++
			}
		}
		if 10*on >= 9*len(durations) {
			return float64(step)
		}
	}
	return 0
}
