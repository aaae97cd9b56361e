package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strconv"
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
		"input_len", "output_len", "seed", "elapsed_time", "total_num_tokens"}},
}

// servingName matches a name in its parts: a statistic before or behind, and a unit of time.
var servingName = input.Pattern(`^(?:(` + statistics + `)_)?(.+?)(?:_(` + statistics + `))?` +
	`(?:_(ns|us|usec|microseconds|ms|msec|milliseconds|s|sec|seconds))?(?:_(` + statistics + `))?$`)

const statistics = `mean|avg|average|median|med|std|stddev|min|max|p\d{1,2}(?:_\d{1,4})?`

// perSecond matches the unit of a rate in a name.
var perSecond = input.Pattern(`(?:/|_per_)s(?:ec|econd)?(_|$)`)

var spelling = strings.NewReplacer(" ", "_", "-", "_", ".", "_", "(", "", ")", "")

func normal(name string) string { return spelling.Replace(strings.ToLower(name)) }

// withoutUnit reports whether a name is that of a latency without its unit.
func withoutUnit(name string) bool {
	m, _, row, _ := ofServing(name + "_ms")
	return row != "" && m == measure.Duration
}

// ofServing is the meaning of a name that a load generator or a person writes: p99_ttft_ms, ttft_p99_ms, tokens/s. row
// is "" for a number that is not judged: settings, deviations and extremes. A latency without a unit is not known.
func ofServing(name string) (m measure.Metric, factor float64, row string, known bool) {
	name = perSecond().ReplaceAllString(normal(name), "/s$1")
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
		factor = durations[unit]
	}
	return m, factor, row, true
}

// addServing adds the number of a name in [servingMetrics].
func (r *run) addServing(where, name string, v float64) error {
	m, factor, row, _ := ofServing(name)
	switch old := r.values[key{row: row, metric: m}]; {
	case row == "", m == measure.Value && v == 0:
		return nil
	case m == measure.Value:
		return r.failure(where, v)
	case old != nil && old[0] != v*factor:
		return r.bad(where, "the file has another value of %s", row)
	}
	return r.add(where, row, m, v*factor)
}

// failure is the refusal of a load with failed requests, which is no measurement of the server that was asked for.
func (r *run) failure(where string, v any) error {
	return model.Refuse(model.WorkloadFailed, "find out why they failed; the log of the server tells",
		"%s: requests failed: %s is %v", r.file, where, v)
}

// failures counts the failed requests in a value: a number or its text, a list or object of them or of messages.
func failures(v any) (n float64) {
	switch v := v.(type) {
	case float64:
		return v
	case bool:
		return map[bool]float64{true: 1}[v]
	case string:
		n, err := number(v)
		if err != nil {
			return 0
		}
		return n
	case []any:
		for _, x := range v {
			if message, ok := x.(string); ok && message != "" {
				n++
			} else {
				n += failures(x)
			}
		}
	case map[string]any:
		for _, x := range v {
			n += failures(x)
		}
	}
	return n
}

// whole refuses a load with failed requests, or fewer than it was asked for, and notes its settings.
func (r *run) whole(f map[string]json.RawMessage) error {
	count := func(names ...string) (float64, string) {
		for _, name := range slices.Sorted(maps.Keys(f)) {
			var v any
			if json.Unmarshal(f[name], &v) != nil || !slices.Contains(names, normal(name)) {
				continue
			}
			if n, err := number(fmt.Sprint(v)); err == nil {
				return n, name
			}
		}
		return 0, ""
	}
	for _, name := range slices.Sorted(maps.Keys(f)) {
		var v any
		if m, _, _, _ := ofServing(name); m != measure.Value || json.Unmarshal(f[name], &v) != nil {
			continue
		}
		if v == nil {
			return r.failure(name, "null, so their number is not known")
		}
		if n := failures(v); n > 0 {
			return r.failure(name, n)
		}
	}
	asked, by := count("num_prompts", "num_requests", "total_requests", "requests", "n_requests")
	done, counted := count("completed", "completed_requests", "successful_requests", "successes", "num_completed")
	switch {
	case counted != "" && done == 0:
		return model.Refuse(model.WorkloadFailed, "find out why the server answered none; its log tells",
			"%s: no request was completed", r.file)
	case counted != "" && by != "" && done < asked:
		return model.Refuse(model.WorkloadFailed, "find out why the others failed; the log of the server tells",
			"%s: only %v of %v requests were completed (%s, %s)", r.file, done, asked, counted, by)
	}
	for _, name := range slices.Sorted(maps.Keys(f)) {
		var v any
		if json.Unmarshal(f[name], &v) == nil {
			r.set(name, v)
		}
	}
	duration, timed := count("duration", "benchmark_duration", "duration_s")
	if counted != "" && by == "" {
		r.settings["completed"] = round(done)
		if timed != "" {
			r.settings["duration"] = round(duration)
		}
	}
	for _, kind := range []string{"input", "output"} {
		tokens, some := count("total_"+kind, "total_"+kind+"_tokens")
		if requests := max(done, asked); some != "" && requests > 0 {
			r.settings[kind+"_tokens_per_request"] = round(tokens / requests)
		}
	}
	return nil
}

func round(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }

// setting matches the names of the settings of a load.
var setting = input.Pattern(`^(?:model(?:_id|_name)?|num_prompts|num_requests|n_requests|total_requests|request_rate|` +
	`burstiness|(?:max_|num_)?concurrency|num_workers|users|vus_max|batch_size|` +
	`(?:\w+_)?(?:input|output|prefix|question|prompt|isl|osl|max|sharegpt_output)_(?:len|length|tokens)|isl|osl|random_range_ratio|` +
	`(?:tp|pp|dp|ep|tensor_parallel|pipeline_parallel|data_parallel)(?:_size)?|dataset_name|num_gpus)$`)

// counted matches the names among them that a load counts.
var counted = input.Pattern(`^total_`)

// set notes a setting of the load: of a model without the directory that it lies in.
func (r *run) set(name string, v any) {
	name = normal(name)
	if list, ok := v.([]any); ok && len(list) == 1 {
		v = list[0]
	}
	text := ""
	switch v := v.(type) {
	case nil:
		text = "none"
	case float64:
		text = strconv.FormatFloat(v, 'g', -1, 64)
	case string:
		text = strings.Replace(strings.ToLower(v), "infinity", "inf", 1)
		if n, err := strconv.ParseFloat(text, 64); err == nil && !math.IsInf(n, 0) {
			text = strconv.FormatFloat(n, 'g', -1, 64)
		}
		if strings.HasPrefix(name, "model") {
			text = path.Base(strings.TrimRight(filepath.ToSlash(v), "/"))
		}
	default:
		return
	}
	const longest = 64
	if text = strings.Join(strings.FieldsFunc(text, func(c rune) bool { return c <= ' ' || c == '=' }), "_"); text == "" ||
		len(text) > longest || !setting().MatchString(name) || counted().MatchString(name) && name != "total_requests" {
		return
	}
	r.settings[name] = text
}

// readServing reads the flat JSON object of a load generator: latencies of a statistic over the requests, and rates.
func readServing(r *run) error {
	f, err := r.load()
	if err != nil {
		return err
	}
	if err := r.whole(f); err != nil {
		return err
	}
	var date string
	if json.Unmarshal(f["date"], &date) == nil {
		r.at("20060102-150405", date)
	}
	for _, name := range slices.Sorted(maps.Keys(f)) {
		m, _, row, _ := ofServing(name)
		if row == "" || m == measure.Value || string(f[name]) == "null" {
			continue
		}
		v, ok := jsonNumber(f[name])
		if !ok {
			return r.bad(name, "%s is no number", measure.Quote(strings.Trim(string(f[name]), `"`)))
		}
		if v == 0 && m == measure.Duration && r.Tool != plain {
			r.leave(name, "0: no request has it") // of answers of one token
			continue
		}
		if err := r.addServing(name, name, v); err != nil {
			return err
		}
	}
	return nil
}

// ofLatency accounts for the file of `vllm bench latency`.
var ofLatency = account{known: names("avg_latency|latencies"), parts: names("percentiles")}

// readLatency reads the file of `vllm bench latency`, in seconds: the mean and the percentiles from the median up.
func readLatency(r *run) error {
	var f struct {
		Mean        *float64            `json:"avg_latency"`
		Percentiles map[string]*float64 `json:"percentiles"`
	}
	if err := r.json(&f); err != nil {
		return err
	}
	values := map[string]any{"avg": f.Mean}
	for p, v := range f.Percentiles {
		values["p"+p] = v
	}
	for name, v := range values {
		v, _ := v.(*float64)
		if v == nil {
			return r.bad(name, "there is no number")
		}
		values[name] = *v
	}
	return r.addStatistics("latency", "latency", "s", values)
}

// jsonNumber is a number of a JSON file, not ok for a null and anything else.
func jsonNumber(text json.RawMessage) (float64, bool) {
	var v *float64
	if json.Unmarshal(text, &v) != nil || v == nil {
		return 0, false
	}
	return *v, true
}

// ofLoad accounts for the numbers of single requests that a load generator may store.
var ofLoad = account{load: true, known: names("ttfts|itls|tpots|e2els|latencies|(?:input|output|prompt)_lens|start_times|errors|" +
	"total_output_tokens_retokenized|random_range_ratio"), parts: names("server_info|metadata")}

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
		if _, ok := jsonNumber(f[name]); !ok || known || setting().MatchString(normal(name)) {
			continue
		}
		return model.Refuse(model.BadValue, "rename it, or write its value as a text. "+knownNames(),
			"%s: %s is no serving metric that nsgate knows", r.file, measure.Quote(name))
	}
	return readServing(r)
}

// knownNames says which names a file of one's own may have.
func knownNames() string {
	var names []string
	for _, s := range servingMetrics {
		if s.metric.Better != measure.Neither {
			names = append(names, s.names...)
		}
	}
	return "Latencies need a unit (p99_ttft_ms); known are " + strings.Join(names, ", ")
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

// ofLlama accounts for the settings of a test of llama-bench.
var ofLlama = account{known: names(`(?:avg|stddev|samples)_(?:ns|ts)|build_number|n_\w+|no_\w+|flash_attn|main_gpu|use_\w+|` +
	`tensor_split|embeddings|poll|cpu_strict|prio|fit_\w+|model_(?:size|n_params)|\w*_offload|devices`)}

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
