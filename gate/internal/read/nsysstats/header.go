package nsysstats

import (
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/input"
)

// header is the first line of a table. Its columns are named as today, in lower case and without units.
type header struct {
	kind    kind
	columns []string
	titles  map[string]string  // as printed
	units   map[string]string  // in lower case, "" for none
	factor  map[string]float64 // of the base unit, ns or bytes
}

func (h *header) has(name string) bool { return h.titles[name] != "" }

var titled = input.Pattern(`^(.*?)\s*\(([^()]*)\)$`)

// invisible removes characters that a title may hold unseen.
var invisible = strings.NewReplacer("\uFEFF", "", "\u200B", "", "\u200C", "", "\u200D", "")

// renamed holds the names of 2020 and 2021, and those that differ between tables.
var renamed = map[string]string{
	"average": "avg", "minimum": "min", "maximum": "max", "total time": "total", "instances": "count",
	"operations": "count",
	"operation":  "name",
}

// titleWords matches a part of every header that is read or known.
var titleWords = input.Pattern(`Total|Start|NVTX Range|Kern|Duration|Calls`)

// recognise reads a line as the header of a table of nsys; not ok for another line.
func recognise(line string) (*header, bool) {
	const longest = 4096
	if len(line) > longest || !titleWords().MatchString(line) {
		return nil, false
	}
	h := &header{titles: map[string]string{}, units: map[string]string{}, factor: map[string]float64{}}
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
		h.columns = append(h.columns, name)
		h.titles[name], h.units[name], h.factor[name] = title, unit, 1
	}
	has := func(names ...string) bool {
		return !slices.ContainsFunc(names, func(name string) bool { return !printed[name] })
	}
	hasAny := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return printed[name] })
	}
	timed := h.units["total"] != "" || h.units["time"] == "%"
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
		return h, len(h.columns) > 1 && (has("total time") && h.units["time"] == "%" || strings.Count(line, "(ns)") > 1)
	}
	return h, true
}
