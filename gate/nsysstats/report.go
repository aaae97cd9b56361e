package nsysstats

import (
	"regexp"
	"slices"
	"strings"
)

// kind says which report a table is.
type kind int

// The reports that are read. Everything else that nsys prints is other.
const (
	other     kind = iota
	gpuTrace       // kernels and copies one by one
	execTrace      // kernels one by one, with the calls that launched them
	kernSum        // kernels by name
	gbSum          // kernels by name, grid and block
	gpuSum         // kernels and copies by name
	apiSum         // calls, kernels and copies by name
	memTime        // times of copies by kind
	memSize        // bytes of copies by kind
	nvtxSum        // kernels by range and name
	projTrace      // ranges one by one, projected onto the GPU
)

// String is the name of the report since 2023.
func (k kind) String() string {
	return [...]string{
		"another report", "cuda_gpu_trace", "cuda_kern_exec_trace", "cuda_gpu_kern_sum", "cuda_gpu_kern_gb_sum", "cuda_gpu_sum",
		"cuda_api_gpu_sum", "cuda_gpu_mem_time_sum", "cuda_gpu_mem_size_sum", "nvtx_kern_sum", "nvtx_gpu_proj_trace",
	}[k]
}

// reports are the names of all reports, those until 2022 too.
var reports = map[string]kind{
	"cuda_gpu_trace": gpuTrace, "gputrace": gpuTrace, "cuda_gpu_kern_trace": gpuTrace,
	"cuda_kern_exec_trace": execTrace, "kernexectrace": execTrace,
	"cuda_gpu_kern_sum": kernSum, "gpukernsum": kernSum, "cuda_gpu_kern_gb_sum": gbSum, "gpukerngbsum": gbSum,
	"cuda_gpu_sum": gpuSum, "gpusum": gpuSum, "cuda_api_gpu_sum": apiSum, "apigpusum": apiSum,
	"cuda_gpu_mem_time_sum": memTime, "gpumemtimesum": memTime, "cuda_gpu_mem_size_sum": memSize, "gpumemsizesum": memSize,
	"nvtx_kern_sum": nvtxSum, "nvtxkernsum": nvtxSum, "nvtx_gpu_proj_trace": projTrace, "nvtxgpuproj": projTrace,
	"nvtxgpuprojtrace": projTrace,

	"cuda_api_sum": other, "cudaapisum": other, "cuda_api_trace": other, "cudaapitrace": other,
	"cuda_kern_exec_sum": other, "kernexecsum": other,
	"nvtx_sum": other, "nvtxsum": other, "nvtx_pushpop_sum": other, "nvtxppsum": other, "nvtx_pushpop_trace": other,
	"nvtxpptrace": other, "nvtx_startend_sum": other, "nvtxsssum": other, "nvtx_gpu_proj_sum": other, "nvtxgpuprojsum": other,
	"osrt_sum": other, "osrtsum": other, "syscall_sum": other, "openacc_sum": other, "openaccsum": other,
	"openmp_sum": other, "openmpevtsum": other, "mpi_event_sum": other, "mpi_event_trace": other, "mpi_msg_size_sum": other,
	"nvvideo_api_sum": other, "network_congestion": other,
	"um_sum": other, "um_total_sum": other, "um_cpu_page_faults_sum": other, "unifiedmemory": other,
	"unifiedmemorytotals": other, "umcpupagefaults": other,
	"vulkan_api_sum": other, "vulkan_api_trace": other, "vulkan_marker_sum": other, "vulkan_gpu_marker_sum": other,
	"vulkanapisum": other, "vulkanmarkerssum": other, "vulkangpumarkersum": other,
	"opengl_khr_range_sum": other, "opengl_khr_gpu_range_sum": other, "khrdebugsum": other, "khrdebuggpusum": other,
	"dx11_pix_sum": other, "dx12_pix_sum": other, "dx12_gpu_marker_sum": other, "dx11pixsum": other, "dx12pixsum": other,
	"dx12gpumarkersum": other, "wddm_queue_sum": other, "wddmqueuesdetails": other,
}

// outputName is how nsys names a file: PREFIX_REPORT.csv, with the report's arguments behind it.
var outputName = func() *regexp.Regexp {
	var names []string
	for name := range reports {
		names = append(names, name)
	}
	slices.Sort(names)
	return regexp.MustCompile(`(?i)^(?:(.*?)[_.-])?(` + strings.Join(names, "|") + `)` +
		`((?:[_:.-](?:base|mangled|nvtx-name|nvtx=.*|start=[0-9-]+|end=[0-9-]+|rows=[0-9]+))*)\.csv$`)
}()

// reportOf takes a file name apart. People name the report in the prefix as well: run_gpukernsum_gpukernsum.csv.
func reportOf(name string) (prefix, report string, ok bool) {
	m := outputName.FindStringSubmatch(name)
	if m == nil {
		return "", "", false
	}
	prefix, report = m[1], strings.ToLower(m[2])
	for {
		inner := outputName.FindStringSubmatch(prefix + ".csv")
		if inner == nil {
			return prefix, report, true
		}
		prefix = inner[1]
	}
}

// Group says which files of a directory hold the tables of one run: those that `nsys stats -o PREFIX` wrote beside each
// other, PREFIX_cuda_gpu_trace.csv with PREFIX_nvtx_gpu_proj_trace.csv and so on. Every other file stands alone. Groups
// are in the order of their first names, names in the order given.
func Group(names []string) [][]string {
	var groups [][]string
	at := map[string]int{}
	for _, name := range names {
		prefix, _, ok := reportOf(name)
		i, known := at[prefix]
		if !ok || !known {
			i = len(groups)
			groups = append(groups, nil)
		}
		if ok {
			at[prefix] = i
		}
		groups[i] = append(groups[i], name)
	}
	return groups
}
