package bench

import (
	"bytes"
	"encoding/json"
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
		"failure_rate", "error_count", "error_rate", "error_request_count", "num_errors", "number_errors", "timeouts"}},
	{measure.Metric{}, []string{"completed", "completed_requests", "successful_requests", "request_count",
		"num_requests", "total_requests", "num_prompts", "concurrency", "max_concurrency", "request_rate", "duration",
		"input_tokens", "output_tokens", "total_input", "total_output", "total_input_tokens", "total_output_tokens",
		"input_len", "output_len", "seed", "elapsed_time", "total_num_tokens"}},
}

// servingName matches a name in its parts: a statistic before or behind, and a unit of time.
var servingName = input.Pattern(`^(?:(` + statistics + `)_)?(.+?)(?:_(` + statistics + `))?` +
	`(?:_(ns|us|usec|microseconds|ms|msec|milliseconds|s|sec|seconds))?(?:_(` + statistics + `))?$`)

const statistics = `mean|avg|average|median|med|std|stddev|min|max|p\d{1,2}(?:_\d{1,4})?`

// longestMetric bounds a name of [servingMetrics] with its statistic and unit, in bytes: patterns take long for others.
const longestMetric = 128

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
	if len(name) > longestMetric {
		return m, 0, "", false
	}
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
		isValue(m) && statistic != "":
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

// addServing adds the number of a name in [servingMetrics].
func (r *run) addServing(where, name string, v float64) {
	m, factor, row, _ := ofServing(name)
	switch old := r.values[key{row: row, metric: m}]; {
	case row == "", isValue(m) && v == 0:
	case isValue(m):
		r.refuse(r.failure(where, v))
	case old != nil && old[0] != v*factor:
		r.refuse(r.bad(where, "the file has another value of %s", row))
	default:
		r.add(where, row, m, v*factor)
	}
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
		if row == "" || isValue(m) || string(f[name]) == "null" {
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
		r.addServing(name, name, v)
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
	r.addStatistics("latency", "latency", "s", values)
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

// ofLoad accounts for the numbers of single requests that a load generator may store.
var ofLoad = account{load: true, known: names("ttfts|itls|tpots|e2els|latencies|(?:input|output|prompt)_lens|" +
	"start_times|errors|total_output_tokens_retokenized|random_range_ratio"), parts: names("server_info|metadata")}

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
			judged = judged || row != "" && !isValue(m)
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
		what := "no serving metric that nsgate knows"
		if withoutUnit(name) {
			what = "a latency without a unit"
		}
		return model.Refuse(model.BadValue, "rename it, or write its value as a text. "+knownNames(),
			"%s: %s is %s", r.file, measure.Quote(name), what)
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
