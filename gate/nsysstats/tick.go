package nsysstats

import "slices"

// tick is the resolution of the times: that of the GPU's timer, found as in gate/nsys from the durations that were
// measured, or what the table rounds them to where that is more.
func tick(durations []int64, step float64) float64 {
	const shortest, enough, many = 32, 20, 10000
	var sample []int64
	for i := 0; i < len(durations); i += max(1, len(durations)/many) {
		if durations[i] > 1 {
			sample = append(sample, durations[i])
		}
	}
	slices.Sort(sample)
	sample = slices.Compact(sample)
	if len(sample) >= enough {
		for _, t := range []int64{1024, 1000, 512, 256, 128, 64} {
			off := 0
			for _, d := range sample {
				if r := (d + 1) % t; r > 2 { // to within 1 ns
					off++
				}
			}
			if 10*off <= len(sample) {
				return max(float64(t), step)
			}
		}
	}
	return max(shortest, step)
}
