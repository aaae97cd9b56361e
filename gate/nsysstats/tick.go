package nsysstats

import "github.com/nsgate/nsgate/gate/measure"

// tick is the resolution of the times: that of the GPU's timer, or what the table rounds them to where that is more.
func tick(n int, duration func(i int) int64, step float64) float64 {
	return max(measure.Tick(n, duration, 1), measure.ShortestTick, step)
}
