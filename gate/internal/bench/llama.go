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
)

// ofLlama accounts for the settings of a test of llama-bench.
var ofLlama = account{known: names(`(?:avg|stddev|samples)_(?:ns|ts)|build_number|n_\w+|no_\w+|flash_attn|main_gpu|` +
	`use_\w+|tensor_split|embeddings|poll|cpu_strict|prio|fit_\w+|model_(?:size|n_params)|\w*_offload|devices`)}

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
	return r.addLlama(measure.Map(tests, func(t map[string]any) map[string]string {
		text := map[string]string{}
		for k, v := range t {
			text[k] = fmt.Sprint(v)
		}
		return text
	}))
}

// llamaSettings are settings of a test and their defaults in versions of llama-bench; other values stand in the name of
// the row.
var llamaSettings = []struct{ key, usual string }{
	{"n_depth", "0"}, {"n_batch", "2048"}, {"n_ubatch", "512"}, {"type_k", "f16"}, {"type_v", "f16"},
	{"n_gpu_layers", "99 -1"}, {"split_mode", "layer"}, {"flash_attn", "false 0 -1"},
}

// addLlama adds the tests of llama-bench, whose values are given as texts. Tests with the same name have the settings
// in it that differ between them.
func (r *run) addLlama(tests []map[string]string) error {
	type namesakes struct {
		tests int
		with  map[[2]string]int // tests by a setting and its value
	}
	all := map[string]*namesakes{}
	for _, t := range tests {
		name := llamaName(t)
		if all[name] == nil {
			all[name] = &namesakes{with: map[[2]string]int{}}
		}
		all[name].tests++
		for setting, value := range t {
			all[name].with[[2]string{setting, value}]++
		}
	}
	for i, t := range tests {
		parts := []string{llamaName(t)}
		where, of := fmt.Sprintf("test %d", i+1), all[parts[0]]
		for _, setting := range slices.Sorted(maps.Keys(t)) {
			if of.with[[2]string{setting, t[setting]}] != of.tests && !measured().MatchString(setting) {
				parts = append(parts, setting+"="+t[setting])
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
		r.add(where, strings.Join(parts, " "), measure.ItemRate, v)
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
