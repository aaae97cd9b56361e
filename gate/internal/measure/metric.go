package measure

import "github.com/nsgate/nsgate/gate/internal/metrics"

// Metric is a named number with a unit and a direction.
type Metric = metrics.Metric

// Direction says which way a metric gets better.
type Direction = metrics.Direction

// Lower is better for times, counts and bytes; Neither marks metrics that explain but are not judged.
const (
	Lower   = metrics.Lower
	Neither = metrics.Neither
	Higher  = metrics.Higher
)

// RawPrefix begins the names of metrics that Nsight Compute defines.
const RawPrefix = metrics.RawPrefix

// MetricByName finds a metric of [Metrics], or makes that of a name behind [RawPrefix].
func MetricByName(name string) (Metric, bool) { return metrics.ByName(name) }

// SmallKernel is the time of a launch in ns under which a kernel is small (TraceLens' short kernel): launching it takes
// the CPU about as long. A cycle of less is the rate of launches, which differs by 40 % between processes of one
// program.
const SmallKernel = 10_000

// The metrics of a step and of its kernels and copies; package metrics describes them.
var (
	Metrics        = metrics.All
	Time           = metrics.Time
	Spread         = metrics.Spread
	Launches       = metrics.Launches
	Total          = metrics.Total
	GPUTime        = metrics.GPUTime
	CopyTime       = metrics.CopyTime
	CopyBytes      = metrics.CopyBytes
	Copies         = metrics.Copies
	SyncCalls      = metrics.SyncCalls
	Allocations    = metrics.Allocations
	PageableBytes  = metrics.PageableBytes
	SmallKernels   = metrics.SmallKernels
	StepTime       = metrics.StepTime
	MeanStep       = metrics.MeanStep
	MeanToTypical  = metrics.MeanToTypical
	RunTime        = metrics.RunTime
	Elapsed        = metrics.Elapsed
	Sensitivity    = metrics.Sensitivity
	ReplayError    = metrics.ReplayError
	Growth         = metrics.Growth
	WarmupLaunches = metrics.WarmupLaunches
	Repeats        = metrics.Repeats
	Rate           = metrics.Rate
	Cost           = metrics.Cost
	WallTime       = metrics.WallTime
	GPUDuration    = metrics.GPUDuration
	Duration       = metrics.Duration
	ItemRate       = metrics.ItemRate
	Bandwidth      = metrics.Bandwidth
	FlopRate       = metrics.FlopRate
	Memory         = metrics.Memory
	Value          = metrics.Value
	GPUMetrics     = metrics.GPUMetrics
	Throughput     = metrics.Throughput
)
