package bench

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/read/filter"
)

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
	{measure.MoreValue, []string{"success_rate"}},
	{measure.MoreValue, []string{"accuracy"}},
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

// meaning is that of a name that a load generator or a person writes: p99_ttft_ms, ttft_p99_ms, tokens/s.
type meaning struct {
	row      string // "" for a number that is not judged: settings, deviations, extremes and failures
	unit     string // of a time
	metric   measure.Metric
	known    bool
	failures bool // it counts failed requests
}

// meaningOf is the meaning of a name. A latency without a unit is not known.
func meaningOf(name string) (x meaning) {
	if len(name) > longestMetric {
		return x
	}
	name = perSecond().ReplaceAllString(normal(name), "/s$1")
	part := servingName().FindStringSubmatch(name)
	if part == nil {
		return x
	}
	i := slices.IndexFunc(servingMetrics, func(s servingMetric) bool { return slices.Contains(s.names, part[2]) })
	statistic, unit := part[1]+part[3]+part[5], part[4]
	if i < 0 || len(statistic) > max(len(part[1]), len(part[3]), len(part[5])) {
		return x
	}
	m, row := servingMetrics[i].metric, strings.ReplaceAll(servingMetrics[i].names[0], "_", " ")
	failures := isValue(m)
	switch {
	case m == measure.Duration && unit == "", m != measure.Duration && m.Name != "" && unit != "",
		failures && statistic != "":
		return x
	case failures, m.Name == "", strings.HasPrefix(statistic, "std"), statistic == "min", statistic == "max":
		return meaning{known: true, failures: failures}
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
	return meaning{row: row, unit: unit, metric: m, known: true}
}

// setting matches the names of the settings of a load.
var setting = input.Pattern(`^(?:model(?:_id|_name)?|num_prompts|num_requests|n_requests|total_requests|request_rate|` +
	`burstiness|(?:max_|num_)?concurrency|num_workers|users|vus_max|batch_size|` +
	`(?:\w+_)?(?:input|output|prefix|question|prompt|isl|osl|max|sharegpt_output)_(?:len|length|tokens)|isl|osl|` +
	`random_range_ratio|(?:tp|pp|dp|ep|tensor_parallel|pipeline_parallel|data_parallel)(?:_size)?|dataset_name|num_gpus|` +
	`(?:kv_cache_)?dtype|quantization)$`)

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

// inUnit is the metric of a number in a unit, and the factor to its base unit. What a larger number means is known of
// times, sizes and rates only: any other unit gives [measure.Value], which is not judged, in that unit.
func inUnit(unit string) (measure.Metric, float64) {
	factor, base, known := measure.BaseUnit(unit)
	switch {
	case measure.IsRate(base):
		m, _ := measure.ItemRate.In(base)
		return m, factor
	case known && base != "Hz" && base != "%":
		return map[string]measure.Metric{"ns": measure.Duration, "B": measure.Memory, "B/s": measure.Bandwidth,
			"FLOP/s": measure.FlopRate}[base], factor
	}
	m, _ := measure.Value.In(strings.TrimSpace(unit))
	return m, 1
}

// isValue reports whether nothing is known of a metric but its number and unit.
func isValue(m measure.Metric) bool { return m.Name == measure.Value.Name }

// occurrences gives for each text of a list how many of it stand up to there, and how many there are of each. A loop of
// jq copies its object with each assignment.
func occurrences(list any, _ []any) any {
	numbers, counts := []any{}, map[string]any{}
	all, _ := list.([]any)
	for _, v := range all {
		text, _ := v.(string)
		n, _ := counts[text].(int)
		counts[text], numbers = n+1, append(numbers, n+1)
	}
	return map[string]any{"numbers": numbers, "counts": counts}
}

// toldApart gives the names of a list of named tests, with those values of a test that differ between tests of one
// name. The argument matches keys that are no settings.
func toldApart(list any, keys []any) any {
	skip, all := regexp.MustCompile(keys[0].(string)), list.([]any)
	names, settings := make([]any, len(all)), make([][]string, len(all))
	tests, with := map[any]int{}, map[[2]any]int{} // by name, and by name and setting
	for i, v := range all {
		of := v.(map[string]any)
		test, _ := of["test"].(map[string]any)
		for _, k := range slices.Sorted(maps.Keys(test)) {
			if !skip.MatchString(k) {
				text := fmt.Sprintf("%s=%v", k, test[k])
				settings[i] = append(settings[i], text)
				with[[2]any{of["name"], text}]++
			}
		}
		names[i] = of["name"]
		tests[names[i]]++
	}
	for i, name := range names {
		equal := func(text string) bool { return with[[2]any{name, text}] == tests[name] }
		names[i] = strings.Join(append([]string{fmt.Sprint(name)}, slices.DeleteFunc(settings[i], equal)...), " ")
	}
	return names
}

// functions are what filters ask of names and units.
var functions = []filter.Function{
	// meaning: the row of a name that load generators write, {} for a setting or count, null for an unknown name
	{Name: "meaning", Call: func(name any, _ []any) any {
		text, _ := name.(string)
		switch x := meaningOf(text); {
		case x.row != "" && x.unit != "":
			return map[string]any{"row": x.row, "metric": x.metric.Name, "unit": x.unit}
		case x.row != "":
			return map[string]any{"row": x.row, "metric": x.metric.Name}
		case x.failures:
			return map[string]any{"failures": true}
		case x.known:
			return map[string]any{}
		}
		return nil
	}},
	// metric: the metric of numbers in a unit, null for an unknown unit
	{Name: "metric", Call: func(unit any, _ []any) any {
		text, _ := unit.(string)
		if m, _ := inUnit(text); !isValue(m) {
			return m.Name
		}
		return nil
	}},
	// setting: the name of a setting of a load, "" for one that the load counts, null for another name
	{Name: "setting", Call: func(name any, _ []any) any {
		text, _ := name.(string)
		switch text = normal(text); {
		case !setting().MatchString(text):
			return nil
		case strings.HasPrefix(text, "total_") && text != "total_requests":
			return ""
		}
		return text
	}},
	// normal: a name in the spelling of [servingMetrics]
	{Name: "normal", Call: func(name any, _ []any) any {
		text, _ := name.(string)
		return normal(text)
	}},
	{Name: "occurrences", Call: occurrences},
	{Name: "told_apart", Arguments: 1, Call: toldApart},
	{Name: "tests", Arguments: 2, Call: tests},
	{Name: "known_names", Call: func(any, []any) any { return knownNames() }},
	{Name: "quote", Call: func(v any, _ []any) any {
		text, ok := v.(string)
		if !ok {
			return v
		}
		return measure.Quote(text)
	}},
}
