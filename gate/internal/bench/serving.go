package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// isServing tells a result of `vllm bench serve` or sglang.bench_serving: one flat object, sglang's one a line.
func isServing(head []byte) bool {
	return has(`"request_throughput"`)(head) || has(`"mean_ttft_ms"`)(head) || has(`"median_ttft_ms"`)(head)
}

// servingMetric is one quantity of a load generator with its spellings.
type servingMetric struct {
	metric measure.Metric
	names  []string
}

// servingMetrics are the numbers of load generators by their names without statistic and unit; the first name is that
// of the row. Failures have [measure.Value], settings and totals no metric.
var servingMetrics = []servingMetric{
	{measure.Duration, []string{"ttft", "time_to_first_token"}},
	{measure.Duration, []string{"tpot", "time_per_output_token"}},
	{measure.Duration, []string{"itl", "inter_token_latency"}},
	{measure.Duration, []string{"e2el", "end_to_end_latency"}},
	{measure.Duration, []string{"e2e_latency"}},
	{measure.Duration, []string{"latency"}},
	{measure.Duration, []string{"request_latency", "response_time"}},
	{measure.ItemRate, []string{"request_throughput", "requests/s", "request/s", "reqs/s", "req/s"}},
	{measure.ItemRate, []string{"request_goodput", "goodput"}},
	{measure.ItemRate, []string{"input_throughput", "input_token_throughput", "input_tokens/s", "prompt_tokens/s"}},
	{measure.ItemRate, []string{"output_throughput", "output_token_throughput", "output_tokens/s",
		"generated_tokens/s", "completion_tokens/s"}},
	{measure.ItemRate, []string{"output_token_throughput_per_user"}},
	{measure.ItemRate, []string{"total_token_throughput", "total_tokens/s"}},
	{measure.ItemRate, []string{"total_throughput"}},
	{measure.ItemRate, []string{"token_throughput", "tokens/s", "token/s", "toks/s", "tok/s"}},
	{measure.ItemRate, []string{"iterations/s"}},
	{measure.Value, []string{"failed", "failures", "errors", "failed_requests", "num_failed", "failure_count",
		"failure_rate", "error_count", "error_rate", "error_request_count"}},
	{measure.Metric{}, []string{"completed", "completed_requests", "successful_requests", "request_count",
		"num_requests", "total_requests", "num_prompts", "concurrency", "max_concurrency", "request_rate", "duration",
		"input_tokens", "output_tokens", "total_input", "total_output", "total_input_tokens", "total_output_tokens",
		"input_len", "output_len", "seed"}},
}

// servingName matches a name in its parts: a statistic before or behind, and a unit of time.
var servingName = input.Pattern(`^(?:(` + statistics + `)_)?(.+?)(?:_(` + statistics + `))?` +
	`(?:_(ns|us|usec|microseconds|ms|msec|milliseconds|s|sec|seconds))?(?:_(` + statistics + `))?$`)

const statistics = `mean|avg|average|median|med|std|stddev|min|max|p\d{1,2}(?:_\d{1,4})?`

// perSecond matches the unit of a rate in a name.
var perSecond = input.Pattern(`(?:/|_per_)s(?:ec|econd)?(_|$)`)

var spelling = strings.NewReplacer(" ", "_", "-", "_", ".", "_", "(", "", ")", "")

// ofServing is the meaning of a name that a load generator or a person writes: p99_ttft_ms, ttft_p99_ms, tokens/s. row
// is "" for a number that is not judged: settings, deviations and extremes. A latency without a unit is not known.
func ofServing(name string) (m measure.Metric, factor float64, row string, known bool) {
	name = perSecond().ReplaceAllString(spelling.Replace(strings.ToLower(name)), "/s$1")
	part := servingName().FindStringSubmatch(name)
	if part == nil {
		return m, 0, "", false
	}
	i := slices.IndexFunc(servingMetrics, func(s servingMetric) bool { return slices.Contains(s.names, part[2]) })
	statistic, unit := part[1]+part[3]+part[5], part[4]
	if i < 0 || len(statistic) > max(len(part[1]), len(part[3]), len(part[5])) {
		return m, 0, "", false
	}
	m, row = servingMetrics[i].metric, strings.ReplaceAll(servingMetrics[i].names[0], "_", " ")
	switch {
	case m == measure.Duration && unit == "", m != measure.Duration && m.Name != "" && unit != "",
		m == measure.Value && statistic != "":
		return m, 0, "", false
	case m.Name == "", strings.HasPrefix(statistic, "std"), statistic == "min", statistic == "max":
		return measure.Metric{}, 0, "", true
	case m == measure.Duration && len(row) <= 4:
		row = strings.ToUpper(row)
	}
	switch statistic = strings.ReplaceAll(statistic, "_", "."); statistic {
	case "avg", "average":
		statistic = "mean"
	case "med":
		statistic = "median"
	}
	if statistic != "" && (statistic != "mean" || m == measure.Duration) {
		row = statistic + " " + row
	}
	factor = 1
	if unit != "" {
		factor = nanoseconds(unit)
	}
	return m, factor, row, true
}

// addServing adds the number of a name in [servingMetrics], and refuses a load with failed requests.
func (r *run) addServing(where, name string, v float64) error {
	m, factor, row, _ := ofServing(name)
	switch old := r.values[key{row, m}]; {
	case row == "", m == measure.Value && v == 0:
		return nil
	case m == measure.Value:
		return model.Refuse(model.WorkloadFailed, "find out why they failed; the log of the server tells",
			"%s: requests failed: %s is %v", r.file, where, v)
	case old != nil && old[0] != v*factor:
		return r.bad(where, "the file has another value of %s", row)
	}
	return r.add(where, row, m, v*factor)
}

// readServing reads the flat JSON object of a load generator: latencies of a statistic over the requests, and rates. A
// load with failed requests is no measurement of the server that was asked for.
func readServing(r *run) error {
	f, err := r.load()
	if err != nil {
		return err
	}
	names := slices.Sorted(maps.Keys(f))
	for _, name := range names {
		v, ok := jsonNumber(f[name])
		if m, _, _, _ := ofServing(name); ok && m == measure.Value {
			if err := r.addServing(name, name, v); err != nil {
				return err
			}
		}
	}
	if done, ok := jsonNumber(f["completed"]); ok && done == 0 {
		return model.Refuse(model.WorkloadFailed, "find out why the server answered none; its log tells",
			"%s: no request was completed", r.file)
	}
	var date string
	if json.Unmarshal(f["date"], &date) == nil {
		r.at("20060102-150405", date)
	}
	for _, name := range names {
		m, _, row, _ := ofServing(name)
		if row == "" || m == measure.Value || string(f[name]) == "null" {
			continue
		}
		v, ok := jsonNumber(f[name])
		if !ok {
			return r.bad(name, "%s is no number", measure.Quote(strings.Trim(string(f[name]), `"`)))
		}
		if v == 0 && m == measure.Duration && r.Tool != plain {
			continue // of answers of one token: a latency between tokens that no request has
		}
		if err := r.addServing(name, name, v); err != nil {
			return err
		}
	}
	return nil
}

// jsonNumber is a number of a JSON file, not ok for a null and anything else.
func jsonNumber(text json.RawMessage) (float64, bool) {
	var v *float64
	if json.Unmarshal(text, &v) != nil || v == nil {
		return 0, false
	}
	return *v, true
}

// plain is the harness of a file that a program writes itself: a flat JSON object of serving metrics.
const plain = "serving metrics"

// isPlain tells a small flat object with a number that [servingMetrics] judges.
func isPlain(head []byte) bool {
	var f map[string]any
	if len(head) > 64<<10 || !has()(head) || json.Unmarshal(quoted(head), &f) != nil {
		return false
	}
	judged := false
	for name, v := range f {
		switch v.(type) {
		case map[string]any, []any:
			return false
		case float64:
			m, _, row, _ := ofServing(name)
			judged = judged || row != "" && m != measure.Value
		}
	}
	return judged
}

// readPlain reads a flat object of serving metrics. Texts are context. A number of an unknown name is refused, because
// its direction is not known.
func readPlain(r *run) error {
	f, err := r.load()
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(f)) {
		_, _, _, known := ofServing(name)
		if _, ok := jsonNumber(f[name]); !ok || known {
			continue
		}
		var names []string
		for _, s := range servingMetrics {
			names = append(names, s.names...)
		}
		return model.Refuse(model.BadValue, "rename it, or write its value as a text. Latencies need a unit (p99_ttft_ms); "+
			"known are "+strings.Join(names, ", "), "%s: %s is no serving metric that nsgate knows", r.file, measure.Quote(name))
	}
	return readServing(r)
}

// load decodes the object of the one load in the file.
func (r *run) load() (f map[string]json.RawMessage, err error) {
	var next json.RawMessage
	d := json.NewDecoder(bytes.NewReader(r.text))
	if r.text[0] != '[' {
		if err = d.Decode(&f); err == nil {
			err = d.Decode(&next)
		}
	}
	switch {
	case err == io.EOF && f != nil:
		return f, nil
	case err != nil:
		return nil, r.json(&f)
	}
	return nil, model.Refuse(model.SeveralProcesses, "write each load into a file of its own",
		"%s holds several loads", r.file)
}

// readLlama reads the JSON of llama-bench, a list or one object a line: tokens per second of each test.
func readLlama(r *run) error {
	var tests []map[string]any
	if r.text[0] == '[' {
		if err := r.json(&tests); err != nil {
			return err
		}
	} else {
		d := json.NewDecoder(bytes.NewReader(r.text))
		for {
			var t map[string]any
			err := d.Decode(&t)
			if err == io.EOF {
				break
			}
			if err != nil {
				return r.json(&t)
			}
			tests = append(tests, t)
		}
	}
	var texts []map[string]string
	for _, t := range tests {
		text := map[string]string{}
		for k, v := range t {
			text[k] = fmt.Sprint(v)
		}
		texts = append(texts, text)
	}
	return r.addLlama("test %d", texts)
}

// llamaSettings are settings of a test and their defaults in versions of llama-bench; other values stand in the name of
// the row.
var llamaSettings = []struct{ key, usual string }{
	{"n_depth", "0"}, {"n_batch", "2048"}, {"n_ubatch", "512"}, {"type_k", "f16"}, {"type_v", "f16"},
	{"n_gpu_layers", "99 -1"}, {"split_mode", "layer"}, {"flash_attn", "false 0 -1"},
}

// addLlama adds the tests of llama-bench, whose values are given as texts; where formats the place of a test. Tests
// with the same name have the settings in it that differ between them.
func (r *run) addLlama(where string, tests []map[string]string) error {
	same := map[string][]map[string]string{}
	for _, t := range tests {
		same[llamaName(t)] = append(same[llamaName(t)], t)
	}
	for i, t := range tests {
		where, row := fmt.Sprintf(where, i+1), llamaName(t)
		for _, key := range slices.Sorted(maps.Keys(t)) {
			if !measured().MatchString(key) && slices.ContainsFunc(same[llamaName(t)], func(other map[string]string) bool {
				return other[key] != t[key]
			}) {
				row += " " + key + "=" + t[key]
			}
		}
		if r.GPU == "" {
			r.GPU, _, _ = strings.Cut(t["gpu_info"], ", ")
		}
		r.at("2006-01-02T15:04:05Z", t["test_time"])
		v, err := number(t["avg_ts"])
		if err != nil {
			return r.bad(where, "avg_ts: %v", err)
		}
		if err := r.add(where, row, measure.ItemRate, v); err != nil {
			return err
		}
	}
	return nil
}

// measured matches the keys of a test of llama-bench that are no settings.
var measured = input.Pattern(`^(avg|stddev|samples)_|^test_time$`)

// llamaName is the name of a test: its model, its tokens, and the settings that are not usual.
func llamaName(t map[string]string) string {
	var what []string
	for _, x := range []struct{ key, as string }{{"n_prompt", "pp"}, {"n_gen", "tg"}} {
		if n := t[x.key]; n != "0" && n != "" {
			what = append(what, x.as+n)
		}
	}
	row := strings.TrimSpace(t["model_type"] + " " + strings.Join(what, "+"))
	for _, s := range llamaSettings {
		if v := t[s.key]; v != "" && !slices.Contains(strings.Fields(s.usual), v) {
			row += " " + s.key + "=" + v
		}
	}
	return row
}
