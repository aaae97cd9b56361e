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

// latency is the key of a latency: its statistic, what is timed, and the unit.
var latency = input.Pattern(`^(mean|median|std|p\d{1,2}|p\d{1,2}[._]\d+)_(ttft|tpot|itl|e2el|e2e_latency|` +
	`latency)_(ms|s)$`)

// servingRates are the keys of rates.
var servingRates = []string{
	"request_throughput", "output_throughput", "total_token_throughput", "input_throughput", "total_throughput",
	"request_goodput",
}

// readServing reads the flat JSON object of a load generator: latencies of a statistic over the requests, and rates. A
// load with failed requests is no measurement of the server that was asked for.
func readServing(r *run) error {
	f, err := r.load()
	if err != nil {
		return err
	}
	number := func(name string) (float64, bool) {
		var v *float64
		err := json.Unmarshal(f[name], &v)
		if err != nil || v == nil {
			return 0, false
		}
		return *v, true
	}
	if failed, ok := number("failed"); ok && failed > 0 {
		return model.Refuse(model.WorkloadFailed, "find out why the server refused them; its log tells",
			"%s: %v requests failed", r.file, failed)
	}
	if done, ok := number("completed"); ok && done == 0 {
		return model.Refuse(model.WorkloadFailed, "find out why the server answered none; its log tells",
			"%s: no request was completed", r.file)
	}
	var date string
	if json.Unmarshal(f["date"], &date) == nil {
		r.at("20060102-150405", date)
	}
	for _, name := range slices.Sorted(maps.Keys(f)) {
		m, factor, row := ofServing(name)
		if row == "" || string(f[name]) == "null" {
			continue
		}
		v, ok := number(name)
		if !ok {
			return r.bad(name, "%s is no number", measure.Quote(strings.Trim(string(f[name]), `"`)))
		}
		if v == 0 && m == measure.Duration {
			continue // of answers of one token: a latency between tokens that no request has
		}
		if err := r.add(name, row, m, v*factor); err != nil {
			return err
		}
	}
	return nil
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

// ofServing is what a key of a load generator measures, "" for what is not judged: counts, settings and deviations.
func ofServing(name string) (m measure.Metric, factor float64, row string) {
	if slices.Contains(servingRates, name) {
		return measure.ItemRate, 1, strings.ReplaceAll(name, "_", " ")
	}
	part := latency().FindStringSubmatch(name)
	if part == nil || part[1] == "std" {
		return m, 0, ""
	}
	factor = 1e6
	if part[3] == "s" {
		factor = second
	}
	what := strings.ReplaceAll(part[2], "_", " ")
	if len(what) <= 4 {
		what = strings.ToUpper(what)
	}
	return measure.Duration, factor, part[1] + " " + what
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

// llamaSettings are settings of a test and their defaults in llama-bench; other values stand in the name of the row.
var llamaSettings = []struct{ key, usual string }{
	{"n_depth", "0"}, {"n_batch", "2048"}, {"n_ubatch", "512"}, {"type_k", "f16"}, {"type_v", "f16"},
	{"n_gpu_layers", "99"},
	{"split_mode", "layer"}, {"flash_attn", "false"},
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
		if v := t[s.key]; v != "" && v != s.usual && v != "0" {
			row += " " + s.key + "=" + v
		}
	}
	return row
}
