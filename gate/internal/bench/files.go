package bench

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/stats"
)

// ofPytest accounts for the statistics of a test; what it stores as extra_info is left out.
var ofPytest = account{parts: names("machine_info|commit_info|options|params"), known: names("min|max|mean|" +
	"stddev|rounds|median|iqr|q1|q3|(?:iqr_|stddev_)?outliers|[lh]d15iqr|ops|total|data|iterations")}

// readPytest reads the JSON of pytest-benchmark (--benchmark-json): the median of each test, in seconds.
func readPytest(r *run) error {
	var f struct {
		Machine    struct{ Node string } `json:"machine_info"`
		Benchmarks []struct {
			Name, FullName string
			Stats          struct{ Median *float64 }
		}
		Datetime string
	}
	if err := r.json(&f); err != nil {
		return err
	}
	r.on(f.Machine.Node)
	r.at("2006-01-02T15:04:05.999999Z07:00", f.Datetime)
	for i, b := range f.Benchmarks {
		where, row := fmt.Sprintf("benchmarks[%d]", i), cmp.Or(b.FullName, b.Name)
		if b.Stats.Median == nil {
			return r.bad(where, "%s has no stats.median", measure.Quote(row))
		}
		r.add(where, row, measure.Duration, *b.Stats.Median*second)
	}
	return nil
}

// ofASVFile accounts for the columns of asv beside the result.
var ofASVFile = account{parts: names("durations|stats"), known: names("version|result|params|started_at|" +
	"duration|number|samples|stats(?:_.*)?|date|ram|num_cpu")}

// readASV reads a result file of airspeed velocity (asv, docs/source/dev.rst, versions 1 and 2): names of benchmarks
// tell what they measure (time_, timeraw_ seconds; mem_, peakmem_ bytes; track_ anything). The value null is of a
// benchmark that failed, NaN of one that was skipped.
func readASV(r *run) error {
	var f struct {
		Params  struct{ Machine string }
		Columns []string                   `json:"result_columns"`
		Results map[string]json.RawMessage `json:"results"`
	}
	if err := r.json(&f); err != nil {
		return err
	}
	r.on(f.Params.Machine)
	for _, name := range slices.Sorted(maps.Keys(f.Results)) {
		where := "results[" + measure.Quote(name) + "]"
		values, params, err := asvResult(f.Results[name], f.Columns)
		if err != nil {
			return r.bad(where, "it is no list of the columns with values and params")
		}
		if values == nil {
			r.failed = append(r.failed, name)
			continue
		}
		rows := combinations(params)
		r.taken[name] = true
		if len(values) == 1 && rows != 1 && string(values[0]) == "null" {
			r.failed = append(r.failed, name) // for all parameters
			continue
		}
		if len(values) != rows {
			return r.bad(where, "%d values for %d combinations of parameters", len(values), rows)
		}
		m, factor := ofASV(name)
		for i, text := range values {
			row := name + combination(params, i)
			if !r.named(where, row) {
				return r.err
			}
			if string(text) == `"NaN"` {
				r.leave(row, model.Skipped)
				continue
			}
			var v *float64
			if json.Unmarshal(text, &v) != nil {
				return r.bad(where, "%s is no number", measure.Quote(strings.Trim(string(text), `"`)))
			}
			if v == nil {
				r.failed = append(r.failed, row)
				continue
			}
			r.add(where, row, m, *v*factor)
		}
	}
	return nil
}

// asvResult reads a result: the cells of the columns (version 2), or an object or a single value (version 1). values
// has one for each combination of the parameters, and is nil where all failed.
func asvResult(text json.RawMessage, columns []string) (values []json.RawMessage, params [][]string, err error) {
	if columns != nil {
		var row []json.RawMessage
		if err := json.Unmarshal(text, &row); err != nil {
			return nil, nil, err
		}
		fields := map[string]json.RawMessage{}
		for i := range min(len(row), len(columns)) {
			if name := columns[i]; name == "result" || name == "params" {
				fields[name] = row[i]
			}
		}
		if text, err = json.Marshal(fields); err != nil {
			return nil, nil, err
		}
	}
	result := text
	if text[0] == '{' {
		var f struct {
			Result json.RawMessage
			Params [][]string
		}
		if err := json.Unmarshal(text, &f); err != nil {
			return nil, nil, err
		}
		result, params = f.Result, f.Params
	}
	switch {
	case len(result) == 0 || string(result) == "null":
	case result[0] == '[':
		err = json.Unmarshal(result, &values)
	default:
		values = []json.RawMessage{result}
	}
	return values, params, err
}

// ofASV is what a benchmark of asv measures, by the prefix of its function's name.
func ofASV(name string) (measure.Metric, float64) {
	name = name[strings.LastIndexByte(name, '.')+1:]
	kind, _, _ := strings.Cut(strings.ToLower(name), "_")
	switch kind {
	case "time", "timeraw":
		return measure.Duration, second
	case "mem", "peakmem":
		return measure.Memory, 1
	}
	return measure.Value, 1
}

// combinations is the number of combinations of parameters, of none 1.
func combinations(params [][]string) int {
	n := 1
	for _, p := range params {
		n = min(n*len(p), math.MaxInt32) // more than a file has values
	}
	return n
}

// combination is one of them in asv's order, the last parameter fastest: "(8, float32)"; of none "".
func combination(params [][]string, i int) string {
	if len(params) == 0 {
		return ""
	}
	values := make([]string, len(params))
	for k, p := range slices.Backward(params) {
		values[k] = p[i%len(p)]
		i /= len(p)
	}
	return "(" + strings.Join(values, ", ") + ")"
}

// ofCriterion accounts for the estimates of Criterion, of which the median is read.
var ofCriterion = account{parts: names("(?i)mean|median|median_?abs_?dev|slope|std_?dev"), known: names("")}

// readCriterion reads estimates.json of Criterion.rs: the median in ns. The name is that of its directory:
// target/criterion/GROUP/NAME/new/estimates.json.
func readCriterion(r *run) error {
	type estimate struct {
		Point *float64 `json:"point_estimate"`
	}
	var f struct {
		Median *estimate
		Std    *estimate `json:"std_dev"`
		Old    *estimate `json:"StdDev"` // of an early Criterion
	}
	if err := r.json(&f); err != nil {
		return err
	}
	if f.Std == nil && f.Old == nil {
		return model.Refuse(model.OtherFormat, "read estimates.json in the directory new beside it",
			"%s holds the change between two runs of Criterion, not a time", r.file)
	}
	dir := strings.Split(filepath.ToSlash(filepath.Dir(r.file)), "/")
	if n := len(dir); n > 1 && slices.Contains([]string{"new", "base", "change"}, dir[n-1]) {
		dir = dir[:n-1]
	}
	if i := slices.Index(dir, "criterion"); i >= 0 && i+1 < len(dir) {
		dir = dir[i+1:]
	} else {
		dir = dir[len(dir)-1:]
	}
	if f.Median == nil || f.Median.Point == nil {
		return r.bad("median", "there is no point_estimate")
	}
	r.add("median.point_estimate", strings.Join(dir, "/"), measure.Duration, *f.Median.Point)
	return nil
}

// ofHyperfine accounts for the statistics of a command.
var ofHyperfine = account{parts: names("parameters"),
	known: names("mean|stddev|median|user|system|min|max|times|exit_codes")}

// readHyperfine reads the JSON of hyperfine (--export-json): the median of each command, in seconds.
func readHyperfine(r *run) error {
	var f struct {
		Results []struct {
			Command    string
			Median     *float64
			Times      []float64
			Codes      []*int         `json:"exit_codes"`
			Parameters map[string]any `json:"parameters"`
		}
	}
	if err := r.json(&f); err != nil {
		return err
	}
	count := map[string]int{}
	for _, b := range f.Results {
		count[b.Command]++
	}
	for i, b := range f.Results {
		where, row := fmt.Sprintf("results[%d]", i), b.Command
		if count[row] > 1 { // one --command-name for all values of a parameter
			parts := []string{row}
			for _, p := range slices.Sorted(maps.Keys(b.Parameters)) {
				parts = append(parts, fmt.Sprintf("%s=%v", p, b.Parameters[p]))
			}
			row = strings.Join(parts, " ")
		}
		if slices.ContainsFunc(b.Codes, func(c *int) bool { return c == nil || *c != 0 }) {
			r.failed = append(r.failed, row)
			continue
		}
		if b.Median == nil && len(b.Times) == 0 {
			return r.bad(where, "there is no median")
		}
		value := stats.Median(b.Times)
		if b.Median != nil {
			value = *b.Median
		}
		r.add(where, row, measure.Duration, value*second)
	}
	return nil
}

// free matches names of memory whose growth may be a gain.
var free = input.Pattern(`(?i)free|avail|saved|unused`)

// history begins the data.js of github-action-benchmark, or its JSON in a cache (external-data-json-path).
var history = input.Pattern(`^(?:window\.BENCHMARK_DATA\s*=\s*)?\{\s*"lastUpdate"\s*:`)

func isHistory(head []byte) bool { return history().Match(head) }

func isAction(head []byte) bool {
	return bytes.HasPrefix(head, []byte("[")) && has(`"name"`, `"unit"`, `"value"`)(head)
}

// readAction reads the arrays of github-action-benchmark (customSmallerIsBetter, customBiggerIsBetter), whose values
// are numbers or texts of numbers. The file does not say which of the two it is: the unit tells the direction, or
// nothing does.
func readAction(r *run) error {
	var f []struct {
		Name, Unit string
		Value      any
	}
	if err := r.json(&f); err != nil {
		return err
	}
	for i, b := range f {
		where := fmt.Sprintf("[%d]", i)
		if b.Value == nil {
			return r.bad(where, "%s has no value", measure.Quote(b.Name))
		}
		v, err := number(fmt.Sprint(b.Value))
		if err != nil {
			return r.bad(where, "the value of %s: %v", measure.Quote(b.Name), err)
		}
		m, factor := inUnit(b.Unit)
		if m == measure.Memory && free().MatchString(b.Name) {
			m = measure.Value
		}
		r.add(where, b.Name, m, v*factor)
	}
	return nil
}

// bencherHead begins Bencher's metric format, in which nothing is fixed but that a benchmark has measures and each a
// value.
var bencherHead = input.Pattern(`^\{\s*"[^"]*"\s*:\s*\{\s*"[^"]*"\s*:\s*\{\s*"(lower_|upper_)?value"\s*:`)

func isBencher(head []byte) bool { return bencherHead().Match(head) }

// bencherMeasures are the measures that Bencher defines, in its units: ns, operations/s, seconds and bytes.
var bencherMeasures = map[string]unit{
	"latency": {measure.Duration, 1}, "throughput": {measure.ItemRate, 1}, "build-time": {measure.Duration, second},
	"file-size": {measure.Memory, 1},
}

// readBencher reads Bencher's metric format: {"benchmark": {"latency": {"value": 88.0}}}. A measure that Bencher does
// not define is a row of its own that is not judged.
func readBencher(r *run) error {
	var f map[string]map[string]struct{ Value *float64 }
	if err := r.json(&f); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(f)) {
		for _, of := range slices.Sorted(maps.Keys(f[name])) {
			where, v := measure.Quote(name)+"."+of, f[name][of].Value
			if v == nil {
				return r.bad(where, "there is no value")
			}
			m, known := bencherMeasures[of]
			row := name
			if !known {
				m.metric, m.factor, row = measure.Value, 1, name+" "+of
			}
			r.add(where, row, m.metric, *v*m.factor)
		}
	}
	return nil
}
