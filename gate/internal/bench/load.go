package bench

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// genAI matches a metric of genai-perf and aiperf: an object with a unit and statistics.
var genAI = input.Pattern(`"(?:request_throughput|request_latency|time_to_first_token|inter_token_latency|` +
	`output_token_throughput|error_request_count)"\s*:\s*\{\s*"(?:unit|avg)"\s*:`)

func isGenAI(head []byte) bool { return has()(head) && genAI().Match(head) }

// ofGenAI accounts for the metrics by the names of their objects.
var ofGenAI = account{load: true, level: 1, known: names("request_count|error_request_count|" +
	"(?:in|out)put_sequence_length|total_(?:in|out)put_.*|benchmark_duration|version|.*_version"),
	parts:      names("input_config|metadata|telemetry_.*"),
	statistics: names("(?:" + statistics + ")|count|sum")}

// readGenAI reads profile_export_genai_perf.json of genai-perf and profile_export_aiperf.json of its successor: the
// metrics in [servingMetrics], the others are left out.
func readGenAI(r *run) error {
	f, err := r.load()
	if err != nil {
		return err
	}
	if failed, some := statisticsOf(f["error_request_count"])["avg"]; some {
		if n := failures(failed); n > 0 || failed == nil {
			return r.failure("error_request_count", failed)
		}
	}
	asked := r.config(statisticsOf(f["input_config"]))
	if done, ok := statisticsOf(f["request_count"])["avg"].(float64); ok && done < asked {
		return r.incomplete(done, asked, "")
	}
	for _, kind := range []string{"input", "output"} {
		if tokens, ok := statisticsOf(f[kind+"_sequence_length"])["avg"].(float64); ok {
			r.settings[kind+"_tokens_per_request"] = round(tokens)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f)) {
		m, _, row, _ := ofServing(name + "_ms")
		if row == "" {
			m, _, row, _ = ofServing(name)
		}
		values := statisticsOf(f[name])
		unit, _ := values["unit"].(string)
		switch {
		case row == "" || isValue(m):
			continue
		case values != nil:
			r.taken[name] = true
		}
		switch {
		case values == nil:
			return r.bad(name, "it is no object of a unit and statistics")
		case m == measure.Duration && nanoseconds(unit) == 0, m == measure.ItemRate && !strings.Contains(unit, "/s"):
			return r.bad(name, "its unit %s is neither of time nor a rate", measure.Quote(unit))
		case m == measure.ItemRate:
			unit = ""
		}
		r.addStatistics(name, name, unit, values)
	}
	return nil
}

// config notes the settings in the configuration of a load, whose sections differ between versions, and returns the
// number of requests that were asked for, 0 for none.
func (r *run) config(section map[string]any) (asked float64) {
	for _, name := range slices.Sorted(maps.Keys(section)) {
		switch v := section[name].(type) {
		case map[string]any:
			asked = max(asked, r.config(v))
		default:
			r.set(name, v)
			if n, ok := v.(float64); ok && name == "request_count" {
				asked = max(asked, n)
			}
		}
	}
	return asked
}

// statisticsOf is the object of a metric, nil for anything else.
func statisticsOf(text json.RawMessage) (values map[string]any) {
	if json.Unmarshal(text, &values) != nil {
		return nil
	}
	return values
}

// low matches percentiles below the median, which are not judged.
var low = input.Pattern(`^p[1-4]?\d$`)

// addStatistics adds the statistics of a metric of [servingMetrics] in a unit.
func (r *run) addStatistics(where, name, unit string, values map[string]any) {
	for _, statistic := range slices.Sorted(maps.Keys(values)) {
		full, where := strings.TrimSuffix(statistic+"_"+name+"_"+unit, "_"), where+"."+statistic
		_, _, row, _ := ofServing(full)
		if row == "" || low().MatchString(statistic) {
			continue
		}
		if v, ok := values[statistic].(float64); ok {
			r.addServing(where, full, v)
		} else {
			r.refuse(r.bad(where, "it is no number"))
		}
	}
}

// k6 matches a metric of a summary of k6.
var k6 = input.Pattern(`"(?:http_req_duration|iteration_duration|iterations)"\s*:\s*\{`)

func isK6(head []byte) bool { return has(`"metrics"`)(head) && k6().Match(head) }

// ofK6 accounts for the parts of a request; other metrics are left out.
var ofK6 = account{level: 2, known: names("http_req.*|http_reqs|iterations|dropped_iterations|" +
	"iteration_duration|checks|vus(?:_max)?|data_.*|group_duration|testRunDurationMs"),
	parts:      names("root_group|options|thresholds|setup_data"),
	statistics: names(`(?:` + statistics + `)|p\(.*\)|count|rate|value|passes|fails`)}

// readK6 reads a summary of k6 in JSON (--summary-export, or the data of handleSummary, which has the statistics in
// values): latencies in ms and rates. Iterations that k6 dropped were never sent, so the load was another one.
func readK6(r *run) error {
	var f struct{ Metrics map[string]map[string]any }
	if err := r.json(&f); err != nil {
		return err
	}
	for name, values := range f.Metrics {
		if inner, ok := values["values"].(map[string]any); ok {
			f.Metrics[name] = inner
		}
	}
	if n, _ := f.Metrics["dropped_iterations"]["count"].(float64); n > 0 {
		return model.Refuse(model.WorkloadFailed, "give k6 more VUs (maxVUs) or a lower rate",
			"%s: the load generator could not generate the load in time: %v iterations were dropped", r.file, n)
	}
	if users, ok := f.Metrics["vus_max"]["max"]; ok {
		r.set("vus_max", users)
	}
	failed := f.Metrics["http_req_failed"]
	for _, count := range []string{"passes", "rate", "value"} { // passes are failed requests
		if v, ok := failed[count].(float64); ok {
			r.addServing("http_req_failed."+count, "failed", v)
		}
	}
	checks := f.Metrics["checks"] // answers that the script looked at
	if n, counted := checks["fails"]; counted && failures(n) > 0 {
		return r.failure("checks.fails", n)
	} else if !counted {
		for _, part := range []string{"rate", "value"} {
			if v, ok := checks[part].(float64); ok && v < 1 {
				return r.failure("checks."+part, v)
			}
		}
	}
	for _, x := range []struct{ metric, name string }{
		{"http_reqs", "request_throughput"}, {"iterations", "iterations/s"},
	} {
		if v, ok := f.Metrics[x.metric]["rate"].(float64); ok {
			r.addServing("metrics."+x.metric+".rate", x.name, v)
		}
	}
	r.addStatistics("metrics.http_req_duration", "request_latency", "ms", f.Metrics["http_req_duration"])
	return nil
}
