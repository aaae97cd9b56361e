package nsysstats

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// column is one column of a table.
type column struct {
	title string // as printed
	name  string // without its unit, in lower case, by the name of today
	unit  string // in lower case, "" where there is none
}

// header is the first line of a table.
type header struct {
	kind    kind
	columns []column
	index   map[string]int // of the columns, by name
	// ppu is true for the tables of asys, which copies nsys for another maker's accelerators.
	ppu bool
	// old is true for the tables of nvprof, the profiler before nsys.
	old bool
}

var titled = regexp.MustCompile(`^(.*?)\s*\(([^()]*)\)$`)

// invisible are characters that a title may hold unseen, which gocsv ignores as well.
var invisible = strings.NewReplacer("\uFEFF", "", "\u200B", "", "\u200C", "", "\u200D", "")

// renamed are columns by their names of 2020 and 2021.
var renamed = map[string]string{
	"average": "avg", "minimum": "min", "maximum": "max", "median": "med", "operations": "count", "thru": "throughput",
}

func newColumn(title string) column {
	title = strings.TrimSpace(invisible.Replace(title))
	c := column{title: title, name: title}
	if m := titled.FindStringSubmatch(title); m != nil {
		c.name, c.unit = m[1], strings.ToLower(strings.TrimSpace(m[2]))
	}
	c.name = strings.ToLower(strings.Join(strings.Fields(c.name), " "))
	if now, ok := renamed[c.name]; ok {
		c.name = now
	}
	return c
}

// find gives the column of that name.
func (h *header) find(name string) (column, bool) {
	i, ok := h.index[name]
	if !ok {
		return column{}, false
	}
	return h.columns[i], true
}

func (h *header) has(names ...string) bool {
	for _, name := range names {
		if _, ok := h.find(name); !ok {
			return false
		}
	}
	return true
}

func (h *header) hasAny(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return h.has(name) })
}

// marks are parts of headers, one of which every header of a report has that is read or known.
var marks = [][]byte{[]byte("Total"), []byte("Start"), []byte("NVTX Range"), []byte("Kern"), []byte("Duration"),
	[]byte("Calls")}

// recognise says which report begins with this line, if one does.
func recognise(line []byte) (*header, bool) {
	const longest = 4096
	if len(line) > longest || !slices.ContainsFunc(marks, func(m []byte) bool { return bytes.Contains(line, m) }) {
		return nil, false
	}
	cells, open := loose(line)
	if open || len(cells) < 3 {
		return nil, false
	}
	h := &header{index: make(map[string]int, len(cells))}
	for i, cell := range cells {
		c := newColumn(string(cell))
		if i == 0 && c.name == "row#" {
			h.ppu = true
			continue
		}
		h.index[c.name] = len(h.columns)
		h.columns = append(h.columns, c)
	}
	known := true
	h.old = h.has("start", "duration", "registers per thread", "static smem", "name") ||
		h.has("calls", "avg", "min", "max", "name") && !h.has("total time") &&
			slices.ContainsFunc(h.columns, func(c column) bool { return c.name == "time" && c.unit == "%" })
	percent, _ := h.find("time")
	switch total, _ := h.find("total time"); {
	case h.old:
		h.kind = other
	case h.has("kernel start", "kernel dur", "kernel name"):
		h.kind = execTrace
	case h.has("nvtx range", "kern inst", "kernel name"), h.ppu && h.has("kern inst", "kernel name"):
		h.kind = nvtxSum
	case h.has("name", "projected start", "projected duration"):
		h.kind = projTrace
	case h.has("total time", "instances", "category", "operation"):
		h.kind = gpuSum
	case h.has("total time", "instances", "name") && (total.unit != "" || percent.unit == "%") &&
		!h.hasAny("range", "style", "num calls", "event type", "source"):
		if h.kind = kernSum; h.has("gridxyz", "blockxyz") {
			h.kind = gbSum
		}
	case h.has("total time", "count", "operation") && (total.unit != "" || percent.unit == "%"):
		h.kind = memTime
	case h.has("total", "count", "operation", "avg"):
		h.kind = memSize
	case h.has("start", "duration", "name") && h.hasAny("corrid", "grdx", "reg/trd", "strm") &&
		!h.hasAny("pid", "tid", "result"):
		h.kind = gpuTrace
	case h.has("total time") && percent.unit == "%" && h.hasAny("num calls", "range", "count", "instances"),
		h.has("total proj time"), h.has("qcount", "api name"), h.has("start", "duration", "corrid", "pid"), h.has("durchild"):
		h.kind = other
	default:
		known = false
	}
	return h, known
}

// describe is the name of a report that is not read, as far as its columns tell.
func (h *header) describe() string {
	switch {
	case h.kind != other:
		return h.kind.String()
	case h.has("num calls"):
		return "cuda_api_sum or osrt_sum"
	case h.has("total proj time"):
		return "nvtx_gpu_proj_sum"
	case h.has("range"):
		return "nvtx_sum"
	case h.has("qcount"):
		return "cuda_kern_exec_sum"
	case h.has("durchild"):
		return "nvtx_pushpop_trace"
	case h.has("pid"):
		return "cuda_api_trace"
	}
	return "another report"
}

// check refuses columns that cannot be told apart, and tables of another tool.
func (h *header) check(file string, line int) error {
	if h.ppu {
		return refuse(file, line, `the column "Row#" is not of nsys: asys of Alibaba's PPU writes it`, again)
	}
	if h.old {
		return refuse(file, line, "nvprof wrote the table, whose times and names are not those of nsys",
			"record again with nsys: nsys profile -o REPORT WORKLOAD")
	}
	for i, c := range h.columns {
		twice := slices.ContainsFunc(h.columns[:i], func(o column) bool { return o.name == c.name })
		if twice && c.name != "" {
			return refuse(file, line, fmt.Sprintf("the column %s is there twice", quote(c.title)), again)
		}
	}
	return nil
}

// need refuses a table without a column that it cannot do without.
func (h *header) need(file string, line int, names ...string) error {
	for _, name := range names {
		if !h.has(name) {
			return refuse(file, line, fmt.Sprintf("%s has no column %q", h.kind, name), again)
		}
	}
	return nil
}

// names is the line that the rows are read by: the names of the columns.
func (h *header) names() string {
	var names []string
	for _, c := range h.columns {
		names = append(names, strings.Map(func(r rune) rune {
			if strings.ContainsRune("\",\r\n", r) {
				return '_'
			}
			return r
		}, c.name))
	}
	return strings.Join(names, ",") + "\n"
}

// time is the unit of a column of times. The means of 2020 and 2021 have none and are in that of the total.
func (h *header) time(file string, line int, name string) (unit, error) {
	c, ok := h.find(name)
	if !ok {
		return unit{}, nil
	}
	if total, ok := h.find("total time"); ok && c.unit == "" {
		c.unit = total.unit
	}
	u, ok := timeUnits[c.unit]
	if !ok && c.unit == "" {
		return u, refuse(file, line, fmt.Sprintf("the column %s does not say its unit of time", quote(c.title)), again)
	}
	if !ok {
		return u, refuse(file, line, fmt.Sprintf("the column %s is in a unit of time that is not known", quote(c.title)), again)
	}
	return u, nil
}

// size is the unit of a column of sizes: bytes where it says none, as traces were until 2021.
func (h *header) size(file string, line int, name string) (unit, error) {
	c, ok := h.find(name)
	if !ok || c.unit == "" {
		return unit{}, nil
	}
	u, ok := sizeUnits[c.unit]
	if !ok {
		return u, refuse(file, line, fmt.Sprintf("the column %s is in a unit of size that is not known", quote(c.title)), again)
	}
	return u, nil
}
