package nsysstats

import (
	"regexp"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/measure"
)

// column is one column of a table.
type column struct {
	place int    // in a row
	title string // as printed
	name  string // without its unit, in lower case, by the name of today
	unit  string // in lower case, "" where there is none
	// factor is what a number in the column is multiplied with to be in ns or bytes, once times or sizes has said so.
	factor float64
}

// header is the first line of a table.
type header struct {
	kind    kind
	other   string // what a report that is not read is, as far as its columns tell
	columns []column
	index   map[string]int // of the columns, by name
	// foreign is the refusal of a table of another tool: nvprof, or asys, which copies nsys for another maker's
	// accelerators.
	foreign *model.Refusal
}

var titled = regexp.MustCompile(`^(.*?)\s*\(([^()]*)\)$`)

// invisible are characters that a title may hold unseen.
var invisible = strings.NewReplacer("\uFEFF", "", "\u200B", "", "\u200C", "", "\u200D", "")

// renamed are columns by their names of 2020 and 2021.
var renamed = map[string]string{
	"average": "avg", "minimum": "min", "maximum": "max", "median": "med", "operations": "count", "thru": "throughput",
}

func newColumn(title string) column {
	title = strings.TrimSpace(invisible.Replace(title))
	c := column{title: title, name: title, factor: 1}
	if m := titled.FindStringSubmatch(title); m != nil {
		c.name, c.unit = m[1], strings.ToLower(strings.TrimSpace(m[2]))
	}
	c.name = strings.ToLower(strings.Join(strings.Fields(c.name), " "))
	if now, ok := renamed[c.name]; ok {
		c.name = now
	}
	return c
}

// column gives the column of that name, nil where there is none.
func (h *header) column(name string) *column {
	if i, ok := h.index[name]; ok {
		return &h.columns[i]
	}
	return nil
}

func (h *header) has(names ...string) bool {
	for _, name := range names {
		if h.column(name) == nil {
			return false
		}
	}
	return true
}

func (h *header) hasAny(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return h.has(name) })
}

// marks are parts of headers, one of which every header of a report has that is read or known.
var marks = regexp.MustCompile(`Total|Start|NVTX Range|Kern|Duration|Calls`)

// recognise says which report begins with this line, if one does.
func recognise(line string) (*header, bool) {
	const longest = 4096
	if len(line) > longest || !marks.MatchString(line) {
		return nil, false
	}
	cells, open := split(nil, line, 0)
	if open || len(cells) < 3 {
		return nil, false
	}
	h := &header{index: make(map[string]int, len(cells))}
	for i, cell := range cells {
		c := newColumn(cell)
		if i == 0 && c.name == "row#" {
			h.foreign = model.Refuse(model.BadTable, again, `the column "Row#" is not of nsys: asys of Alibaba's PPU writes it`)
			continue
		}
		c.place = len(h.columns)
		h.index[c.name] = c.place
		h.columns = append(h.columns, c)
	}
	total := h.column("total time")
	// Tables of nvprof have two columns of that name.
	percent := slices.ContainsFunc(h.columns, func(c column) bool { return c.name == "time" && c.unit == "%" })
	timed := total != nil && total.unit != "" || percent
	switch {
	case h.has("start", "duration", "registers per thread", "static smem", "name"),
		percent && h.has("calls", "avg", "min", "max", "name") && !h.has("total time"):
		h.foreign = model.Refuse(model.OtherFormat, "record again with nsys: nsys profile -o REPORT WORKLOAD",
			"nvprof wrote the table, whose times and names are not those of nsys")
	case h.has("name", "projected start", "projected duration"):
		h.kind = projTrace
	case h.has("total time", "instances", "category", "operation"):
		h.kind = gpuSum
	case h.has("total time", "instances", "name") && timed && !h.hasAny("range", "style", "num calls", "event type", "source"):
		if h.kind = kernSum; h.has("gridxyz", "blockxyz") {
			h.kind = gbSum
		}
	case h.has("total time", "count", "operation") && timed:
		h.kind = memTime
	case h.has("total", "count", "operation", "avg"):
		h.kind = memSize
	case h.has("start", "duration", "name") && h.hasAny("corrid", "grdx", "reg/trd", "strm") && !h.hasAny("pid", "tid", "result"):
		h.kind = gpuTrace
	default:
		for _, o := range others {
			if h.has(o.columns...) && (!o.percent || percent) {
				h.other = o.name
				return h, true
			}
		}
		return h, false
	}
	return h, true
}

// others are reports that are not read, by columns that tell them.
var others = []struct {
	name    string
	percent bool // beside a percentage
	columns []string
}{
	{"cuda_kern_exec_trace", false, []string{"kernel start", "kernel dur", "kernel name"}},
	{"nvtx_kern_sum", false, []string{"kern inst", "kernel name"}},
	{"cuda_api_sum or osrt_sum", true, []string{"total time", "num calls"}},
	{"nvtx_gpu_proj_sum", false, []string{"total proj time"}},
	{"nvtx_sum", true, []string{"total time", "range"}},
	{"cuda_kern_exec_sum", false, []string{"qcount", "api name"}},
	{"nvtx_pushpop_trace", false, []string{"durchild"}},
	{"cuda_api_trace", false, []string{"start", "duration", "corrid", "pid"}},
	{"another report", true, []string{"total time", "count"}},
	{"another report", true, []string{"total time", "instances"}},
}

// check refuses tables of another tool, and columns that cannot be told apart.
func (t *table) check() error {
	if t.foreign != nil {
		return model.Refuse(t.foreign.Kind, t.foreign.Next, "%s: %s", t.place(), t.foreign.Reason)
	}
	for i, c := range t.columns {
		if c.name != "" && t.index[c.name] != i {
			return model.Refuse(model.BadTable, again, "%s: the column %s is there twice", t.place(), measure.Quote(c.title))
		}
	}
	return nil
}

// need refuses a table without a column that it cannot do without.
func (t *table) need(names ...string) error {
	for _, name := range names {
		if !t.has(name) {
			return model.Refuse(model.BadTable, again, "%s: %s has no column %s", t.place(), t.kind, measure.Quote(name))
		}
	}
	return nil
}

// units reads the units of columns of times (base "ns") or sizes (base "B"), as far as the columns are there. The means of
// 2020 and 2021 have none and are in that of the total; sizes without one are in bytes, as traces were until 2021.
func (t *table) units(base string, names ...string) error {
	kind := map[string]string{"ns": "time", "B": "size"}[base]
	for _, name := range names {
		c := t.column(name)
		if c == nil {
			continue
		}
		unit := c.unit
		if total := t.column("total time"); total != nil && unit == "" {
			unit = total.unit
		}
		if unit == "" && base == "B" {
			continue
		}
		factor, of, known := measure.BaseUnit(unit)
		switch {
		case unit == "":
			return model.Refuse(model.BadTable, again, "%s: the column %s does not say its unit of time", t.place(), measure.Quote(c.title))
		case !known || of != base:
			return model.Refuse(model.BadTable, again,
				"%s: the column %s is in a unit of %s that is not known", t.place(), measure.Quote(c.title), kind)
		}
		c.factor = factor
	}
	return nil
}
