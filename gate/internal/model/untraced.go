package model

import "time"

// Untraced is what is known of a run without a profiler.
type Untraced struct {
	Start   time.Time
	Wall    time.Duration
	Outputs []float64 // one for each [Output] of the workload, in their order
}
