package collect

import "time"

// clock tells the time as Start and what has passed since, so that a system whose time is set meanwhile moves nothing. All
// processes of a session share one.
type clock struct {
	Start time.Time     `json:"start"`
	Since time.Duration `json:"since"` // what monotonic said at Start
}

func newClock() clock { return clock{time.Now().Round(0), monotonic()} }

func (c clock) now() time.Time { return c.Start.Add(monotonic() - c.Since) }
