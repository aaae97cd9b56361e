package recorded

import "github.com/nsgate/nsgate/gate/internal/model"

// FinestTick is the smallest known tick of the GPU's timer in sessions, in ns; 0 where none is known.
func FinestTick(sessions []model.Session) (tick float64) {
	for i := range sessions {
		if x := sessions[i].Tick; x > 0 && (tick == 0 || x < tick) {
			tick = x
		}
	}
	return tick
}

// CoarsestTick is the largest tick of the GPU's timer in sessions, in ns; 0 where none is known.
func CoarsestTick(sessions []model.Session) (tick float64) {
	for i := range sessions {
		tick = max(tick, sessions[i].Tick)
	}
	return tick
}
