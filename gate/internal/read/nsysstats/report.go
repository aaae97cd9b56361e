package nsysstats

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// Next steps of the refusals of this package.
const (
	again      = "export again: nsys stats --report cuda_gpu_trace --format csv REPORT.nsys-rep"
	withC      = "export again with LC_ALL=C"
	oneRun     = "give the tables of one run at a time, made with the same filters"
	nanosecond = "export again with --timeunit nsec; if that does not help, record again"
	fromReport = "give nsgate the report or its SQLite export instead (nsys export --type sqlite)"
	noKernel   = "see that the workload did not fail, that it uses the GPU, and that the capture range covers its " +
		"kernels"
)

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
	return [...]string{"another report", "cuda_gpu_trace", "cuda_gpu_kern_sum", "cuda_gpu_mem_time_sum",
		"cuda_gpu_mem_size_sum"}[k]
}

// reports holds the names of the reports that are read, those until 2022 too.
var reports = map[string]kind{
	"cuda_gpu_trace": gpuTrace, "gputrace": gpuTrace, "cuda_gpu_kern_trace": gpuTrace,
	"cuda_gpu_kern_sum": kernSum, "gpukernsum": kernSum, "cuda_gpu_mem_time_sum": memTime, "gpumemtimesum": memTime,
	"cuda_gpu_mem_size_sum": memSize, "gpumemsizesum": memSize,
}

var (
	// report is a line that names the report whose table comes next.
	report = input.Pattern(`^(?:Processing \[.*\] with|Running) \[(?:[^\]]*[/\\])?(\w+)\.py\b|` +
		`^ ?\*\* .*\((\w+)(?::[^)]*)?\):$|^\[[0-9]+/[0-9]+\] Executing '(\w+)'`)
	processing = input.Pattern(`^Processing \[.*\] with \[`)
)

// messages are nsys's lines on a missing table of kernels, the most telling first. A reason ends with the text that the
// line captures.
var messages = []struct {
	kind         model.Kind
	reason, next string
	line         func() *regexp.Regexp
}{
	{model.NoKernels, "nsys found no CUDA kernels in the recording", noKernel,
		input.Pattern(`^SKIPPED: .*does not contain (?:CUDA kernel|GPU trace|GPU kernel/memory operations) data()`)},
	{model.ReportSkipped, "nsys says: ",
		"releases until 2022 call the reports gputrace and gpukernsum, later ones cuda_gpu_trace and cuda_gpu_kern_sum",
		input.Pattern(`^(ERROR: Report '.*' could not be found)`)},
	{model.ReportSkipped, "nsys skipped a report: the recording ", fromReport,
		input.Pattern(`^SKIPPED: .*?((?:does not contain|could not) .*?)\.?$`)},
}

// outputName matches how nsys names a file: PREFIX_REPORT.csv, with the report's arguments behind it.
var outputName = input.Pattern(`(?i)^(?:(.*?)[_.-])??(gpu[a-z]+|(?:cuda|nvtx|osrt|syscall|openacc|openmp|mpi|nvvideo|um|vulkan|opengl|` +
	`khrdebug|dx1[12]|wddm|api|kernexec)[a-z0-9_]*(?:sum|trace|proj|details|faults)|unifiedmemory[a-z]*|network_congestion)` +
	`((?:[_:.-](?:base|mangled|nvtx-name|nvtx=.*|start=[0-9-]+|end=[0-9-]+|rows=[0-9]+))*)\.csv$`)

// reportOf takes a file name apart. People name the report in the prefix as well: run_gpukernsum_gpukernsum.csv.
func reportOf(name string) (prefix, report string, ok bool) {
	for m := outputName().FindStringSubmatch(name); m != nil; m = outputName().FindStringSubmatch(prefix + ".csv") {
		prefix = m[1]
		if !ok {
			report, ok = strings.ToLower(m[2]), true
		}
	}
	return prefix, report, ok
}

// Group says which files of a directory hold the tables of one run: those that `nsys stats -o PREFIX` wrote beside each
// other, PREFIX_cuda_gpu_trace.csv with PREFIX_nvtx_gpu_proj_trace.csv and so on. Every other file stands alone. Groups
// are in the order of their first names, names in the order given.
func Group(names []string) [][]string {
	var groups [][]string
	at := map[string]int{}
	for _, name := range names {
		prefix, _, ok := reportOf(name)
		if i, known := at[prefix]; ok && known {
			groups[i] = append(groups[i], name)
			continue
		}
		if ok {
			at[prefix] = len(groups)
		}
		groups = append(groups, []string{name})
	}
	return groups
}

// header is the first line of a table. Its columns are named as today, in lower case and without units.
type header struct {
	kind    kind
	width   int
	columns map[string]*column
}

// column is a column of a table.
type column struct {
	at     int     // its number from 1
	title  string  // as printed
	unit   string  // in lower case, "" for none
	factor float64 // of the base unit, ns or bytes
}

func (h *header) has(name string) bool { return h.columns[name] != nil }

// find is the column of a name, the zero value where the table has none.
func (h *header) find(name string) *column { return cmp.Or(h.columns[name], &column{}) }

var titled = input.Pattern(`^(.*?)\s*\(([^()]*)\)$`)

// invisible removes characters that a title may hold unseen.
var invisible = strings.NewReplacer("\uFEFF", "", "\u200B", "", "\u200C", "", "\u200D", "")

// renamed holds the names of 2020 and 2021, and those that differ between tables.
var renamed = map[string]string{
	"average": "avg", "minimum": "min", "maximum": "max", "total time": "total", "instances": "count",
	"operations": "count", "operation": "name",
}

// titleWords matches a part of every header that is read or known.
var titleWords = input.Pattern(`Total|Start|NVTX Range|Kern|Duration|Calls`)

// recognise reads a line as the header of a table of nsys; not ok for another line.
func recognise(line string) (*header, bool) {
	const longest = 4096
	if len(line) > longest || !titleWords().MatchString(line) {
		return nil, false
	}
	h := &header{columns: map[string]*column{}}
	printed := map[string]bool{}
	for title := range strings.SplitSeq(line, ",") {
		title = strings.TrimSpace(invisible.Replace(strings.Trim(strings.TrimSpace(title), `"`)))
		name, unit := title, ""
		if m := titled().FindStringSubmatch(title); m != nil {
			name, unit = m[1], strings.ToLower(strings.TrimSpace(m[2]))
		}
		name = strings.ToLower(strings.Join(strings.Fields(name), " "))
		printed[name] = true
		if now, ok := renamed[name]; ok {
			name = now
		}
		h.width++
		h.columns[name] = &column{h.width, title, unit, 1}
	}
	has := func(names ...string) bool {
		return !slices.ContainsFunc(names, func(name string) bool { return !printed[name] })
	}
	hasAny := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return printed[name] })
	}
	percent := h.find("time").unit == "%"
	timed := h.find("total").unit != "" || percent
	switch {
	case has("row#"): // asys writes it, the profiler of another maker's accelerators
	case has("total time", "instances", "name") && timed &&
		!hasAny("range", "style", "num calls", "event type", "source", "gridxyz", "category"):
		h.kind = kernSum
	case hasAny("count", "operations") && has("total time", "operation") && timed:
		h.kind = memTime
	case hasAny("count", "operations") && has("total", "operation") && hasAny("avg", "average"):
		h.kind = memSize
	case has("start", "duration", "name") && hasAny("corrid", "grdx", "reg/trd", "strm") &&
		!hasAny("pid", "tid", "result", "registers per thread"):
		h.kind = gpuTrace
	default:
		return h, h.width > 1 && (has("total time") && percent || strings.Count(line, "(ns)") > 1)
	}
	return h, true
}
