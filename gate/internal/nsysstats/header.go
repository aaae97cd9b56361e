package nsysstats

import (
	"regexp"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/measure"
)

// header is the first line of a table.
type header struct {
	kind    kind
	columns []string           // by their names of today, in lower case and without units
	titles  map[string]string  // as printed
	units   map[string]string  // in lower case
	factor  map[string]float64 // of the base unit, ns or bytes
	// foreign is the refusal of a table of another tool: nvprof, or asys, which copies nsys for another maker's accelerators.
	foreign *model.Refusal
}

var titled = regexp.MustCompile(`^(.*?)\s*\(([^()]*)\)$`)

// invisible lists characters that a title may hold unseen.
var invisible = strings.NewReplacer("\uFEFF", "", "\u200B", "", "\u200C", "", "\u200D", "")

// renamed holds the names of 2020 and 2021, and those that differ between tables.
var renamed = map[string]string{
	"average": "avg", "minimum": "min", "maximum": "max", "total time": "total", "instances": "count", "operations": "count",
	"operation": "name",
}

func (h *header) has(names ...string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return h.titles[name] == "" })
}

// marks matches a part of every header that is read or known.
var marks = regexp.MustCompile(`Total|Start|NVTX Range|Kern|Duration|Calls`)

// recognise says which table begins with a line; not ok where none does.
func recognise(line string) (*header, bool) {
	const longest = 4096
	if len(line) > longest || !marks.MatchString(line) {
		return nil, false
	}
	h := &header{titles: map[string]string{}, units: map[string]string{}, factor: map[string]float64{}}
	printed := map[string]bool{}
	for title := range strings.SplitSeq(line, ",") {
		title = strings.TrimSpace(invisible.Replace(strings.Trim(strings.TrimSpace(title), `"`)))
		name, unit := title, ""
		if m := titled.FindStringSubmatch(title); m != nil {
			name, unit = m[1], strings.ToLower(strings.TrimSpace(m[2]))
		}
		name = strings.ToLower(strings.Join(strings.Fields(name), " "))
		printed[name] = true
		if unit == "%" {
			printed["%"] = true
		}
		if now, ok := renamed[name]; ok {
			name = now
		}
		if h.titles[name] != "" {
			h.foreign = model.Refuse(model.BadTable, again, "the column %s is there twice", measure.Quote(title))
		}
		h.columns = append(h.columns, name)
		h.titles[name], h.units[name], h.factor[name] = title, unit, 1
	}
	has := func(names ...string) bool {
		return !slices.ContainsFunc(names, func(name string) bool { return !printed[name] })
	}
	hasAny := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return printed[name] })
	}
	timed := h.units["total"] != "" || printed["%"]
	if has("row#") {
		h.foreign = model.Refuse(model.BadTable, again, `the column "Row#" is not of nsys: asys of Alibaba's PPU writes it`)
	}
	switch {
	case has("start", "duration", "registers per thread", "static smem", "name"),
		has("%", "time", "calls", "avg", "min", "max", "name") && !has("total time"):
		h.foreign = model.Refuse(model.OtherFormat, "record again with nsys: nsys profile -o REPORT WORKLOAD",
			"nvprof wrote the table, whose times and names are not those of nsys")
	case has("total time", "instances", "name") && timed && !hasAny("range", "style", "num calls", "event type", "source", "gridxyz", "category"):
		h.kind = kernSum
	case hasAny("count", "operations") && has("total time", "operation") && timed:
		h.kind = memTime
	case hasAny("count", "operations") && has("total", "operation") && hasAny("avg", "average"):
		h.kind = memSize
	case has("start", "duration", "name") && hasAny("corrid", "grdx", "reg/trd", "strm") && !hasAny("pid", "tid", "result"):
		h.kind = gpuTrace
	default:
		known := has("%", "total time") || hasAny("kernel start", "kern inst", "total proj time", "projected start", "qcount", "durchild") ||
			has("start", "duration", "corrid", "pid") || has("total time", "instances", "category")
		return h, known
	}
	return h, true
}

// check refuses a table of another tool, and one without a column or with a unit that is not known. Sizes without a unit are in bytes,
// but in KiB in the summaries until 2021, whose means are in the unit of their total.
func (t *table) check() error {
	if t.foreign != nil {
		return model.Refuse(t.foreign.Kind, t.foreign.Next, "%s: %s", t.place(), t.foreign.Reason)
	}
	needed := map[kind][]string{gpuTrace: {"start", "duration", "name"}, kernSum: {"total", "count", "name"}, memTime: {"total", "count", "name"},
		memSize: {"total", "count", "name"}}[t.kind]
	if t.kind == gpuTrace && t.has("grdx") {
		needed = append(needed, "grdy", "grdz", "blkx", "blky", "blkz")
	}
	for _, name := range needed {
		if !t.has(name) {
			return model.Refuse(model.BadTable, again, "%s: %s has no column %s", t.place(), t.kind, measure.Quote(name))
		}
	}
	times, sizes := []string{"total", "avg", "min", "max"}, []string(nil)
	switch t.kind {
	case gpuTrace:
		times, sizes = []string{"start", "duration"}, []string{"stcsmem", "dymsmem", "bytes"}
	case memSize:
		times, sizes = nil, []string{"total"}
		if t.units["total"] == "" {
			t.units["total"] = "kib"
		}
	}
	for i, name := range slices.Concat(times, sizes) {
		unit, what, want := t.units[name], "time", "ns"
		if i >= len(times) {
			what, want = "size", "B"
		}
		if unit == "" && t.kind != gpuTrace {
			unit = t.units["total"]
		}
		if !t.has(name) || unit == "" && want == "B" {
			continue
		}
		factor, base, known := measure.BaseUnit(unit)
		switch {
		case unit == "":
			return model.Refuse(model.BadTable, again, "%s: the column %s does not say its unit of time", t.place(), measure.Quote(t.titles[name]))
		case !known || base != want:
			return model.Refuse(model.BadTable, again,
				"%s: the column %s is in a unit of %s that is not known", t.place(), measure.Quote(t.titles[name]), what)
		case t.kind == kernSum && factor != t.factor["total"] && i > 0:
			return model.Refuse(model.BadTable, again, "%s: the columns are in different units of time", t.place())
		}
		t.factor[name] = factor
	}
	return nil
}
