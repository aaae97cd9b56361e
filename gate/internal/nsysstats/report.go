package nsysstats

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// kind says which report a table is.
type kind int

// The reports that are read, those of kernels in the order in which they are preferred. Everything else that nsys prints
// is other.
const (
	other     kind = iota
	gpuTrace       // kernels and copies one by one
	gbSum          // kernels by name, grid and block
	kernSum        // kernels by name
	gpuSum         // kernels and copies by name, with calls or without
	memTime        // times of copies by kind
	memSize        // bytes of copies by kind
	projTrace      // ranges one by one, projected onto the GPU
)

// String is the name of the report since 2023.
func (k kind) String() string {
	return [...]string{
		"another report", "cuda_gpu_trace", "cuda_gpu_kern_gb_sum", "cuda_gpu_kern_sum", "cuda_gpu_sum",
		"cuda_gpu_mem_time_sum", "cuda_gpu_mem_size_sum", "nvtx_gpu_proj_trace",
	}[k]
}

// reports are the names of all reports, those until 2022 too.
var reports = func() map[string]kind {
	all := map[string]kind{}
	for k, names := range map[kind]string{
		gpuTrace: "cuda_gpu_trace gputrace cuda_gpu_kern_trace", kernSum: "cuda_gpu_kern_sum gpukernsum",
		gbSum: "cuda_gpu_kern_gb_sum gpukerngbsum", gpuSum: "cuda_gpu_sum gpusum cuda_api_gpu_sum apigpusum",
		memTime: "cuda_gpu_mem_time_sum gpumemtimesum", memSize: "cuda_gpu_mem_size_sum gpumemsizesum",
		projTrace: "nvtx_gpu_proj_trace nvtxgpuproj nvtxgpuprojtrace",
		other: `cuda_api_sum cudaapisum cuda_api_trace cudaapitrace cuda_kern_exec_sum kernexecsum cuda_kern_exec_trace
			kernexectrace nvtx_kern_sum nvtxkernsum nvtx_sum nvtxsum nvtx_pushpop_sum nvtxppsum nvtx_pushpop_trace nvtxpptrace
			nvtx_startend_sum nvtxsssum nvtx_gpu_proj_sum nvtxgpuprojsum osrt_sum osrtsum syscall_sum openacc_sum openaccsum
			openmp_sum openmpevtsum mpi_event_sum mpi_event_trace mpi_msg_size_sum nvvideo_api_sum network_congestion um_sum
			um_total_sum um_cpu_page_faults_sum unifiedmemory unifiedmemorytotals umcpupagefaults vulkan_api_sum
			vulkan_api_trace vulkan_marker_sum vulkan_gpu_marker_sum vulkanapisum vulkanmarkerssum vulkangpumarkersum
			opengl_khr_range_sum opengl_khr_gpu_range_sum khrdebugsum khrdebuggpusum dx11_pix_sum dx12_pix_sum
			dx12_gpu_marker_sum dx11pixsum dx12pixsum dx12gpumarkersum wddm_queue_sum wddmqueuesdetails`,
	} {
		for name := range strings.FieldsSeq(names) {
			all[name] = k
		}
	}
	return all
}()

// outputName is how nsys names a file: PREFIX_REPORT.csv, with the report's arguments behind it.
var outputName = func() *regexp.Regexp {
	names := slices.Sorted(maps.Keys(reports))
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
