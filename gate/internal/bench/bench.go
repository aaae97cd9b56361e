// Package bench reads the files in which benchmark harnesses write what they measured in one process: one
// [measure.Subject] of scope benchmark for each row, with one value for each metric.
//
// The unit of replication is the process. What a harness repeats inside one gives one value: the mean or median that
// the file states, else the median of the repetitions.
package bench

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate/internal/cells"
	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/stats"
)

const (
	// largest is the size of a file in bytes up to which it is read.
	largest = 64 << 20
	// longest is the length of a row's name in bytes up to which it is read.
	longest = 1 << 10
)

const again = "write the file again with the harness"

// format is the file of one harness.
type format struct {
	name string // of the harness, which stands for the profiler: results of two harnesses are not compared
	// is tells the format by the first bytes of a file.
	is func(head []byte) bool
	// read adds the rows of a file.
	read func(*run) error
	// account says which of its numbers are not rows; those of a format without one are rows.
	account account
}

// formats is every format, one row each; a file is of the first that its head shows.
var formats = []format{
	{"nvbench", has(`"nvbench"`, `"benchmarks"`), readNVBench, ofNVBench},
	{"nvbench", has(`"benchmarks"`, `"axis_values"`, `"summaries"`), refuse("write it with an nvbench of 2022 or newer",
		"a result of an nvbench that wrote no meta yet"), account{}},
	{"google-benchmark", has(`"benchmarks"`, `"context"`, `"num_cpus"`), readGoogle, ofGoogle},
	{"pytest-benchmark", has(`"machine_info"`, `"commit_info"`), readPytest, ofPytest},
	{"asv", has(`"commit_hash"`, `"params"`, `"machine"`), readASV, ofASVFile},
	{"criterion", has(`"confidence_interval"`, `"point_estimate"`, `"standard_error"`), readCriterion, ofCriterion},
	{"hyperfine", has(`"results"`, `"command"`, `"times"`), readHyperfine, ofHyperfine},
	{"llama-bench", has(`"model_filename"`, `"avg_ts"`), readLlama, ofLlama},
	{"llama-bench", begins("build_commit,"), readLlamaTable, ofLlama},
	{"genai-perf", isGenAI, readGenAI, ofGenAI},
	{"k6", isK6, readK6, ofK6},
	{"serving benchmark", isServing, readServing, ofLoad},
	{"vLLM latency", has(`"avg_latency"`, `"percentiles"`), readLatency, ofLatency},
	{plain, isPlain, readPlain, ofLoad},
	{"github-action-benchmark", isHistory, refuse("compare the files that it was made of, one of each process",
		"the history that github-action-benchmark keeps (data.js), not one measurement"), account{}},
	{"github-action-benchmark", isAction, readAction, account{known: names("value")}},
	{"bencher", isBencher, readBencher, account{known: names("(?:lower_|upper_)?value")}},
	{"nvbench", begins("Benchmark,Device,Device Name,"), refuse("let nvbench write JSON",
		"a CSV of nvbench, which has names without quotes"), account{}},
	{"tritonbench", isTritonBench, readTriton, account{}},
	{"triton.testing", isTriton, readTriton, account{}},
	{"JUnit", has("<testsuite", "<testcase"), readJUnit, ofJUnit},
}

// Sniff reports by the first bytes of a file whether it is of a harness.
func Sniff(head []byte) bool {
	head, _ = io.ReadAll(cells.UTF8(bytes.NewReader(head)))
	return formatOf(head) != nil
}

func formatOf(head []byte) *format {
	head = bytes.TrimLeft(head, " \t\r\n")
	i := slices.IndexFunc(formats, func(f format) bool { return f.is(head) })
	if i < 0 {
		return nil
	}
	return &formats[i]
}

// has is the test for a JSON or XML file whose head holds every word.
func has(words ...string) func([]byte) bool {
	return func(head []byte) bool {
		return len(head) > 0 && strings.ContainsRune("{[<", rune(head[0])) &&
			!slices.ContainsFunc(words, func(w string) bool { return !bytes.Contains(head, []byte(w)) })
	}
}

func begins(with string) func([]byte) bool {
	return func(head []byte) bool { return bytes.HasPrefix(head, []byte(with)) }
}

// refuse reads no file of a known form; what says what it is.
func refuse(next, what string) func(*run) error {
	return func(r *run) error { return model.Refuse(model.OtherFormat, next, "%s is "+what, r.file) }
}

// noNumber matches the texts of JSON, and the bare NaN and Infinity of Python, which are read as texts.
var noNumber = input.Pattern(`"(?:[^"\\]|\\.)*"|-?(?:NaN|Infinity)`)

// quoted makes texts of the bare NaN and Infinity in a JSON file.
func quoted(text []byte) []byte {
	if !bytes.Contains(text, []byte("NaN")) && !bytes.Contains(text, []byte("Infinity")) {
		return text
	}
	return noNumber().ReplaceAllFunc(text, func(part []byte) []byte {
		if part[0] == '"' {
			return part
		}
		return fmt.Appendf(nil, "%q", part)
	})
}

// Read reads a file of one process. name is its path, and stands for it in messages.
func Read(r io.Reader, name string) (*model.Session, error) {
	text, err := io.ReadAll(io.LimitReader(cells.UTF8(r), largest+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > largest:
		return nil, model.Refuse(model.TooLarge, "write fewer rows into a file", "%s is larger than %d MB", name, largest>>20)
	}
	text = bytes.TrimSpace(text)
	f := formatOf(text)
	if f == nil {
		if err := Unknown(text, name); err != nil {
			return nil, err
		}
		return nil, model.Refuse(model.OtherFormat, again, "%s is no file of a benchmark harness that nsgate knows", name)
	}
	in := &run{file: name, text: quoted(text), values: map[key][]float64{}, units: map[key]string{},
		taken: map[string]bool{}, settings: model.Settings{}}
	in.Tool = f.name
	err = f.read(in)
	if err = cmp.Or(in.err, err); err != nil {
		return nil, err
	}
	in.account(f.account)
	return in.session()
}

// Open reads the files of one process. Rows of loads with other settings have these in their names.
func Open(files ...string) (*model.Session, error) {
	var all []model.Session
	for _, name := range files {
		f, err := input.Open(name)
		if err != nil {
			return nil, err
		}
		s, err := Read(f, name)
		f.Close()
		if err != nil {
			return nil, err
		}
		if len(all) > 0 && s.Tool != all[0].Tool {
			return nil, model.Refuse(model.MixedProfilers, "judge the results of one harness at a time",
				"%s is of %s, %s of %s", files[0], all[0].Tool, name, s.Tool)
		}
		all = append(all, *s)
	}
	nameLoads(all)
	one := &all[0]
	for i := range all[1:] {
		if err := extend(one, &all[i+1]); err != nil {
			return nil, err
		}
	}
	nameSuites(one.Series)
	one.SortSeries()
	for i := 1; i < len(one.Series); i++ {
		if a, b := &one.Series[i-1], &one.Series[i]; a.Subject == b.Subject && a.Metric == b.Metric {
			return nil, model.Refuse(model.SeveralProcesses, "put the results of each process into a directory of its own",
				"%s: two files of one run hold %s", filepath.Dir(files[0]), measure.Quote(a.Subject.Name))
		}
	}
	return one, nil
}

// extend adds the rows of another file of the process.
func extend(all, by *model.Session) error {
	if setting, x, y := model.Unlike(all.Mode, by.Mode); setting != "" && !model.Tallied(setting) {
		return model.Refuse(model.RunsDiffer, "put the results of each load into a directory of its own",
			"files of one run differ in %s: %s and %s", setting, x, y)
	}
	all.Mode = model.JoinModes(all.Mode, by.Mode)
	all.LeaveOut(by.LeftOut...)
	all.Series = append(all.Series, by.Series...)
	if all.Start.IsZero() || !by.Start.IsZero() && by.Start.Before(all.Start) {
		all.Start, all.Runs[0].Start = by.Start, by.Start
	}
	return nil
}

// key is a number of a file: a metric of a row.
type key struct {
	row    string
	metric measure.Metric
	suite  string // around a test of JUnit
}

// run is the file of one process while it is read.
type run struct {
	file string
	text []byte
	model.Environment
	order  []key
	values map[key][]float64 // of the repetitions in the process
	units  map[key]string    // by row and name of the metric
	failed []string          // rows that the harness says have failed
	err    error             // why a number was refused

	taken    map[string]bool // keys of the file whose numbers are read
	left     model.Interned[model.LeftOut]
	settings model.Settings // of the load
	suite    string         // of the next number
}

// session is the run as a session of its own.
func (r *run) session() (*model.Session, error) {
	if len(r.failed) > 0 {
		return nil, model.Refuse(model.WorkloadFailed, "mend the benchmark, or leave it out with a filter",
			"%s: %s failed: %s", r.file, measure.Count(len(r.failed), "benchmark"),
			strings.Join(r.failed[:min(3, len(r.failed))], ", "))
	}
	if len(r.order) == 0 {
		return nil, model.Refuse(model.NoMeasurement,
			"run the harness without a filter, or with one that selects a benchmark",
			"%s holds no measurement of %s", r.file, r.Tool)
	}
	s := &model.Session{Environment: r.Environment, Runs: []model.Run{{Unprofiled: true, Steady: true, Start: r.Start}}}
	for _, k := range r.order {
		s.Series = append(s.Series, model.Series{Subject: Row(k.row), Metric: k.metric, Role: k.suite,
			Values: model.Values{stats.Median(r.values[k])}})
	}
	s.Mode, s.LeftOut = r.settings.String(), r.left.List
	nameSuites(s.Series)
	s.SortSeries()
	return s, nil
}

// Row is the subject of a row.
func Row(name string) measure.Subject {
	return measure.Subject{Scope: measure.ScopeBenchmark, Name: name}
}

// add adds a number in base units; where says where in the file it stands. A number that is refused refuses the file.
func (r *run) add(where, row string, m measure.Metric, value float64) {
	k, named := key{row, m, r.suite}, key{row, measure.Metric{Name: m.Name}, r.suite}
	first, known := r.units[named]
	switch {
	case !r.named(where, row):
	case math.IsNaN(value) || math.IsInf(value, 0) || value < 0:
		r.refuse(r.bad(where, "%v is no measurement", value))
	case value == 0 && m.Unit == measure.Duration.Unit:
		r.refuse(r.bad(where, "a time of 0 is no measurement"))
	case known && first != m.Unit:
		r.refuse(r.bad(where, "%s is in %s and in %s", measure.Quote(row), measure.Quote(first), measure.Quote(m.Unit)))
	case len(r.order) >= model.MostSubjects && r.values[k] == nil:
		r.refuse(model.Refuse(model.TooLarge, "write fewer rows into a file", "%s holds more than %d numbers", r.file,
			model.MostSubjects))
	default:
		r.units[named] = m.Unit
		if r.values[k] == nil {
			r.order = append(r.order, k)
		}
		r.values[k] = append(r.values[k], value)
	}
}

// named reports whether a name, or a part of several, may be that of a row, and refuses the file otherwise.
func (r *run) named(where, row string) bool {
	if row == "" || len(row) > longest {
		r.refuse(r.bad(where, "the name of a benchmark has %d bytes, not 1 to %d", len(row), longest))
	}
	return r.err == nil
}

// refuse notes why the file is refused: the first reason counts.
func (r *run) refuse(why error) { r.err = cmp.Or(r.err, why) }

// bad is the refusal of a value; where is a path in a JSON file, or a line and column.
func (r *run) bad(where, format string, args ...any) error {
	return model.Refuse(model.BadValue, again, "%s: %s: %s", r.file, where, fmt.Sprintf(format, args...))
}

// json decodes the file, or says in what line it does not have the form of the harness.
func (r *run) json(into any) error {
	err := json.Unmarshal(r.text, into)
	if err == nil {
		return nil
	}
	kind, at := model.Damaged, int64(len(r.text))
	var syntax *json.SyntaxError
	var other *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		at = syntax.Offset
	case errors.As(err, &other):
		kind, at = model.BadValue, other.Offset
		field := cmp.Or(strings.ToLower(other.Field), "a value")
		err = fmt.Errorf("%s is of type %s", field, other.Value)
		if other.Type.Kind() == reflect.Float64 {
			err = fmt.Errorf("%s is no number", field)
		}
	}
	line := 1 + bytes.Count(r.text[:min(at, int64(len(r.text)))], []byte("\n"))
	return model.Refuse(kind, again, "%s:%d: the JSON is not that of %s: %v", r.file, line, r.Tool, err)
}

// on names the host of a run, which tells whether two of them are of one host.
func (r *run) on(host string) {
	if host != "" {
		r.GPUHash = model.HashUUID("host " + host)
	}
}

// at sets the start of the run, where the text is a time of the layout.
func (r *run) at(layout, text string) {
	if t, err := time.Parse(layout, text); err == nil && t.Year() > 2000 && t.Year() < 2200 {
		r.Start = t.UTC()
	}
}

const second = 1e9 // ns
