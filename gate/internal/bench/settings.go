package bench

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// failure is the refusal of a load with failed requests, which is no measurement of the server that was asked for.
func (r *run) failure(where string, v any) error {
	return model.Refuse(model.WorkloadFailed, "find out why they failed; the log of the server tells",
		"%s: requests failed: %s is %v", r.file, where, v)
}

// incomplete is the refusal of a load with requests that were not answered.
func (r *run) incomplete(done, asked float64, by string) error {
	return model.Refuse(model.WorkloadFailed, "find out why the others failed; the log of the server tells",
		"%s: only %v of %v requests were completed%s", r.file, done, asked, by)
}

// failures counts the failed requests in a value: a number or its text, a list or object of them or of messages.
func failures(v any) (n float64) {
	switch v := v.(type) {
	case float64:
		return v
	case bool:
		if v {
			return 1
		}
	case string:
		n, _ = number(v)
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
	values := map[string]any{}
	for name, text := range f {
		var v any
		if json.Unmarshal(text, &v) == nil {
			values[name] = v
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		v := values[name]
		if m, _, _, _ := ofServing(name); isValue(m) {
			if v == nil {
				return r.failure(name, "null, so their number is not known")
			} else if n := failures(v); n > 0 {
				return r.failure(name, n)
			}
		}
		r.set(name, v)
	}
	count := func(names ...string) (float64, string) { return counts(values, names) }
	asked, by := count("num_prompts", "num_requests", "total_requests", "requests", "n_requests", "num_requests_started")
	done, counted := count("completed", "completed_requests", "successful_requests", "success", "successes",
		"succeeded", "num_completed", "num_completed_requests", "num_successful_requests")
	switch {
	case counted != "" && done == 0:
		return model.Refuse(model.WorkloadFailed, "find out why the server answered none; its log tells",
			"%s: no request was completed", r.file)
	case counted != "" && by != "" && done < asked:
		return r.incomplete(done, asked, " ("+counted+", "+by+")")
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

// counts is the first number that has one of the names, and its own name, "" where there is none.
func counts(values map[string]any, names []string) (float64, string) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if slices.Contains(names, normal(name)) {
			if n, err := number(fmt.Sprint(values[name])); err == nil {
				return n, name
			}
		}
	}
	return 0, ""
}

func round(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }

// setting matches the names of the settings of a load.
var setting = input.Pattern(`^(?:model(?:_id|_name)?|num_prompts|num_requests|n_requests|total_requests|request_rate|` +
	`burstiness|(?:max_|num_)?concurrency|num_workers|users|vus_max|batch_size|` +
	`(?:\w+_)?(?:input|output|prefix|question|prompt|isl|osl|max|sharegpt_output)_(?:len|length|tokens)|isl|osl|` +
	`random_range_ratio|(?:tp|pp|dp|ep|tensor_parallel|pipeline_parallel|data_parallel)(?:_size)?|dataset_name|num_gpus)$`)

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
