package nsysstats

import (
	"regexp"
	"strings"
)

// kind says which report a table is.
type kind int

// The reports that are read. Everything else that nsys prints is other.
const (
	other    kind = iota
	gpuTrace      // kernels and copies one by one
	kernSum       // kernels by name
	memTime       // times of copies by kind
	memSize       // bytes of copies by kind
)

// String is the name of the report since 2023.
func (k kind) String() string {
	return [...]string{"another report", "cuda_gpu_trace", "cuda_gpu_kern_sum", "cuda_gpu_mem_time_sum", "cuda_gpu_mem_size_sum"}[k]
}

// reports holds the names of the reports that are read, those until 2022 too.
var reports = map[string]kind{
	"cuda_gpu_trace": gpuTrace, "gputrace": gpuTrace, "cuda_gpu_kern_trace": gpuTrace, "cuda_gpu_kern_sum": kernSum, "gpukernsum": kernSum,
	"cuda_gpu_mem_time_sum": memTime, "gpumemtimesum": memTime, "cuda_gpu_mem_size_sum": memSize, "gpumemsizesum": memSize,
}

// outputName matches how nsys names a file: PREFIX_REPORT.csv, with the report's arguments behind it.
var outputName = regexp.MustCompile(`(?i)^(?:(.*?)[_.-])??(gpu[a-z]+|(?:cuda|nvtx|osrt|syscall|openacc|openmp|mpi|nvvideo|um|vulkan|opengl|` +
	`khrdebug|dx1[12]|wddm|api|kernexec)[a-z0-9_]*(?:sum|trace|proj|details|faults)|unifiedmemory[a-z]*|network_congestion)` +
	`((?:[_:.-](?:base|mangled|nvtx-name|nvtx=.*|start=[0-9-]+|end=[0-9-]+|rows=[0-9]+))*)\.csv$`)

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
