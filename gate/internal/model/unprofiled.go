package model

import "time"

// Unprofiled is a run without a profiler.
type Unprofiled struct {
	Start   time.Time
	Wall    time.Duration
	Outputs []float64 // one for each [measure.Output] of the workload, in their order
}
