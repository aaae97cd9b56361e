package nsys

import "slices"

// The tables of an export that are read by name in more than one place.
const (
	kernelTable   = "CUPTI_ACTIVITY_KIND_KERNEL"
	runtimeTable  = "CUPTI_ACTIVITY_KIND_RUNTIME"
	copyTable     = "CUPTI_ACTIVITY_KIND_MEMCPY"
	setTable      = "CUPTI_ACTIVITY_KIND_MEMSET"
	graphTable    = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
	memoryTable   = "CUDA_GPU_MEMORY_USAGE_EVENTS"
	overheadTable = "PROFILER_OVERHEAD"
	rangeTable    = "NVTX_EVENTS"
	chainTable    = "CUDA_CALLCHAINS"
	// diagnosticTable holds what nsys says of lost events, since 2024.2. Older exports hold it in StringIds alone.
	diagnosticTable    = "DIAGNOSTIC_EVENT"
	gpuMetricTable     = "GPU_METRICS"
	gpuMetricNameTable = "TARGET_INFO_GPU_METRICS"
)

// exported are the tables that are asked of `nsys export`. META_DATA_CAPTURE, ProcessStreams and
// TARGET_INFO_SYSTEM_ENV are never among them: they hold the environment variables and the output of the workload.
var exported = []string{
	"StringIds", kernelTable, runtimeTable, copyTable, setTable, graphTable, memoryTable, rangeTable, overheadTable,
	diagnosticTable,
	gpuMetricTable, gpuMetricNameTable, chainTable,
	"TARGET_INFO_GPU", "TARGET_INFO_CUDA_DEVICE", "TARGET_INFO_SESSION_START_TIME", "META_DATA_EXPORT",
}

// readable are the tables that Read looks into.
var readable = slices.Concat(exported,
	[]string{"EXPORT_META_DATA", "META_DATA_CAPTURE", "TARGET_INFO_CUDA_GPU", "TARGET_INFO_SYSTEM_ENV"})
