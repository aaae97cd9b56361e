package bench

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"path"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/filter"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// row is an output of a filter: a number, why there is none, or a fact of the file. A null is as none.
type row map[string]any

// forms are the keys of an output, with a value of the form that theirs have, nil for any.
var forms = row{"row": "", "unit": "", "metric": "", "better": "", "suite": "", "of": "", "host": "", "gpu": "",
	"start": "", "tool": "", "left_out": "", "refuse": "", "next": "", "kind": "", "values": []any{},
	"load": map[string]any{}, "value": nil, "failed": nil, "skipped": nil, "once": nil}

func (x row) text(key string) string {
	text, _ := x[key].(string)
	return text
}

// is reports whether a key is given, and neither null nor false.
func (x row) is(key string) bool { return x[key] != nil && x[key] != false }

// valid reports whether a key of an output is known and its value has the form of such values.
func valid(key string, v any) bool {
	form, known := forms[key]
	if form == nil || v == nil {
		return known && (v != nil || key != "row")
	}
	return reflect.TypeOf(v) == reflect.TypeOf(form)
}

// keyNames are those of an output that the manual names, for messages.
const keyNames = "row, value, values, unit, metric, better, host, gpu, tool, start, load, failed, skipped, left_out"

// place is that of a number in a file: a metric, by its name, of a row.
type place struct{ row, metric, suite string }

// load is what a file holds of one load: the numbers of the repetitions in the process.
type load struct {
	series   []model.Series
	at       map[place]int // of a number in series
	settings model.Settings
}

// reading is the file of one process while its rows are checked.
type reading struct {
	file    string
	next    string // step after a refusal
	own     string // filter of the user, "" for a format of a harness
	in      model.Environment
	start   time.Time
	loads   []*load
	current *load
	loadOf  map[string]*load
	failed  model.Interned[string] // rows
	taken   map[string]bool        // keys of the file whose numbers are read
	left    model.Interned[model.LeftOut]
	numbers int
	twins   map[place]int      // the latest number of a place, nil where the numbers of one are repetitions
	units   map[[3]string]unit // by metric, unit and direction
	err     error              // why the file is refused: the first reason counts
}

// unit is the metric of a number, and the factor to its base unit.
type unit struct {
	metric measure.Metric
	factor float64
	err    string
}

// refuse notes why the file is refused.
func (r *reading) refuse(kind model.Kind, next, format string, args ...any) {
	r.err = cmp.Or(r.err, error(model.Refuse(kind, next, format, args...)))
}

// bad refuses a value; where is the row or another place in the file.
func (r *reading) bad(where, format string, args ...any) {
	r.refuse(model.BadValue, r.next, "%s: %s: %s", r.file, where, fmt.Sprintf(format, args...))
}

// clip is a text of at most this many bytes.
func clip(text string, most int) string { return strings.ToValidUTF8(text[:min(len(text), most)], "") }

// take checks an output of the filter and takes it.
func (r *reading) take(output any) {
	object, ok := output.(map[string]any)
	if !ok {
		r.bad("rows", "an output of the filter is %s, not an object such as {row: \"frame\", unit: \"ms\", value: 2.5}",
			short(output))
		return
	}
	for key, v := range object {
		if !valid(key, v) {
			r.bad("rows", "the filter gives %s as %s; its keys are %s, and texts but for numbers", short(v),
				measure.Quote(key), keyNames)
			return
		}
	}
	x := row(object)
	r.fact(x)
	name := x.text("row")
	_, named := x["row"]
	switch {
	case x.text("refuse") != "":
		r.refuse(model.Kind(cmp.Or(x.text("kind"), string(model.BadValue))), cmp.Or(x.text("next"), r.next), "%s",
			clip(x.text("refuse"), longest))
	case !named || !r.named(name) || !r.named(cmp.Or(x.text("suite"), name)):
	case x.is("skipped"):
		r.leave(name, model.Skipped)
	case x.text("left_out") != "":
		r.leave(name, x.text("left_out"))
	case x.is("failed"):
		text := clip(strings.Join(strings.Fields(x.text("failed")), " "), longestMetric)
		if _, isNew := r.failed.Of(name); isNew {
			r.leave(name, model.Failed+result.Given(text, ": ", text))
		}
	default:
		r.number(x)
	}
}

// fact takes what an output says of the process or its load.
func (r *reading) fact(x row) {
	if host := x.text("host"); host != "" {
		r.in.GPUHash = model.HashUUID("host " + host) // tells whether two runs are of one host
	}
	r.in.GPU = cmp.Or(r.in.GPU, x.text("gpu"))
	r.in.Tool = cmp.Or(x.text("tool"), r.in.Tool)
	if start := x.text("start"); start != "" {
		for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999", "20060102-150405"} {
			if t, err := time.Parse(layout, start); err == nil && t.Year() > 2000 && t.Year() < 2200 {
				r.start = t.UTC()
			}
		}
	}
	if of := x.text("of"); of != "" {
		r.taken[of] = true
	}
	if load, ok := x["load"].(map[string]any); ok {
		r.begin(load, x.text("row") == "")
	}
}

// begin makes a load the one of the rows that follow: a new one, or for a row the one with the same settings.
func (r *reading) begin(settings map[string]any, isNew bool) {
	const mostLoads = 1_000 // the number of loads of a file up to which it is read
	of := model.Settings{}
	for name, v := range settings {
		set(of, normal(name), v)
	}
	known := r.loadOf[of.String()]
	if known == nil || isNew {
		if len(r.loads) > mostLoads {
			r.refuse(model.TooLarge, "write fewer loads into a file", "%s holds more than %d loads", r.file, mostLoads)
		}
		known = &load{at: map[place]int{}, settings: of}
		r.loads = append(r.loads, known)
		r.loadOf[of.String()] = known
	}
	r.current = known
}

// set notes a setting of a load: of a model without the directory that it lies in.
func set(settings model.Settings, name string, v any) {
	if list, ok := v.([]any); ok && len(list) == 1 {
		v = list[0]
	}
	given, ok := v.(string)
	n, number := float(v)
	text := strings.Replace(strings.ToLower(given), "infinity", "inf", 1)
	switch parsed, err := strconv.ParseFloat(text, 64); {
	case v == nil:
		text = "none"
	case ok && strings.HasPrefix(name, "model"):
		text = path.Base(strings.TrimRight(filepath.ToSlash(given), "/"))
	case ok && err == nil && !math.IsInf(parsed, 0):
		text = strconv.FormatFloat(parsed, 'g', -1, 64)
	case number && model.Tallied(name):
		text = strconv.FormatFloat(n, 'g', 4, 64)
	case number:
		text = strconv.FormatFloat(n, 'g', -1, 64)
	}
	const longest = 64
	text = strings.Join(strings.FieldsFunc(text, func(c rune) bool { return c <= ' ' || c == '=' }), "_")
	if text != "" && len(text) <= longest && !strings.ContainsAny(name, " =\n\t") {
		settings[name] = text
	}
}

// named reports whether a name may be that of a row, and refuses the file otherwise.
func (r *reading) named(name string) bool {
	if name == "" || len(name) > longest {
		r.bad("rows", "the name of a benchmark has %d bytes, not 1 to %d", len(name), longest)
	}
	return r.err == nil
}

// number adds the numbers of a row, in base units. A number that is refused refuses the file.
func (r *reading) number(x row) {
	of := [3]string{x.text("metric"), x.text("unit"), x.text("better")}
	u, known := r.units[of]
	if !known {
		u = unitOf(of[0], of[1], of[2])
		r.units[of] = u
	}
	n := r.series(place{x.text("row"), u.metric.Name, x.text("suite")}, u.metric)
	bad := func(format string, args ...any) {
		r.bad(cmp.Or(x.text("of"), measure.Quote(n.Subject.Name)), format, args...)
	}
	switch {
	case u.err != "":
		bad("%s", u.err)
	case n.Metric.Unit != u.metric.Unit:
		bad("its numbers are in %s and in %s", measure.Quote(n.Metric.Unit), measure.Quote(u.metric.Unit))
	}
	all, _ := x["values"].([]any)
	if len(all) == 0 || x["value"] != nil {
		all = []any{x["value"]}
	}
	had := len(n.Values)
	for _, v := range all {
		given, ok := float(v)
		value := given * u.factor
		switch {
		case v == nil:
			bad("it has no value")
		case !ok:
			bad("%s is no number%s", short(v), hint(v, r.own))
		case math.IsNaN(value) || math.IsInf(value, 0) || value < 0:
			bad("%v is no measurement", given)
		case value == 0 && u.metric.Unit == measure.Duration.Unit:
			bad("a time of 0 is no measurement")
		case (x["once"] == true || r.own != "") && had > 0 && n.Values[0] != value:
			bad("the file has another value of it%s",
				result.Given(r.own, ": give repetitions as values, and other rows names of their own"))
		default:
			n.Values = append(n.Values, value)
		}
	}
}

// series is that of a number's place in the current load: a new one for a twin, whose row gets a number.
func (r *reading) series(k place, metric measure.Metric) *model.Series {
	l := r.current
	i, known := l.at[k]
	for of := k; known && r.twins != nil && l.series[i].Metric.Unit == metric.Unit; i, known = l.at[k] {
		r.twins[of]++
		k.row = fmt.Sprintf("%s#%d", of.row, r.twins[of]+1)
	}
	if !known {
		if r.numbers++; r.numbers > model.MostSubjects {
			r.refuse(model.TooLarge, "write fewer rows into a file", "%s holds more than %d numbers", r.file,
				model.MostSubjects)
		}
		i = len(l.series)
		l.at[k] = i
		l.series = append(l.series, model.Series{Subject: Row(k.row), Metric: metric, Role: k.suite})
	}
	return &l.series[i]
}

// hint says how a filter of the user makes a number of a text of one, "" for another value.
func hint(v any, own string) string {
	text, _ := v.(string)
	if n, err := strconv.ParseFloat(text, 64); err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		return ""
	}
	return " but a text" + result.Given(own, ": add | tonumber")
}

// float is a number of a filter.
func float(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case int:
		return float64(v), true
	case *big.Int:
		f, _ := new(big.Float).SetInt(v).Float64()
		return f, true
	}
	return 0, false
}

// short is a value of a filter for messages.
func short(v any) string {
	const most = 60
	if text, ok := v.(string); ok {
		return measure.Quote(clip(text, most))
	}
	return filter.Text(v, most)
}

// unitOf is what a row gives its numbers in: a metric by name, or that of the unit, in a direction of its own.
func unitOf(name, unit, direction string) (u unit) {
	own, ok := map[string]measure.Metric{"lower": measure.LessValue, "higher": measure.MoreValue,
		"none": measure.Value, "": {}}[direction]
	if !ok {
		u.err = "better is " + measure.Quote(direction) + ", not lower, higher or none"
		return u
	}
	u.metric, u.factor = inUnit(unit)
	if known, _ := measure.MetricByName(name); name != "" {
		switch {
		case !known.OfResults():
			u.err = measure.Quote(name) + " is no metric of benchmark files"
		case known.Name == measure.Value.Name:
			u.metric, _ = known.In(strings.TrimSpace(unit))
			u.factor = 1
		case unit == "":
			u.metric, u.factor = known, 1
		case u.metric.Unit != known.Unit && (known != measure.ItemRate || u.metric.Name != known.Name):
			u.err = "its unit " + measure.Quote(unit) + " is not one of " + known.Name
		case known != measure.ItemRate:
			u.metric = known
		}
	}
	if direction != "" && own.Better != u.metric.Better { // bounds of such a number are in the unit that the file gives
		u.metric, _ = own.In(strings.TrimSpace(unit))
		u.factor = 1
	}
	return u
}
