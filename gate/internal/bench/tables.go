package bench

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// table is a CSV file: its head, and its rows with their lines.
func (r *run) table(comma rune) (head []string, rows [][]string, err error) {
	in := csv.NewReader(bytes.NewReader(r.text))
	in.Comma = comma
	rows, err = in.ReadAll()
	var at *csv.ParseError
	switch {
	case errors.As(err, &at):
		return nil, nil, model.Refuse(model.BadTable, again, "%s:%d: %v", r.file, at.Line, at.Err)
	case err != nil:
		return nil, nil, err
	}
	return rows[0], rows[1:], nil
}

// readLlamaTable reads the CSV of llama-bench, which has the columns of its JSON.
func readLlamaTable(r *run) error {
	head, rows, err := r.table(',')
	if err != nil {
		return err
	}
	return r.addLlama(measure.Map(rows, func(cells []string) map[string]string {
		t := map[string]string{}
		for j, name := range head {
			t[name] = cells[j]
		}
		return t
	}))
}

// unitOf is the unit at the end of a column's name: "Triton (GB/s)", "Triton (Execution time (ms))".
var unitOf = input.Pattern(`^(.*?)\s*[(\[](?:[^()\[\]]*[(\[])?([^()\[\]]+)[)\]]+$`)

// whole matches the decimals of a size, which pandas writes as a float: 256.000000.
var whole = input.Pattern(`\.0+$`)

// isTritonBench tells the CSV of tritonbench by a column with one of its metrics; the first is the operator's sizes.
func isTritonBench(head []byte) bool {
	line, _, _ := bytes.Cut(head, []byte("\n"))
	return slices.ContainsFunc(strings.Split(strings.TrimSpace(string(line)), ";")[1:], hasUnit)
}

// isTriton tells the CSV that triton.testing.Benchmark saves: a first column of sizes, and columns whose names end in a
// unit, or, of an early Triton, are that of a provider alone.
func isTriton(head []byte) bool {
	line, _, _ := bytes.Cut(head, []byte("\n"))
	names := strings.Split(strings.TrimSpace(string(line)), ",")[1:]
	return !bytes.ContainsAny(line, "{;") && slices.ContainsFunc(names, func(n string) bool { // no program's text
		return hasUnit(n) || strings.HasPrefix(strings.ToLower(n), "triton")
	})
}

// hasUnit reports whether the name of a column ends in a unit that is known.
func hasUnit(title string) bool {
	return !isValue(ofColumn(title).metric)
}

// tritonMetrics are the metrics by whose names columns of tritonbench end, in its units.
var tritonMetrics = map[string]unit{
	"latency": {measure.GPUDuration, 1e6}, "walltime": {measure.Duration, 1e6}, "cuda_time": {measure.GPUDuration, 1e6},
	"tflops": {measure.GPUFlopRate, 1e12}, "gbps": {measure.GPUBandwidth, 1e9}, "tbps": {measure.GPUBandwidth, 1e12},
	"cpu_peak_mem": {measure.Memory, 1e9}, "gpu_peak_mem": {measure.Memory, 1e9},
}

// readTriton reads the CSV of triton.testing and tritonbench: a row for each size and column. Columns whose unit is not
// known are not judged; of a column of triton.testing without a unit nothing is known but its number.
func readTriton(r *run) error {
	comma := ','
	if r.Tool == "tritonbench" {
		comma = ';'
	}
	head, rows, err := r.table(comma)
	if err != nil {
		return err
	}
	for _, title := range head {
		if len(title) > longest {
			r.named("line 1", title)
			return r.err
		}
	}
	sizes := 1
	for sizes < len(head) && comma == ',' && unitOf().FindStringSubmatch(head[sizes]) == nil && !hasUnit(head[sizes]) {
		sizes++ // several axes stand before the first column with a unit
	}
	if comma == ',' && !slices.ContainsFunc(head[1:], hasUnit) {
		return model.Refuse(model.BadTable,
			`write units in brackets into line_names of the Benchmark: "Triton (GB/s)"; recent versions of Triton add ylabel`,
			"%s: line 1: no column has a unit", r.file)
	}
	columns := measure.Map(head[sizes:], ofColumn)
	seen := map[string]bool{}
	for i, cells := range rows {
		var parts []string
		for k := range sizes {
			parts = append(parts, " "+head[k]+"="+whole().ReplaceAllLiteralString(cells[k], ""))
		}
		at := strings.Join(parts, "")
		switch {
		case comma == ';' && (cells[0] == "average" || cells[0] == "hashes"):
			continue
		case seen[at]:
			return r.bad(fmt.Sprintf("line %d", i+2), "the sizes%s are those of another line", at)
		}
		seen[at] = true
		if r.addTriton(i+2, at, columns, cells[sizes:]); r.err != nil {
			return r.err
		}
	}
	return nil
}

// addTriton adds the columns of a line. A text among those of tritonbench is the error of a kernel, which stands in its
// first column, or a remark.
func (r *run) addTriton(line int, at string, columns []column, cells []string) {
	text, of := "", "" // the last remark, and its column
	for j, c := range columns {
		v, err := number(firstOf(cells[j]))
		switch {
		case cells[j] == "" && !isValue(c.metric) && strings.HasPrefix(of, c.name+"-"):
			r.failed, of = append(r.failed, c.name+at+" ("+text+")"), ""
		case cells[j] == "":
		case err != nil && isValue(c.metric):
			text, of = cells[j], c.title
		case err != nil && r.Tool == "tritonbench":
			r.failed = append(r.failed, c.name+at+" ("+cells[j]+")")
		default:
			where := fmt.Sprintf("line %d, column %s", line, measure.Quote(c.title))
			if err != nil {
				r.refuse(r.bad(where, "%v", err))
			}
			r.add(where, c.name+at, c.metric, v*c.factor)
		}
	}
}

// firstOf is the number of a cell "1.23 (±0.5%)".
func firstOf(cell string) string {
	number, _, _ := strings.Cut(strings.TrimSpace(cell), " ")
	return number
}

// onGPU are metrics by a time between events on the GPU, as do_bench takes it (triton.testing).
var onGPU = map[measure.Metric]measure.Metric{measure.Duration: measure.GPUDuration,
	measure.Bandwidth: measure.GPUBandwidth, measure.FlopRate: measure.GPUFlopRate}

// column is one of a table of Triton, with the unit of its numbers.
type column struct {
	title, name string
	unit
}

func ofColumn(title string) column {
	none := column{title, title, unit{measure.Value, 1}}
	if len(title) > longest {
		return none
	}
	if part := unitOf().FindStringSubmatch(title); part != nil {
		if m, factor := inUnit(part[2]); !isValue(m) {
			return column{title, part[1], unit{cmp.Or(onGPU[m], m), factor}}
		}
	}
	i := strings.LastIndexByte(title, '-')
	if i < 0 {
		return none
	}
	if x, ok := tritonMetrics[title[i+1:]]; ok {
		return column{title, title[:i], x}
	}
	// The unit behind the last dash: "Triton-GB/s". One letter may be a name: "Model-B".
	if m, factor := inUnit(title[i+1:]); !isValue(m) && len(title)-i > 2 {
		return column{title, title[:i], unit{cmp.Or(onGPU[m], m), factor}}
	}
	return none
}

// number is a number with a point, as programs write it.
func number(text string) (float64, error) {
	v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil {
		return 0, fmt.Errorf("%s is no number", measure.Quote(text))
	}
	return v, nil
}
