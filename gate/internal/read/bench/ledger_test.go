package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// samples are a file of each format with the keys whose numbers, or those below them, are neither judged nor left out:
// settings, counts, deviations, and other views of a judged number.
var samples = []struct{ name, text, structure string }{
	{"nvbench", nv(false, tag("nv/cold/time/gpu/mean", "1.5e-6")), "meta|devices|device|summaries|axis_values"},
	{"google-benchmark", google(`{"name":"B","run_type":"iteration","real_time":2,"cpu_time":3,"iterations":7,` +
		`"threads":1,"time_unit":"us"}`), "context|cpu_time|iterations|threads"},
	{"pytest-benchmark", `{"machine_info":{"node":"h","cpu":{"count":8}},"commit_info":{},"benchmarks":[{"name":"t",` +
		`"fullname":"a.py::t","extra_info":{},"stats":{"median":0.002,"mean":9,"min":1,"rounds":5}}],"version":"4.0"}`,
		"machine_info|commit_info|mean|min|rounds"},
	{"asv", `{"commit_hash":"a","params":{"machine":"m"},"results":{"time_x":{"params":[["1","2"]],"result":[1,2]},` +
		`"mem_y":3},"version":1}`, "version"},
	{"criterion", `{"mean":{"confidence_interval":{"lower_bound":1},"point_estimate":2,"standard_error":1},` +
		`"median":{"point_estimate":1.5},"std_dev":{"point_estimate":9}}`, "mean|std_dev|median"},
	{"hyperfine", `{"results":[{"command":"./a","mean":2,"median":1,"times":[1,1,4],"exit_codes":[0],"user":1}]}`,
		"mean|times|user|exit_codes"},
	{"llama-bench", `[{"model_filename":"m","model_type":"l","n_prompt":512,"n_gen":0,"avg_ts":7,` +
		`"avg_ns":1,"n_threads":8}]`,
		"n_gen|avg_ns|n_threads"},
	{"genai-perf", genAIFile,
		"avg|p1|p25|min|max|std|p99|request_count|request_latency|input_config|http_req_duration|" +
			"output_sequence_length"},
	{"k6", k6Machine(0, ""), "config|metadata|duration|metrics|results|total|min|max|value|count|checks|" +
		"vus_max|values"},
	{"k6", k6File(""), "http_req.*|count|iterations|vus|thresholds|root_group|groups|checks"},
	{"serving benchmark", `{"completed":100,"num_prompts":100,"failed":0,"request_throughput":5.5,"mean_ttft_ms":10,` +
		`"std_ttft_ms":3,"duration":9,"max_concurrency":4,"total_output_tokens":200,"median_itl":3,"ttfts":[1,2]}`,
		"failed|std_ttft_ms|duration|completed|ttfts"},
	{"vLLM latency", `{"avg_latency":4,"latencies":[4,5],"percentiles":{"50":4,"99":5}}`, "latencies|percentiles"},
	{"github-action-benchmark", `[{"name":"a","unit":"ms","value":2},{"name":"c","unit":"points","value":4}]`, ""},
	{"nccl-tests", ncclJSON, "version|nccl_version|config|size|count|alg_bw|bus_bw|nwrong|actual_iterations"},
	{"trtllm-bench", trtllmFile, "engine|world_info|request_info|dataset|total_latency_ms|minimum|maximum|average|" +
		"output_throughput_per_gpu_tok_s|gen_tps_percentiles|avg_request_latency_ms"},
	{"guidellm", guideFile, "metadata|args|config|scheduler_state|run_index|request_totals|std_dev|count|p001|p50|p999|" +
		"total|median|mean|duration|prompt_token_count"},
	{"BenchmarkTools.jl", juliaFile, "allocs|gctimes?|params|times"},
	{"trtexec", trtexecTimes, "(?:start|end)(?:Enq|H2d)Ms"},
	{"transformers Trainer", trainerFile, "total_flos"},
	{"criterion", strings.Split(cargoLines, "\n{\"reason")[0],
		"iteration_count|measured_values|throughput|typical|mean|median"},
	{"bencher", `{"f":{"latency":{"value":88.0,"lower_value":87},"accuracy":{"value":0.5}}}`, "lower_value"},
}

// TestEveryNumber changes each number of each format: what is read changes, or its name is left out, or it is one of
// the structure. A number that is added to an object, under a name that nobody knows, is left out by it or refused.
func TestEveryNumber(t *testing.T) {
	for _, tt := range samples {
		structure := regexp.MustCompile("^(?:" + tt.structure + ")$")
		read := func(v any) (string, *model.Session) {
			text, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			s, err := Read(bytes.NewReader(text), "criterion/f/new/a.json")
			if err != nil {
				return err.Error(), nil
			}
			if s.Tool != tt.name {
				t.Fatalf("%s is read as %s", tt.name, s.Tool)
			}
			return fmt.Sprint(s.Series, s.Mode, s.LeftOut), s
		}
		var whole any
		if err := json.Unmarshal([]byte(tt.text), &whole); err != nil {
			t.Fatal(tt.name, err)
		}
		before, s := read(whole)
		if s == nil {
			t.Fatal(tt.name, before)
		}
		numbers, objects := 0, 0
		each := func(path []string, v any, set func(any)) {
			known := slices.ContainsFunc(path, structure.MatchString)
			switch v := v.(type) {
			case float64:
				numbers++
				set(v*1.5 + 1)
				after, _ := read(whole)
				set(v)
				left := slices.ContainsFunc(s.LeftOut, func(x model.LeftOut) bool {
					return slices.Contains(path, x.Name)
				})
				if after == before && !known && !left {
					t.Errorf("%s: %s is neither read nor left out", tt.name, strings.Join(path, "."))
				}
			case map[string]any:
				if known {
					return
				}
				objects++
				const name = "zz_power"
				for _, number := range []any{4711.5, "NaN"} {
					v[name] = number
					after, s := read(whole)
					delete(v, name)
					if s != nil && !strings.Contains(after, name) {
						t.Errorf("%s: %v in %q is neither read nor left out: %s", tt.name, number,
							strings.Join(path, "."), after)
					}
				}
			}
		}
		each(nil, whole, nil)
		eachPart(whole, nil, each)
		if numbers == 0 || objects == 0 {
			t.Errorf("%s: %d numbers, %d objects", tt.name, numbers, objects)
		}
	}
}

// eachPart gives every value below v with the keys around it, and a function that replaces it.
func eachPart(v any, path []string, each func(path []string, v any, set func(any))) {
	switch v := v.(type) {
	case map[string]any:
		for name, x := range v {
			each(append(path[:len(path):len(path)], name), x, func(to any) { v[name] = to })
			eachPart(x, append(path[:len(path):len(path)], name), each)
		}
	case []any:
		for i, x := range v {
			each(path, x, func(to any) { v[i] = to })
			eachPart(x, path, each)
		}
	}
}

// TestLeftOut names what each format leaves out.
func TestLeftOut(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"counters of google-benchmark", google(`{"name":"B","real_time":2,"time_unit":"us","GFLOPS":7,` +
			`"items_per_second":3}`),
			"[{GFLOPS unknown name}]"},
		{"statistics of the user of google-benchmark", google(aggregate("B", "median", 2) + "," +
			aggregate("B", "cv", 1) + "," + aggregate("B", "p99", 3)), "[{B p99 unknown name}]"},
		{"skipped", google(`{"name":"B","real_time":2,"time_unit":"us"},{"name":"C","skipped":true}`), "[{C skipped}]"},
		{"nvbench", nv(false, tag("nv/cold/time/gpu/mean", "1.5e-6")+","+tag("my/energy", "3")),
			"[{my/energy unknown name}]"},
		{"latency without a unit", `{"request_throughput":5,"median_ttft":3,"p99_ttft":9,"rtf_mean":1,"burstiness":1}`,
			"[{median_ttft no unit} {p99_ttft no unit} {rtf_mean unknown name}]"},
		{"JUnit", `<testsuite name="s" tests="2"><testcase name="t" time="1"><properties>` +
			`<property name="peak_mb" value="5"/></properties></testcase><testcase name="u" time="0"/></testsuite>`,
			"[{s.u 0 by a coarse clock} {peak_mb unknown name}]"},
		{"extra_info of pytest-benchmark", `{"machine_info":{},"commit_info":{},"benchmarks":[{"name":"t","stats":` +
			`{"median":1},"extra_info":{"ttft_ms":{"mean":5},"p99_ttft_ms":NaN,"note":"x","flops":Infinity}}]}`,
			"[{p99_ttft_ms no number} {ttft_ms no number} {flops unknown name}]"},
		{"NaN of the Trainer", `{"train_runtime":2,"train_loss":NaN,"eval_x":"text"}`, "[{train_loss no number}]"},
		{"layers of trtexec", `[{"count":9},{"name":"a","timeMs":9,"averageMs":1,"medianMs":1,"percentage":9}]`, "[]"},
		{"version of Catch2", `<Catch2TestRun xml-format-version="3"><BenchmarkResults name="a"><mean value="7"/>` +
			`</BenchmarkResults></Catch2TestRun>`, "[]"},
		{"versions of BenchmarkTools.jl", `[{"BenchmarkTools":{"major":1}},[["BenchmarkTools.TrialEstimate",` +
			`{"time":5,"memory":0}]]]`, "[]"},
		{"hyperfine", `{"results":[{"command":"a","median":1,"times":[1],"memory_usage_byte":[5]}]}`,
			"[{memory_usage_byte unknown name}]"},
		{"perf_analyzer", strings.Split(perfFile, "\n4")[0] + "\n",
			"[{Client Send a part of the latency} {Server Queue " +
				"a part of the latency} {Client Recv a part of the latency} {Avg GPU Utilization unknown name}]"},
		{"CSV of google-benchmark", googleCSV, `[{GFLOPS unknown name} {Err failed: out "of" memory}]`},
		{"triton.testing", "N,Triton (GB/s),Torch (GB/s),remark\n8,100,,\n", "[{Torch N=8 no number}]"},
		{"a percentile of genai-perf", `{"request_latency":{"unit":"ms","avg":5,"p99":null}}`,
			"[{p99 request latency no number}]"},
		{"tag of k6", k6File(`"http_req_duration{name:login}":{"avg":5},"http_req_duration{expected_response:true}":` +
			`{"avg":5},"http_req_waiting":{"avg":5},`), "[{http_req_duration{name:login} unknown name}]"},
		{"k6 without a duration", strings.Replace(k6Machine(0, ""), `"duration":2.5`, `"duration":0`, 1),
			"[{request throughput no number}]"},
		{"a latency of null", serve(`"p99_itl_ms":null,"request_goodput":null,`), "[{p99_itl_ms no number}]"},
		{"guidellm, a latency of null", strings.Replace(guideFile, `"p99":77.79`, `"p99":null`, 1),
			"[{p99 TTFT no number} {prompt_token_count unknown name}]"},
		{"go test, a benchmark that prints", "pkg: a\nBenchmarkA-8 \tx\n  9\t 5 ns/op\nBenchmarkB-8 \t 9\t 6 ns/op\n",
			"[{a line of ns/op no name of a benchmark before its numbers}]"},
		{"mlperf", strings.Replace(mlperfText, "Mean latency", "QPS w/ loadgen overhead : 5\n99.00 percentile time to "+
			"output token (ns) : 8\nEarly stopping estimate : 7\nMean latency", 1),
			"[{scheduled samples per second the rate of the load} {min latency an extreme} {max latency an extreme} " +
				"{Early stopping estimate unknown name}]"},
		{"guidellm, a sweep", guideSweep(`"type_":"synchronous"`, `"type_":"throughput","max_concurrency":9`,
			`"type_":"constant","rate":6.9,"max_concurrency":9`, `"type_":"constant","rate":7.3,"max_concurrency":9`),
			"[{constant loads of the sweep rate of its own in each run} {prompt_token_count unknown name}]"},
		{"nccl-tests with a report of iterations", strings.Replace(ncclText, "algbw   busbw #wrong     time",
			"algbw busbw #wrong i_min i_max i_p99 i_cv% time", 1),
			"[{algbw, busbw the time in another unit} {i_min, i_max, i_p99, i_cv% of single iterations}]"},
		{"nccl-tests JSON with one", strings.Replace(ncclJSON, `"in_place"`, `"in_place_per_iter":{"p99_us":5},"in_place"`,
			1), "[{*_per_iter of single iterations}]"},
		{"guidellm without a first token", strings.Replace(guideFile, "49.23", "0", 1),
			"[{time_to_first_token_ms 0: no request has it} {prompt_token_count unknown name}]"},
		{"go test", goText, "[{MB/s the time in another unit}]"},
		{"trtexec", trtexecText, "[{mean H2D latency 0} {median H2D latency 0} {p99 H2D latency 0}]"},
		{"Catch2", catchFile, "[{Fib/bad failed: no memory}]"},
		{"transformers Trainer", trainerFile, "[{eval_mcc a difference} {train_mem_gpu_peaked_delta a difference}]"},
		{"k6, machine-readable", k6Machine(0, `{"name":"my_trend","type":"trend","values":{"avg":5}},`),
			"[{my_trend unknown name}]"},
		{"k6", k6File(`"my_trend":{"avg":5,"max":6},`), "[{my_trend unknown name}]"},
	} {
		s, err := Read(strings.NewReader(tt.text), "a")
		if err != nil || fmt.Sprint(s.LeftOut) != tt.want {
			t.Errorf("%s: %v, %v; want %s", tt.name, s.LeftOut, err, tt.want)
		}
	}
}

// serve is a result of a load generator with further keys.
func serve(more string) string {
	return `{"request_throughput":5.125,"mean_ttft_ms":10.5,` + more + `"end":""}`
}

// TestFailedLoads refuses loads with failed requests in any form, and with fewer than asked for.
func TestFailedLoads(t *testing.T) {
	for more, want := range map[string]string{
		`"failed":3,`:                 "failed is 3",
		`"failed":"3",`:               "failed is 3",
		`"failed":null,`:              "failed is null",
		`"errors":["","Timeout",""],`: "errors is 1",
		`"errors":{"timeout":2},`:     "errors is 2",
		`"num_prompts":1000,"completed":10,`: "only 10 of 1000 requests were completed " +
			"(completed, num_prompts)",
		`"num_requests":"1000","completed":"999",`:             "only 999 of 1000",
		`"total_requests":8,"successful_requests":7,`:          "only 7 of 8",
		`"num_requests_started":8,"num_completed_requests":7,`: "only 7 of 8",
		`"num_errors":1,`: "num_errors is 1",
		`"failed":"0","errors":["",""],"completed":10,"num_prompts":10,`: "",
		`"errors":[],"error_rate":0,`:                                    "",
	} {
		_, err := Read(strings.NewReader(serve(more)), "a.json")
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s %v, want %q", more, err, want)
		}
	}
}

// TestSettings holds the settings of a load.
func TestSettings(t *testing.T) {
	for more, want := range map[string]string{
		`"max_concurrency":64,"request_rate":"inf","model_id":"/data/a b",`://
		"max_concurrency=64 model_id=a_b request_rate=inf",
		`"max_concurrency":null,"request_rate":10.0,"random_input_len":1024,`://
		"max_concurrency=none random_input_len=1024 request_rate=10",
		`"num_prompts":10,"completed":10,"total_input_tokens":50,"total_output":1000,`://
		"input_tokens_per_request=5 num_prompts=10 output_tokens_per_request=100",
		`"completed":10,"duration":2.5,`:              "completed=10 duration=2.5",
		`"max_concurrency":null,"concurrency":1.875,`: "max_concurrency=none", // SGLang
		`"concurrency":1.875,`:                                       "",
		`"avg_output_tokens":127.5,"concurrency":8,`:                 "concurrency=8",
		`"dtype":"fp8","kv_cache_dtype":"auto","quantization":null,`: "dtype=fp8 kv_cache_dtype=auto quantization=none",
	} {
		s, err := Read(strings.NewReader(serve(more)), "a.json")
		if err != nil || s.Mode != want {
			t.Errorf("%s %q, %v; want %q", more, s.Mode, err, want)
		}
	}
}

// TestModel has the model of a file of llama-bench as a setting, without its directory.
func TestModel(t *testing.T) {
	const test = `{"model_filename":"%s","model_type":"l","n_gen":16,"avg_ts":%d}`
	for models, want := range map[[2]string]string{{"/a/m.gguf", "/a/m.gguf"}: "model=m.gguf", {"m", "o"}: ""} {
		s, err := Read(strings.NewReader(fmt.Sprintf("["+test+","+test+"]", models[0], 1, models[1], 2)), "a.json")
		if err != nil || s.Mode != want {
			t.Errorf("%v: %+v, %v; want %q", models, s, err, want)
		}
	}
}

// TestLoads puts the settings that differ into the names of rows, as few as tell the files apart.
func TestLoads(t *testing.T) {
	var files []model.Session
	for _, run := range []string{"1", "2"} {
		for _, c := range []string{"1", "64"} {
			text := serve(`"max_concurrency":` + c + `,"num_prompts":` + c + `0,"date":"20260801-10000` + run + `",`)
			s, err := Read(strings.NewReader(text), "a")
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, *s)
		}
	}
	runs, settings, err := Processes(files, nil)
	if err != nil || len(runs) != 2 || fmt.Sprint(settings) != "[max_concurrency]" ||
		runs[1].Mode != "max_concurrency=1/num_prompts=10 max_concurrency=64/num_prompts=640" {
		t.Fatalf("%d runs, %v, %v, %+v", len(runs), settings, err, runs)
	}
	var rows []string
	for _, x := range runs[0].Series {
		rows = append(rows, x.Subject.Name)
	}
	if want := "max_concurrency=1 mean TTFT, max_concurrency=1 request throughput, max_concurrency=64 mean TTFT, " +
		"max_concurrency=64 request throughput"; strings.Join(rows, ", ") != want {
		t.Errorf("%v", rows)
	}
}

// TestLoadsByName joins the files of a run by their names, where one is missing in a load; by their order where names
// hold the time.
func TestLoadsByName(t *testing.T) {
	for _, x := range []struct{ names, want string }{
		{"r1_c1 r1_c64 r2_c64 r3_c1 r3_c64", "2 1 2"},
		{"1 3 b1 b2 b3", "2 2 1"}, // in the order of the files
		{"c1/a c1/c c64/a c64/b c64/c", "2 2 1"},
		{"r1_c1 r1_c64 r2_c1 r2_c64", "2 2"},
		{"c1-1001 c1-1003 c64-1002 c64-1004 c64-1006", "2 2 1"},
		{"c1 c64", "2"},
	} {
		var files []model.Session
		names := strings.Fields(x.names)
		for i, name := range names {
			c := "1"
			if strings.Contains(name, "64") || strings.HasPrefix(name, "b") {
				c = "64"
			}
			text := serve(`"max_concurrency":` + c + `,"mean_itl_ms":` + strconv.Itoa(i+1) + ",")
			s, err := Read(strings.NewReader(text), "a")
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, *s)
		}
		runs, _, err := Processes(files, names)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, run := range runs {
			loads := map[string]bool{}
			for _, s := range run.Series {
				loads[strings.Fields(s.Subject.Name)[0]] = true
			}
			got = append(got, strconv.Itoa(len(loads)))
		}
		if strings.Join(got, " ") != x.want {
			t.Errorf("%s: loads of the runs %v, want %s", x.names, got, x.want)
		}
	}
}

// TestSuites gives tests of one name in several suites the name of theirs.
func TestSuites(t *testing.T) {
	s, err := Read(strings.NewReader(`<testsuites><testsuite name="a"><testcase classname="c" name="t" time="1"/>`+
		`</testsuite><testsuite name="b"><testcase classname="c" name="t" time="2"/>`+
		`<testcase classname="c" name="u" time="3"/></testsuite></testsuites>`), "a.xml")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, x := range s.Series {
		got = append(got, fmt.Sprintf("%s %s %v", x.Role, x.Subject.Name, x.Values[0]))
	}
	if want := "[ a/c.t 1e+09  b/c.t 2e+09 b c.u 3e+09]"; fmt.Sprint(got) != want {
		t.Errorf("%v, want %s", got, want)
	}
}

// TestCounted wants files alike that differ in what their writer counted: the rate of issue and the mean length of an
// output of trtllm-bench.
func TestCounted(t *testing.T) {
	var modes []string
	for _, counted := range []string{"94825.5", "93711.25"} {
		text := strings.NewReplacer("94825.5", counted, `"avg_output_length":128.0`, `"avg_output_length":128.`+
			counted[:2]).Replace(trtllmFile)
		s, err := Read(strings.NewReader(text), "a.json")
		if err != nil {
			t.Fatal(err)
		}
		modes = append(modes, s.Mode)
	}
	if setting, a, b := model.Unlike(modes[0], modes[1]); setting != "" {
		t.Errorf("%s: %s and %s", setting, a, b)
	}
}

// guideSweep is a file of guidellm with a load for each strategy.
func guideSweep(strategies ...string) string {
	at := strings.Index(guideFile, `{"type_":"generative`)
	head, one := guideFile[:at], strings.TrimSuffix(guideFile[at:], "]}")
	loads := measure.Map(strategies, func(how string) string {
		return strings.Replace(one, `"type_":"concurrent","max_concurrency":32,"streams":32`, how, 1)
	})
	return head + strings.Join(loads, ",") + "]}"
}
