package insight

import "github.com/nsgate/nsgate/gate/internal/result"

var (
	_ = result.Keyed("unlike-sessions", UnlikeSessions{}, "Sessions unlike the newest are not shown.")
	_ = result.Keyed("restless", Restless{}, "Runs reach no steady state.")
	_ = result.Keyed("skipped", Skipped{}, "The steps or launches left out as warm-up.")
	_ = result.Keyed("profiled", Profiled{}, "The number of launches that Nsight Compute profiled.")
	_ = result.Keyed("unmatched", Unmatched{}, "Collectives are not the same in every rank.")
	_ = result.Keyed("straggler", Straggler{}, "The rank that computes longest.")
	_ = result.Keyed("late-rank", LateRank{}, "The rank that starts its collectives late.")
	_ = result.Keyed("straggler-wait", StragglerWait{}, "How long the other ranks wait for one.")
	_ = result.Keyed("too-short", TooShort{}, "Ranges shorter than the sampling period have no GPU metrics.")
	_ = result.Keyed("peak-at", PeakAt{}, "The range in which device memory peaks.")
	_ = result.Keyed("memory-grew", MemoryGrew{}, "A range requests more of the peak device memory.")
	_ = result.Keyed("low-utilisation", LowUtilisation{}, "A pattern.")
	_ = result.Keyed("gpu-idle", GPUIdle{}, "A pattern.")
	_ = result.Keyed("launch-starved", LaunchStarved{}, "A pattern.")
	_ = result.Keyed("synchronising", Synchronising{}, "A pattern.")
	_ = result.Keyed("synchronising-calls", SynchronisingCalls{}, "A pattern.")
	_ = result.Keyed("synchronous-copies", SynchronousCopies{}, "A pattern.")
	_ = result.Keyed("copy-bottleneck", CopyBottleneck{}, "A pattern.")
	_ = result.Keyed("many-copies", ManyCopies{}, "A pattern.")
	_ = result.Keyed("exposed-copies", ExposedCopies{}, "A pattern.")
	_ = result.Keyed("pageable-copies", PageableCopies{}, "A pattern.")
	_ = result.Keyed("small-kernels", SmallKernels{}, "A pattern.")
	_ = result.Keyed("exposed-communication", ExposedCommunication{}, "A pattern.")
)
