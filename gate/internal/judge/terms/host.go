package terms

import (
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/explain/reason"
	"github.com/nsgate/nsgate/gate/internal/judge/recorded"
	"github.com/nsgate/nsgate/gate/internal/judge/stats"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/reduce/attribution"
	"github.com/nsgate/nsgate/gate/internal/result"
)

const (
	// replayErrorMost is the largest error of a replay with a usable sensitivity: 0.34 % was the worst of 78 runs.
	replayErrorMost = 0.005
	// waitsFrom is the least part of a step in waits for the CPU that makes the step depend on the host's CPU.
	waitsFrom = 0.1
	// hostBoundFrom is the sensitivity from which the CPU makes more of a step than the GPU.
	hostBoundFrom = 0.5
)

// HostPart is the part of a change of the host's speed that a step shows, 0 to 1.
func HostPart(base, head *recorded.Index) float64 {
	if s := sensitivity(base, head); !math.IsNaN(s) {
		return s
	}
	return waiting(base, head)
}

// HostBound reports whether a step is known to wait for the CPU more than for the GPU, on either side.
func HostBound(base, head *recorded.Index) bool {
	if s := sensitivity(base, head); !math.IsNaN(s) {
		return s > hostBoundFrom
	}
	attributed := func(side *recorded.Index) bool {
		return slices.ContainsFunc(side.Subjects(), func(s measure.Subject) bool {
			return side.HasMetric(s, measure.Owned.Name)
		})
	}
	return attributed(base) && attributed(head) && waiting(base, head) == 1
}

// sensitivity is how much a step depends on the host's speed, the more of the two sides: d ln period / d ln host
// time, measured under the profiler, which slows the host. It is NaN where a side was not replayed, or not exactly.
func sensitivity(base, head *recorded.Index) float64 {
	if NotReplayed(base, head) != nil {
		return math.NaN()
	}
	most := 0.0
	for _, side := range []*recorded.Index{base, head} {
		most = math.Max(most, side.Typical(measure.Workload, measure.Sensitivity.Name))
	}
	return math.Min(most, 1)
}

// NotReplayed says why any program's spread between hosts is expected: a side was not replayed exactly; else nil.
func NotReplayed(base, head *recorded.Index) []result.Remark {
	for i, side := range []*recorded.Index{base, head} {
		if by := side.Typical(measure.Workload, measure.ReplayError.Name); !(by <= replayErrorMost) {
			return []result.Remark{result.Say(reason.NotReplayed{Side: recorded.SideNames[i],
				Error: result.Number(by)})}
		}
	}
	return nil
}

// waiting bounds how much of a change of the host's speed a step shows, from 0 to 1: nothing where the GPU never
// waits for the CPU, all of it from a tenth of the step on, and where no recording says.
func waiting(base, head *recorded.Index) float64 {
	most := 0.0
	for _, side := range []*recorded.Index{base, head} {
		idle, known := 0.0, false
		for _, s := range side.Subjects() {
			if !side.HasMetric(s, measure.Owned.Name) {
				continue
			}
			known = true
			if class, _ := s.Idle(); class == attribution.Starved.String() || class == attribution.Blocking.String() ||
				class == attribution.Unknown.String() {
				idle += stats.Average(side.Values(s, measure.Owned.Name))
			}
		}
		step := side.Typical(measure.Workload, measure.StepTime.Name)
		if !known || !(step > 0) || math.IsNaN(idle) {
			return 1
		}
		most = math.Max(most, math.Min(1, idle/step/waitsFrom))
	}
	return most
}
