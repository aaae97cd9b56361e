package bench

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// nv is a file of nvbench with a state of these summaries.
func nv(skipped bool, summaries string) string {
	return fmt.Sprintf(`{"meta":{"version":{"nvbench":{"major":0}}},"devices":[{"id":0,"name":"NVIDIA H100"}],
"benchmarks":[{"name":"copy","states":[{"device":0,"axis_values":[{"name":"T","type":"type","value":"I32"},
{"name":"Elements","type":"int64","value":"65536"}],"is_skipped":%v,"summaries":[%s]}]}]}`, skipped, summaries)
}

func tag(name, value string) string {
	return fmt.Sprintf(`{"tag":%q,"data":[{"name":"value","type":"float64","value":%q}]}`, name, value)
}

func google(rows string) string {
	return `{"context":{"date":"2026-11-20T10:00:00+01:00","host_name":"h","num_cpus":8},"benchmarks":[` + rows + `]}`
}

// rep is a repetition of a benchmark of google-benchmark in ms, aggregate one of its statistics.
func rep(name string, index int, ms float64) string {
	return fmt.Sprintf(`{"name":%q,"run_name":%[1]q,"run_type":"iteration","repetitions":2,"repetition_index":%d,`+
		`"real_time":%v,"time_unit":"ms"}`, name, index, ms)
}

func aggregate(name, statistic string, ms float64) string {
	return fmt.Sprintf(`{"name":"%s_%s","run_name":%[1]q,"run_type":"aggregate","aggregate_name":%[2]q,`+
		`"real_time":%v,"time_unit":"ms"}`, name, statistic, ms)
}

// asv2 is a result file of asv, version 2.
func asv2(results string) string {
	return `{"commit_hash":"a","params":{"machine":"m"},"result_columns":["result","params"],"results":{` + results +
		`},"version":2}`
}

// genAIFile has the form of profile_export_genai_perf.json (triton-inference-server/perf_analyzer, genai_perf,
// metrics/statistics.py), shortened.
const genAIFile = `{"request_throughput":{"unit":"requests/sec","avg":2.15},
"time_to_first_token":{"unit":"ms","avg":230,"p1":81,"p25":141,"p50":177,"p99":687,"min":75,"max":693,"std":152},
"inter_token_latency":{"unit":"ms","avg":11.84},"output_token_throughput":{"unit":"tokens/sec","avg":1172.1},
"output_sequence_length":{"unit":"tokens","avg":543.6,"p99":1472},"request_count":{"unit":"count","avg":96},
"http_req_duration":{"unit":"ms","avg":6737.7},"input_config":{"model":["m"],"concurrency":16,"goodput":null}}`

// k6File is a shortened summary of k6 (grafana/k6, --summary-export) with more metrics.
func k6File(more string) string {
	return `{"metrics":{` + more + `"http_req_duration":{"avg":6,"min":1,"med":5,"max":25,"p(95)":8,
"thresholds":{"p(95)<50":false}},"http_reqs":{"count":8,"rate":4},"iterations":{"count":6,"rate":3},
"vus":{"value":10,"min":10,"max":10}},"root_group":{"name":"","path":"","groups":{},"checks":{}}}`
}

// k6Machine is a machine-readable summary of k6 (schema 1.0.0, as of k6 1.5) with more metrics, and failed checks.
func k6Machine(fails int, more string) string {
	metric := func(name, kind, values string) string {
		return fmt.Sprintf(`{"contains":"default","name":%q,"type":%q,"values":{%s}}`, name, kind, values)
	}
	return `{"config":{"duration":2.5,"execution":"local","script":"a.js"},"metadata":{"generatedAt":` +
		`"2026-01-15T10:30:45.123Z","k6Version":"1.5.0"},"results":{"checks":{"metrics":[` +
		metric("checks_total", "counter", `"count":8`) + "," +
		metric("checks_failed", "rate", fmt.Sprintf(`"matches":%d,"rate":0,"total":8`, fails)) + "," +
		metric("checks_succeeded", "rate", fmt.Sprintf(`"matches":%d,"rate":1,"total":8`, 8-fails)) +
		`],"results":[{"fails":0,"name":"status is 200","passes":8}]},"metrics":[` + more +
		metric("http_reqs", "counter", `"count":10`) + "," +
		metric("http_req_failed", "rate", `"matches":0,"rate":0,"total":10`) + "," +
		metric("http_req_duration", "trend", `"avg":6,"max":25,"med":5,"min":1,"p(90)":7,"p(95)":8`) + "," +
		metric("vus_max", "gauge", `"max":10,"min":10,"value":10`) + `]},"version":"1.0.0"}`
}

// Read reads a file of one process.
func Read(r io.Reader, name string) (*model.Session, error) {
	text, _ := io.ReadAll(r)
	loads, err := read(text, name, "")
	if err != nil {
		return nil, err
	}
	return join(loads, name)
}

// formatNamed is the format of a text, nil for none.
func formatNamed(text string) *format {
	return formatOf(parse([]byte(text)), "a")
}

// TestRead gives each format with the rows that it has, in base units, or a part of the refusal.
func TestRead(t *testing.T) {
	var columns strings.Builder
	for i := range mostKeys {
		fmt.Fprintf(&columns, ",c%d", i)
	}
	for _, tt := range []struct{ name, file, text, want string }{
		{"nvbench", "a.json", nv(false, tag("nv/cold/time/cpu/mean", "2e-6")+","+tag("nv/cold/time/gpu/mean",
			"1.5e-6")),
			"copy T=I32 Elements=65536 gpu_duration 1500"},
		{"nvbench, axes of several words", "a.json", strings.Replace(nv(false, tag("nv/batch/time/gpu/mean", "2e-6")),
			"Elements", "Array Size", 1), "copy T=I32 Array_Size=65536 gpu_duration 2000"},
		{"nvbench of the CPU", "a.json", nv(false, tag("nv/cpu_only/time/cpu/mean", "0.002")),
			"copy T=I32 Elements=65536 duration 2e+06"},
		{"nvbench skipped", "a.json", nv(true, ""), "holds no measurement of nvbench"},
		{"nvbench without a time", "a.json", nv(false, ""),
			`"copy T=I32 Elements=65536" was not skipped and has no time`},
		{"nvbench not a number", "a.json", nv(false, tag("nv/cold/time/gpu/mean", "nan")), `"nan" is no number`},
		{"a long number", "a.csv", "N,T-ms\n8," + strings.Repeat("1", 1000) + "\n", `…" is no number`},
		{"many columns", "a.csv", "N,T-ms" + columns.String() + "\n", "a.csv:1: it has more than 5000 columns"},
		{"google-benchmark", "a.json", google(`{"name":"BM/8","run_name":"BM/8","run_type":"iteration","real_time":3,
			"cpu_time":9,"time_unit":"us","items_per_second":5},
			{"name":"BM/8","run_name":"BM/8","run_type":"iteration","real_time":1,"time_unit":"us"},
			{"name":"BM/8","run_name":"BM/8","run_type":"iteration","real_time":2,"time_unit":"us"},
			{"name":"BM/8_mean","run_name":"BM/8","run_type":"aggregate","aggregate_name":"mean","real_time":2,
				"time_unit":"us"}`), "BM/8 duration 2000"},
		{"google-benchmark aggregates", "a.json", google(`{"name":"B_mean","run_name":"B","run_type":"aggregate",
			"aggregate_name":"mean","real_time":2,"time_unit":"ms"},
			{"name":"B_median","run_name":"B","run_type":"aggregate","aggregate_name":"median","real_time":3,
				"time_unit":"ms"}`), "B duration 3e+06"},
		{"google-benchmark, one name twice", "a.json", google(rep("B", 0, 1) + "," + rep("B", 1, 3) + "," +
			rep("B", 0, 8) + "," + rep("B", 1, 10)), "B duration 2e+06, B#2 duration 9e+06"},
		{"google-benchmark aggregates of one name twice", "a.json", google(aggregate("B", "mean", 2) + "," +
			aggregate("B", "stddev", 1) + "," + aggregate("B", "mean", 4) + "," + aggregate("B", "stddev", 1)),
			"B duration 2e+06, B#2 duration 4e+06"},
		{"google-benchmark before 1.5", "a.json", google(`{"name":"B","real_time":2,"time_unit":"ms"},
			{"name":"B_mean","real_time":2,"time_unit":"ms"},{"name":"B_stddev","real_time":1,"time_unit":"ms"},
			{"name":"C_median","real_time":4,"time_unit":"ms"},{"name":"C_stddev","real_time":1,"time_unit":"ms"},
			{"name":"D_BigO","cpu_coefficient":1,"time_unit":"ns"},{"name":"D_RMS","rms":1},
			{"name":"find_median","real_time":5,"time_unit":"ms"}`),
			"B duration 2e+06, C duration 4e+06, find_median duration 5e+06"},
		{"google-benchmark failed", "a.json",
			google(`{"name":"B","run_name":"B","run_type":"iteration","error_occurred":true,"error_message":"out of memory"}`),
			"1 benchmark failed: B (out of memory)"},
		{"google-benchmark unit", "a.json", google(`{"name":"B","run_type":"iteration","real_time":2,"time_unit":"h"}`),
			`"B": its unit "h" is not one of duration`},
		{"google-benchmark without a time", "a.json", google(`{"name":"B","run_type":"iteration","time_unit":"ns"}`),
			`"B": it has no value`},
		{"google-benchmark zero", "a.json",
			google(`{"name":"B","run_type":"iteration","real_time":0,"time_unit":"ns"}`),
			"a time of 0 is no measurement"},
		{"pytest-benchmark", "a.json", `{"machine_info":{"node":"h"},"commit_info":{},"benchmarks":[{"name":"t",
			"fullname":"a.py::t","stats":{"median":0.002,"mean":9}}],
			"datetime":"2026-11-20T10:00:00.123456+00:00","version":"4.0"}`, "a.py::t duration 2e+06"},
		{"asv", "a.json", `{"commit_hash":"a","params":{"machine":"m"},"result_columns":["result","params"],"results":{
			"b.Suite.time_x":[[0.5,0.25],[["1","2"]]],"b.peakmem_y":[[1024]],"b.track_z":[[7]]},"version":2}`,
			"b.Suite.time_x(1) duration 5e+08, b.Suite.time_x(2) duration 2.5e+08, b.peakmem_y memory 1024, " +
				"b.track_z value 7"},
		{"asv failed for a parameter", "a.json", asv2(`"time_x":[[1,null],[["1","2"]]]`), "time_x(1) duration 1e+09"},
		{"asv failed", "a.json", asv2(`"time_x":[null,[["1","2"]]],"time_y":[[1],[]],"time_z":[]`),
			"time_y duration 1e+09"},
		{"asv skipped", "a.json", asv2(`"time_x":[[NaN,0.5],[["1","2"]]]`), "time_x(2) duration 5e+08"},
		{"asv infinite", "a.json", asv2(`"time_x":[[-Infinity],[]]`), `time_x: "-Infinity" is no number`},
		{"asv other number", "a.json", asv2(`"time_x":[[1,2],[["1","2","3"]]]`), "2 values for 3 combinations"},
		{"asv no list", "a.json", asv2(`"time_x":[[1],7]`), `results["time_x"]: it is no list of the columns`},
		{"asv version 1", "a.json", `{"commit_hash":"a","params":{"machine":"m"},"results":{"mem_w":3,"time_s":NaN,` +
			`"time_x":{"params":[["'a'","'b'"]],"result":[1,2]},"time_y":{"result":4,"stats":[]}},"version":1}`,
			"mem_w memory 3, time_x('a') duration 1e+09, time_x('b') duration 2e+09, time_y duration 4e+09"},
		{"asv version 1 failed", "a.json",
			`{"commit_hash":"a","params":{"machine":"m"},"results":{"time_x":null,"time_y":{"result":null}}}`,
			"2 benchmarks failed: time_x, time_y"},
		{"asv failed as a whole", "a.json",
			`{"commit_hash":"a","params":{"machine":"m"},"results":{"time_x":{"params":[["1","2"]],` +
				`"result":[null]}}}`, "1 benchmark failed: time_x"},
		{"asv empty", "a.json",
			`{"commit_hash":"a","params":{"machine":"m"},"results":{"time_x":{"params":[["1"]],"result":[]}}}`,
			"0 values for 1 combinations"},
		{"nvbench before meta", "a.json",
			`{"devices":[],"benchmarks":[{"name":"c","states":{"D":{"axis_values":{},"summaries":{}}}}]}`,
			"a.json is a result of an nvbench that wrote no meta yet"},
		{"vllm latency", "a.json", `{"avg_latency":4.5,"latencies":[4,5],"percentiles":{"10":3,"50":4,"99":5}}`,
			"mean latency duration 4.5e+09, p50 latency duration 4e+09, p99 latency duration 5e+09"},
		{"serving metrics of vllm throughput", "a.json", `{"elapsed_time":20,"num_requests":200,"total_num_tokens":8,` +
			`"requests_per_second":9.75,"tokens_per_second":4000}`,
			"request throughput item_rate 9.75, token throughput item_rate 4000"},
		{"triton.testing with dashes", "a.csv", "N,Triton-GB/s,Model-B,Torch-ms\n8,100,3,0.5\n",
			"Model-B N=8 value 3, Torch N=8 gpu_duration 500000, Triton N=8 gpu_bandwidth 1e+11"},
		{"criterion", "t/criterion/group/f/new/estimates.json", `{"mean":{"confidence_interval":{},"point_estimate":2,
			"standard_error":1},
			"median":{"point_estimate":1.5},"std_dev":{"point_estimate":9}}`, "group/f duration 1.5"},
		{"hyperfine", "a.json",
			`{"results":[{"command":"./a","mean":2,"median":1,"times":[1,1,4],"exit_codes":[0,0,0]}]}`,
			"./a duration 1e+09"},
		{"early criterion", "criterion/f/new/estimates.json", `{"Median":{"confidence_interval":{},` +
			`"point_estimate":1.5,"standard_error":1},"StdDev":{"point_estimate":9}}`, "f duration 1.5"},
		{"criterion change", "criterion/f/change/estimates.json", `{"median":{"confidence_interval":{},` +
			`"point_estimate":0.5,"standard_error":1}}`, "holds the change between two runs of Criterion, not a time"},
		{"hyperfine parameters", "a.json",
			`{"results":[{"command":"make","median":1,"times":[1],"parameters":{"j":"1"}},` +
				`{"command":"make","median":2,"times":[2],"parameters":{"j":"8"}}]}`,
			"make j=1 duration 1e+09, make j=8 duration 2e+09"},
		{"hyperfine twice", "a.json",
			`{"results":[{"command":"a","median":1,"times":[1]},{"command":"a","median":2,"times":[2]}]}`,
			"a duration 1e+09, a#2 duration 2e+09"},
		{"hyperfine failed", "a.json", `{"results":[{"command":"./a","median":1,"times":[1],"exit_codes":[1]}]}`,
			"1 benchmark failed: ./a"},
		{"llama-bench", "a.json", `[{"model_filename":"m.gguf","model_type":"llama 7B","n_prompt":512,"n_gen":0,` +
			`"avg_ts":1234.5,"avg_ns":1,"gpu_info":"NVIDIA H100"}]`,
			"llama 7B pp512 item_rate 1234.5"},
		{"llama-bench lines", "a.jsonl",
			`{"model_filename":"m","model_type":"l","n_prompt":0,"n_gen":128,"type_k":"q8_0","avg_ts":7}` + "\n" +
				`{"model_filename":"m","model_type":"l","n_prompt":0,"n_gen":64,"type_k":"f16","avg_ts":8}`,
			"l tg128 type_k=q8_0 item_rate 7, l tg64 item_rate 8"},
		{"llama-bench CSV", "a.csv", "build_commit,model_type,n_prompt,n_gen,avg_ts\n\"b\",\"l\",\"8\",\"0\",\"3\"\n",
			"l pp8 item_rate 3"},
		{"llama-bench of 2026", "a.csv",
			"build_commit,model_type,n_gpu_layers,flash_attn,n_prompt,n_gen,n_depth,avg_ts\n" +
				"\"b\",\"l\",\"-1\",\"-1\",\"8\",\"0\",\"0\",\"3\"\n\"b\",\"l\",\"0\",\"1\",\"0\",\"9\",\"512\",\"4\"\n",
			"l pp8 item_rate 3, l tg9 n_depth=512 n_gpu_layers=0 flash_attn=1 item_rate 4"},
		{"llama-bench threads", "a.json", `[{"model_filename":"m","model_type":"l","n_gen":16,"n_threads":1,` +
			`"test_time":"1","avg_ts":7},{"model_filename":"m","model_type":"l","n_gen":16,"n_threads":8,"test_time":"2",` +
			`"avg_ts":9}]`, "l tg16 n_threads=1 item_rate 7, l tg16 n_threads=8 item_rate 9"},
		{"llama-bench not a number", "a.json", `[{"model_filename":"m","model_type":"l","n_gen":16,"avg_ts":NaN}]`,
			`a.json: "l tg16": "NaN" is no number`},
		{"vllm", "a.json", `{"date":"20260501-120000","completed":100,"failed":0,"request_throughput":5.5,` +
			`"mean_ttft_ms":10,"p99_ttft_ms":20,"std_ttft_ms":3,"duration":9}`,
			"mean TTFT duration 1e+07, p99 TTFT duration 2e+07, request throughput item_rate 5.5"},
		{"sglang without a rate limit", "a.jsonl", `{"request_rate":Infinity,"mean_ttft_ms":10,"median_itl_ms":0,` +
			`"request_goodput":null}`, "mean TTFT duration 1e+07"},
		{"sglang not a number", "a.jsonl", `{"request_throughput":1,"mean_ttft_ms":NaN}`,
			`mean_ttft_ms: "NaN" is no number`},
		{"loads of a sweep", "a.json", `[{"request_throughput":5},{"request_throughput":6}]`, "holds several loads"},
		{"vllm with failed requests", "a.json", `{"completed":99,"failed":1,"request_throughput":5.5}`,
			"requests failed: failed is 1"},
		{"sglang lines", "a.jsonl", `{"request_throughput":5,"median_itl_ms":2}` + "\n" +
			`{"request_throughput":6,"median_itl_ms":2}`, "holds several loads"},
		{"genai-perf", "a.json", genAIFile, "mean ITL duration 1.184e+07, mean TTFT duration 2.3e+08, " +
			"output throughput item_rate 1172.1, p50 TTFT duration 1.77e+08, p99 TTFT duration 6.87e+08, " +
			"request throughput item_rate 2.15"},
		{"genai-perf in us", "a.json",
			`{"request_latency":{"avg":5,"unit":"us"},"input_config":{"name":"a","unit":"b",` +
				`"value":"c","goodput":{"request_latency":8}}}`, "mean request latency duration 5000"},
		{"genai-perf of another unit", "a.json", `{"request_latency":{"unit":"tokens","avg":5}}`,
			`request_latency: its unit "tokens" is neither of time nor a rate`},
		{"genai-perf not a number", "a.json", `{"request_latency":{"unit":"ms","avg":NaN}}`,
			`request_latency: "NaN" is no number`},
		{"genai-perf no object", "a.json", `{"request_latency":{"unit":"ms","avg":1},"inter_token_latency":3}`,
			"inter_token_latency: it is no object of a unit and statistics"},
		{"genai-perf: failed requests of aiperf", "a.json",
			`{"aiperf_version":"0.8.0","error_request_count":{"unit":"requests",` +
				`"avg":20.0}}`, "requests failed: error_request_count is 20"},
		{"k6 summary-export", "a.json", k6File(""), "iterations/s item_rate 3, mean request latency duration 6e+06, " +
			"median request latency duration 5e+06, p95 request latency duration 8e+06, request throughput " +
			"item_rate 4"},
		{"k6 machine-readable", "a.json", k6Machine(0, ""), "checks more_value 1, " +
			"mean request latency duration 6e+06, " +
			"median request latency duration 5e+06, p90 request latency duration 7e+06, p95 request latency duration " +
			"8e+06, request throughput item_rate 4"},
		{"k6 machine-readable, failed", "a.json", k6Machine(2, ""), "requests failed: checks.fails is 2"},
		{"k6 machine-readable, dropped", "a.json", k6Machine(0, `{"name":"dropped_iterations","type":"counter",`+
			`"values":{"count":3}},`), "3 iterations were dropped"},
		{"k6 handleSummary", "a.json", `{"root_group":{"name":""},"metrics":{"http_req_duration":{"type":"trend",` +
			`"contains":"time","values":{"avg":6,"min":1,"max":9,"p(99.9)":8},"thresholds":{"p(95)<9":{"ok":true}}},` +
			`"http_req_failed":{"type":"rate","values":{"rate":0,"passes":0,"fails":8}}}}`,
			"mean request latency duration 6e+06, p99.9 request latency duration 8e+06"},
		{"k6 dropped iterations", "a.json", k6File(`"dropped_iterations":{"count":17,"rate":5.6},`),
			"the load generator could not generate the load in time: 17 iterations were dropped"},
		{"k6 none dropped", "a.json", k6File(`"dropped_iterations":{"count":0,"rate":0},`),
			"iterations/s item_rate 3, mean request latency duration 6e+06, median request latency duration 5e+06, " +
				"p95 request latency duration 8e+06, request throughput item_rate 4"},
		{"k6 failed requests", "a.json", k6File(`"http_req_failed":{"passes":2,"fails":6,"value":0.25},`),
			"requests failed: http_req_failed.passes is 2"},
		{"k6 failed checks", "a.json", k6File(`"checks":{"passes":9,"fails":1,"value":0.9},`),
			"requests failed: checks.fails is 1"},
		{"k6 rate of checks", "a.json",
			`{"metrics":{"iterations":{"values":{"rate":3}},"checks":{"values":{"rate":0.9}}}}`,
			"requests failed: checks.rate is 0.9"},
		{"k6 failed rate", "a.json", `{"metrics":{"iterations":{"values":{"rate":3}},` +
			`"http_req_failed":{"values":{"rate":0.25}}}}`, "requests failed: http_req_failed.rate is 0.25"},
		{"k6 not a number", "a.json", `{"metrics":{"http_req_duration":{"avg":"@{min=3}"}}}`,
			`http_req_duration: "@{min=3}" is no number`},
		{"k6 without a rate", "a.json", strings.Replace(k6Machine(0, `{"name":"iterations","type":"counter","values":`+
			`{"count":8}},`), `"duration":2.5,`, "", 1), "checks more_value 1, mean request latency " +
			"duration 6e+06, median request latency duration 5e+06, " +
			"p90 request latency duration 7e+06, p95 request latency duration 8e+06"},
		{"k6 with a metric twice", "a.json", k6Machine(0, `{"name":"http_req_duration","type":"trend","values":`+
			`{"avg":9}},`), `holds two metrics "http_req_duration"`},
		{"k6 without HTTP", "a.json", `{"metrics":{"iteration_duration":{"avg":3,"p(95)":5}}}`,
			"mean iteration duration duration 3e+06, p95 iteration duration duration 5e+06"},
		{"k6 without requests", "a.json", `{"metrics":{"iterations":{"count":0}}}`, "holds no measurement of k6"},
		{"serving metrics", "a.json",
			`{"p99_ttft_ms":20,"tokens_per_s":5,"error_count":0,"concurrency":8,"model":"m",` +
				`"max_ttft_ms":99}`, "p99 TTFT duration 2e+07, token throughput item_rate 5"},
		{"twins beside a name with a number", "a.json", google(strings.Join([]string{rep("B", 0, 2), rep("B", 0, 4),
			rep("B#2", 0, 90)}, ",")), "B duration 2e+06, B##2 duration 4e+06, B#2 duration 9e+07"},
		{"hyperfine, twins beside a name with a number", "a.json", `{"results":[{"command":"a","median":1},` +
			`{"command":"a","median":2},{"command":"a#2","median":90}]}`,
			"a duration 1e+09, a##2 duration 2e+09, a#2 duration 9e+10"},
		{"JUnit, twins beside a name with a number", "a.xml", `<testsuite><testcase name="t" time="1"/>` +
			`<testcase name="t" time="2"/><testcase name="t#2" time="90"/></testsuite>`,
			"t duration 1e+09, t##2 duration 2e+09, t#2 duration 9e+10"},
		{"github-action-benchmark twice", "a.json", `[{"name":"a","unit":"ms","value":1},{"name":"a","unit":"ms",` +
			`"value":3},{"name":"a","unit":"ops/s","value":5}]`,
			"a duration 1e+06, a item_rate 5, a#2 duration 3e+06"},
		{"pytest-benchmark twice", "a.json", `{"machine_info":{},"commit_info":{},"benchmarks":[{"name":"t",` +
			`"stats":{"median":1}},{"name":"t","stats":{"median":3}}]}`, "t duration 1e+09, t#2 duration 3e+09"},
		{"nvbench twice", "a.json", nv(false, tag("nv/cold/time/gpu/mean", "1e-6")+`]},{"device":0,"axis_values":[`+
			`{"name":"T","value":"I32"},{"name":"Elements","value":"65536"}],"summaries":[`+
			tag("nv/cold/time/gpu/mean", "3e-6")), "copy T=I32 Elements=65536 gpu_duration 1000, copy T=I32 " +
			"Elements=65536#2 gpu_duration 3000"},
		{"nccl-tests of two runs", "a.txt", ncclText + ncclText, "holds the tables of two runs"},
		{"nccl-tests of two collectives", "a.json", "# Collective test starting: a_perf\n" +
			ncclOne + "# Collective test starting: b_perf\n" + ncclOne,
			"a 8 B float none out-of-place duration 5000, " +
				"a average bus bandwidth bandwidth 1e+09, " +
				"b 8 B float none out-of-place duration 5000, b average bus bandwidth " +
				"bandwidth 1e+09"},
		{"genai-perf cancelled", "a.json", `{"request_latency":{"unit":"ms","avg":5},"was_cancelled":true}`,
			"the run was cancelled"},
		{"genai-perf with errors", "a.json", `{"request_latency":{"unit":"ms","avg":5},"error_summary":[{"count":2}]}`,
			"requests failed: error_summary is 2"},
		{"serving metrics with an unknown number", "a.json", `{"p99_ttft_ms":20,"queue_depth":5}`,
			`"queue_depth" is no serving metric that nsgate knows`},
		{"serving metrics without a unit", "a.json", `{"p99_ttft_ms":20,"p99_itl":5}`,
			`"p99_itl" is a latency without a unit`},
		{"serving metrics with failed requests", "a.json", `{"p99_ttft_ms":20,"errors":3}`,
			"requests failed: errors is 3"},
		{"serving metrics twice", "a.json", `{"p99_ttft_ms":20,"ttft_p99_ms":21}`,
			"ttft_p99_ms: the file has another value of it"},
		{"serving metrics twice the same", "a.json", `{"p99_ttft_ms":20,"ttft_p99_s":0.02}`, "p99 TTFT duration 2e+07"},
		{"serving metrics below zero", "a.json", `{"p99_ttft_ms":-5,"tokens_per_s":5}`,
			"p99_ttft_ms: -5 is no measurement"},
		{"serving metrics of zero", "a.json", `{"p99_ttft_ms":0,"tokens_per_s":5}`, "a time of 0 is no measurement"},
		{"serving metrics not a number", "a.json", `{"p99_ttft_ms":NaN,"tokens_per_s":5}`,
			`p99_ttft_ms: "NaN" is no number`},
		{"serving metrics nested", "a.json", `{"p99_ttft_ms":20,"config":{"a":1}}`,
			"is no file of a benchmark harness"},
		{"settings alone", "a.json", `{"concurrency":8,"duration":20,"errors":0}`, "holds no metric by a known name"},
		{"github-action-benchmark", "a.json",
			`[{"name":"a","unit":"ms","value":2},{"name":"b","unit":"MB/s","value":3},{"name":"c","unit":"points","value":4}]`,
			"a duration 2e+06, b bandwidth 3e+06, c value 4"},
		{"github-action-benchmark with texts", "a.json",
			`[{"name":"a","unit":"ms","value":"2"},{"name":"b","value":"30"}]`, "a duration 2e+06, b value 30"},
		{"github-action-benchmark not a number", "a.json", `[{"name":"a","unit":"ms","value":"2 ms"}]`,
			`a.json: "a": "2 ms" is no number`},
		{"github-action-benchmark, data.js", "data.js",
			`window.BENCHMARK_DATA = {"lastUpdate":1,"repoUrl":"","entries":` +
				`{"B":[{"tool":"cargo","benches":[{"name":"a","value":2,"unit":"ns/iter"}]}]}}`,
			"data.js is the history that github-action-benchmark keeps"},
		{"github-action-benchmark, its cache", "a.json", "{\n\"lastUpdate\":1,\"entries\":{\"B\":[{\"benches\":" +
			`[{"name":"a","value":2,"unit":"ns/iter"}]}]}}`,
			"a.json is the history that github-action-benchmark keeps"},
		{"nccl-tests", "a.txt", ncclText, "268435456 B float sum in-place duration 1.2859e+06, " +
			"268435456 B float sum out-of-place duration 1.2918e+06, 8589934592 B float sum in-place duration " +
			"3.439e+07, 8589934592 B float sum out-of-place duration 3.4417e+07, average bus bandwidth " +
			"bandwidth 4.43007e+11"},
		{"nccl-tests of a collective, with wrong values and times of day", "a.txt", "# Collective test starting: " +
			"build/all_gather_perf\n#  size  count  type  redop  root  time  algbw  busbw  #wrong  time  algbw  " +
			"busbw  #wrong  timestamp\n 1024 32 float none -1 14.02 0.07 0.06 0 13.9 0.07 0.06 3 2026-01-02 " +
			"03:04:05\n", "all_gather 1024 B float none out-of-place duration 14020"},
		{"nccl-tests with all values wrong", "a.txt", "# size count type redop root time algbw busbw #wrong\n" +
			"8 2 float sum 3 1 1 1 5\n", "1 benchmark failed: 8 B float sum 3 out-of-place (5 wrong values)"},
		{"nccl-tests before 2.13", "a.txt", "# size count type redop time algbw busbw error time algbw busbw error\n" +
			" 8 2 float sum 35.81 0.00 0.00 2e-07 35.73 0.00 0.00 1e-07\n# Avg bus bandwidth    : 18.5134 \n",
			"8 B float sum in-place duration 35730, 8 B float sum out-of-place duration 35810, average bus bandwidth " +
				"bandwidth 1.85134e+10"},
		{"nccl-tests JSON", "a.json", ncclJSON, "all_reduce 1024 B float sum in-place duration 13500, all_reduce " +
			"1024 B float sum out-of-place duration 14020, average bus bandwidth bandwidth 6e+07"},
		{"trtllm-bench", "a.json", trtllmFile, "mean TPOT duration 6.7e+06, mean TTFT duration 5.05e+07, mean " +
			"request latency duration 9.0025e+08, output speed per user item_rate 150, output throughput item_rate " +
			"10918.4, output throughput per user item_rate 142.2, p50 TPOT duration 6.5e+06, p50 TTFT duration " +
			"4.9e+07, p50 request latency duration 9.01e+08, p90 request latency duration 9.505e+08, p95 request " +
			"latency duration 9.6e+08, p99 TPOT duration 8e+06, p99 TTFT duration 8e+07, p99 request latency " +
			"duration 9.9e+08, request throughput item_rate 85.3, total token throughput item_rate 21836.8"},
		{"guidellm", "a.json", guideFile, "mean ITL duration 6.79e+06, mean TTFT duration 4.923e+07, mean request " +
			"latency duration 2.5e+09, median ITL duration 6.77e+06, median TTFT duration 4.87e+07, median request " +
			"latency duration 2.4e+09, output throughput item_rate 51.76, p90 TTFT duration 6e+07, p95 TTFT " +
			"duration 7e+07, p99 ITL duration 7.11e+06, p99 TTFT duration 7.779e+07, p99 request latency duration " +
			"3.5e+09, request throughput item_rate 2.49, token throughput item_rate 616.86"},
		{"guidellm with errors", "a.json", strings.Replace(guideFile, `"errored":0`, `"errored":500`, 1),
			"requests failed: request_totals.errored is 500"},
		{"userbenchmark", "a.json", userFile, "alexnet-eval_cmem memory 4.16259765625e+08, alexnet-eval_latency " +
			"duration 5.830966075000001e+07, x value 3"},
		{"mlperf", "a.txt", mlperfText, "50.00 percentile latency duration 2.3032737e+07, 99.90 percentile latency " +
			"duration 4.6927185e+07, completed samples per second item_rate 32521.9, mean latency duration " +
			"2.3344794e+07"},
		{"mlperf INVALID", "a.txt", strings.Replace(mlperfText, "Result is : VALID\n  Performance constraints "+
			"satisfied : Yes", "Result is : INVALID\n  Performance constraints satisfied : NO", 1),
			"the result is INVALID: Performance constraints satisfied"},
		{"BenchmarkTools.jl", "a.json", juliaFile, "apply/large duration 7.531234e+06, apply/large memory memory " +
			"3.145872e+06, est duration 5.5, est memory memory 0"},
		{"BenchmarkTools.jl, parameters", "tune.json", `[{"BenchmarkTools":"1"},[["BenchmarkTools.Parameters",{}]]]`,
			"holds no measurement of BenchmarkTools.jl"},
		{"llama-bench SQL", "a.sql", "CREATE TABLE IF NOT EXISTS test (\n  build_commit TEXT\n);\n",
			"a.sql is the SQL of llama-bench"},
		{"trtexec", "a.log", trtexecText, "mean GPU compute time gpu_duration 1.875e+06, mean enqueue time duration " +
			"250000, mean latency duration 2.125e+06, median GPU compute time gpu_duration 1.75e+06, median enqueue " +
			"time duration 187500, median latency duration 2.25e+06, p90 latency duration 2.375e+06, p99 GPU compute " +
			"time gpu_duration 2.125e+06, p99 enqueue time duration 500000, p99 latency duration 2.4375e+06, " +
			"throughput item_rate 523.125"},
		{"trtexec of TensorRT 7", "a.log", trtexecOld, "mean latency duration 4.5e+06, median GPU compute time " +
			"gpu_duration 4.125e+06, p99 latency duration 5.5e+06"},
		{"trtexec failed", "a.log", strings.Replace(trtexecText, "PASSED", "FAILED", 1), "a.log: trtexec failed"},
		{"trtexec twice", "a.log", trtexecText + strings.ReplaceAll(trtexecText, "523", "522"),
			`"throughput": the file has another value of it`},
		{"trtexec without a summary", "a.log", trtexecText[:300], "holds no measurement of trtexec"},
		{"trtexec, times", "a.json", trtexecTimes, "median D2H latency duration 125000, median GPU compute time " +
			"gpu_duration 1.625e+06, median H2D latency duration 250000, median end-to-end host latency duration " +
			"2.5e+06, median latency duration 2e+06"},
		{"trtexec before 8, times", "a.json", `[{"startInMs":1,"inMs":0,"computeMs":2,"outMs":0.5,"latencyMs":2.5}]`,
			"median D2H latency duration 500000, median GPU compute time gpu_duration 2e+06, median latency duration " +
				"2.5e+06"},
		{"trtexec, layers", "a.json", `[{"count":9},{"name":"conv","timeMs":18,"averageMs":2,"medianMs":1.5,` +
			`"percentage":100},{"name":"none","timeMs":0,"averageMs":0,"percentage":0}]`, "conv gpu_duration 1.5e+06"},
		{"perf_analyzer", "a.csv", perfFile, "concurrency=1 inference throughput item_rate 812.5, concurrency=1 mean " +
			"latency duration 1.25e+06, concurrency=1 mean server compute infer duration 700000, concurrency=1 p50 " +
			"latency duration 1.2e+06, concurrency=1 p99 latency duration 1.5e+06, concurrency=4 inference " +
			"throughput item_rate 1500, concurrency=4 mean server compute infer duration 900000, concurrency=4 p50 " +
			"latency duration 1.25e+06, concurrency=4 p99 latency duration 1.55e+06"},
		{"perf_analyzer of a language model", "a.csv", "Request Rate,Inferences/Second,Response Throughput," +
			"Client Send,Client Recv,Avg First Token Latency,Avg Token-to-Token Latency\n10,150,123.5,2,3,3.5,2\n",
			"inference throughput item_rate 150, mean first token latency duration 3500, mean token-to-token latency " +
				"duration 2000, response throughput item_rate 123.5"},
		{"perf_analyzer, one load twice", "a.csv", "Concurrency,Inferences/Second,Client Send\n1,150,2\n1,160,2\n",
			"holds several loads of the same settings (concurrency=1)"},
		{"Catch2", "a.xml", catchFile, "Fib/20 duration 14500.25, Fib/s/20 duration 5, Fib/s/20#2 duration 6"},
		{"Catch2, version 2", "a.xml",
			`<Catch name="t"><Group name="t"><TestCase name="a"><BenchmarkResults name="b">` +
				`<mean value="7"/></BenchmarkResults></TestCase></Group></Catch>`, "a/b duration 7"},
		{"Catch2 without benchmarks", "a.xml", `<Catch2TestRun name="t"><TestCase name="a"/></Catch2TestRun>`,
			"holds no measurement of Catch2"},
		{"go test", "a.txt", goText, "BenchmarkA/n=8-8 duration 12346, BenchmarkA/n=8-8 allocs/op value 1, " +
			"BenchmarkA/n=8-8 memory memory 12, BenchmarkB duration 2e+09, BenchmarkB tokens/s item_rate 250.5"},
		{"go test -json", "a.json", `{"Action":"start","Package":"p"}{"Action":"output","Package":"p","Output":` +
			`"BenchmarkA-8 \t"}{"Action":"output","Package":"p","Output":"       8\t  5 ns/op\n"}`,
			"BenchmarkA-8 duration 5"},
		{"go test of two packages", "a.txt", "pkg: a/b\nBenchmarkA 1 5 ns/op\npkg: c\nBenchmarkA 1 6 ns/op\n",
			"a/b/BenchmarkA duration 5, c/BenchmarkA duration 6"},
		{"go test, failed", "a.txt", goText + "panic: x\nFAIL\ta/b\t0.3s\n", "a.txt: go test failed"},
		{"go test, a benchmark failed", "a.txt", "pkg: p\nBenchmarkA \t 1\t 5 ns/op\n--- FAIL: BenchmarkB-8\nFAIL\n" +
			"FAIL\tp\t0.3s\n", "BenchmarkA duration 5"},
		{"transformers Trainer", "a.json", trainerFile, "eval_accuracy value 0.75, train_loss value 0.5, " +
			"train_runtime duration 1.235e+11, train_samples_per_second item_rate 24.25, train_steps_per_second " +
			"item_rate 3.0625"},
		{"transformers Trainer, its state", "a.json", `{"log_history":[{"loss":1}],"global_step":3}`,
			"a.json is the state of a Trainer in mid-training"},
		{"cargo-criterion", "a.jsonl", cargoLines, "sort/8 duration 100250"},
		{"cargo-criterion, two runs", "a.jsonl", cargoLines + strings.Replace(cargoLines, "100.25", "99", 1),
			`"sort/8": the file has another value of it`},
		{"google-benchmark CSV", "a.csv", googleCSV, "BM<int, 2>/8 duration 13000"},
		{"google-benchmark CSV behind its log", "a.csv", "2026-01-02T03:04:05+00:00\nRunning ./a, b\n" + googleCSV,
			"BM<int, 2>/8 duration 13000"},
		{"google-benchmark CSV, cut", "a.csv", googleCSV + `"C",1,2` + "\n", "a.csv:9: wrong number of fields"},
		{"google-benchmark CSV behind its log, cut", "a.csv", "a\nb\n" + googleCSV + `"C",1,2` + "\n",
			"a.csv:11: wrong number of fields"},
		{"llama-bench behind its log", "a.txt",
			"ggml_cuda_init: found 1 CUDA devices:\n  Device 0: H100, VMM: yes\n[\n" +
				`  {"model_filename":"m","model_type":"l","n_gen":8,"avg_ts":7}` + "\n]\n", "l tg8 item_rate 7"},
		{"llama-bench, Markdown", "a.md", "| model     |       size |     params | backend |  test |   t/s |\n",
			"a.md is the Markdown of llama-bench"},
		{"google-benchmark, printed", "a.txt", "-----\nBenchmark               Time             CPU   Iterations\n",
			"a.txt is the printed table of google-benchmark"},
		{"libtest", "a.txt", "running 1 test\ntest bench_a ... bench:       1,234 ns/iter (+/- 56)\n",
			"a.txt is the printed text of libtest"},
		{"JMH", "a.json", `[{"jmhVersion":"1.37","benchmark":"a","primaryMetric":{"score":1}}]`,
			"a.json is the JSON of JMH"},
		{"JMH, printed", "a.txt", "Benchmark       (size)   Mode  Cnt   Score   Error  Units\n",
			"is the printed table of JMH"},
		{"JMH, CSV", "a.csv", "\"Benchmark\",\"Mode\",\"Threads\"\n\"a\",\"thrpt\",1\n", "a.csv is the CSV of JMH"},
		{"BenchmarkDotNet", "a.json", `{"HostEnvironmentInfo":{},"Benchmarks":[{"FullName":"a"}]}`,
			"a.json is the JSON of BenchmarkDotNet"},
		{"BenchmarkDotNet, Markdown", "a.md", "| Method |     Mean |     Error |\n", "a.md is the printed table of"},
		{"serving benchmark, printed", "a.log", "============ Serving Benchmark Result ============\n",
			"a.log is the printed summary of a serving benchmark"},
		{"hyperfine, printed", "a.txt", "Benchmark 1: a\n  Time (mean ± σ):     0.4 ms ±   0.1 ms\n",
			"a.txt is the printed text of hyperfine"},
		{"k6, printed", "a.txt", "    http_req_duration..............: avg=1ms min=1ms\n",
			"is the printed summary of k6"},
		{"Criterion, printed", "a.txt", "fib 20    time:   [26.029 us 26.251 us 26.505 us]\n",
			"a.txt is the printed text of Criterion"},
		{"pytest-benchmark, printed", "a.txt", "Name (time in us)         Min      Max\n",
			"a.txt is the printed table of pytest-benchmark"},
		{"nvbench, printed", "a.txt", "| T | Samples |  CPU Time  | Noise |  GPU Time  | Noise |\n",
			"a.txt is the printed table of nvbench"},
		{"unknown program", "a.js", `for(const s of a){f(1, "x",g(s)` + "\n", "is no file of a benchmark harness"},
		{"unknown with units", "a.json", `{"metrics":[{"name":"a","unit":"ms","value":2}]}`,
			"is no file of a benchmark harness"},
		{"memory that is free", "a.json",
			`[{"name":"Free memory","unit":"MB","value":2},{"name":"Memory","unit":"MB","value":3}]`,
			"Free memory value 2, Memory memory 3e+06"},
		{"UTF-16", "a.json", "\xff\xfe" + strings.Join(strings.Split(`[{"name":"a","unit":"ms","value":2}]`, ""),
			"\x00") +
			"\x00", "a duration 2e+06"},
		{"bencher", "a.json", `{"f":{"latency":{"value":88.0,"lower_value":87},"accuracy":{"value":0.5}}}`,
			"f duration 88, f accuracy value 0.5"},
		{"triton.testing", "a.csv", "N,Triton (GB/s),Torch (ms)\n1024,100,0.5\n",
			"Torch N=1024 gpu_duration 500000, Triton N=1024 gpu_bandwidth 1e+11"},
		{"triton.testing with a title", "a.csv", "M,N,Torch (jit) (GB/s),Triton (Run time (ms))\n8.000000,16,100,0.5\n",
			"Torch (jit) M=8 N=16 gpu_bandwidth 1e+11, Triton M=8 N=16 gpu_duration 500000"},
		{"triton.testing of another unit", "a.csv", "N,Gain (x),Gain (%),Triton (ms)\n8,2,50,1\n",
			"Gain (%) N=8 value 50, Gain (x) N=8 value 2, Triton N=8 gpu_duration 1e+06"},
		{"triton.testing without units", "a.csv", "N,Triton,Torch (jit)\n8,100,0.5\n",
			"a.csv: line 1: no column has a unit"},
		{"triton.testing of data types", "a.csv", "N_CTX,Triton [FP16],Flash-2\n1024,117.8,176.9\n",
			"no column has a unit"},
		{"triton.testing twice", "a.csv", "N,Triton (ms)\n8,1\n8,2\n",
			"line 2: the sizes N=8 are those of another line"},
		{"tritonbench of named sizes", "a.csv", "(M, N, K);aten-tflops;aten-speedup\n(8, 8, 8);2;\naverage;2;\n",
			"aten (M, N, K)=(8, 8, 8) gpu_flop_rate 2e+12"},
		{"tritonbench failed", "a.csv", "(M, N, K);aten-latency\n(8, 8, 8);CUDA OOM\n",
			"1 benchmark failed: aten (M, N, K)=(8, 8, 8) (CUDA OOM)"},
		{"tritonbench failed, its speedup first", "a.csv",
			"x_val;aten-speedup;aten-latency;aten-tflops\n8;CUDA OOM;;\n",
			"1 benchmark failed: aten x_val=8 (CUDA OOM)"},
		{"tritonbench with a remark", "a.csv", "x_val;a-best_config;a-latency;b-tbps;b-speedup\n8;BLOCK: 8;0.5;2;\n",
			"a x_val=8 gpu_duration 500000, b x_val=8 gpu_bandwidth 2e+12"},
		{"nvbench, a table", "a.csv",
			"Benchmark,Device,Device Name,Array Size,Skipped,GPU Time (sec)\nA (B, C),0,G,2,No,1\n",
			"a.csv is a CSV of nvbench, which has names without quotes"},
		{"tritonbench", "a.csv", "x_val;softmax-latency;softmax-speedup\n(8, 8);0.25 (±1.00%);1.5\n",
			"softmax x_val=(8, 8) gpu_duration 250000, softmax-speedup x_val=(8, 8) value 1.5"},
		{"triton.testing with decimal commas", "a.csv", "N;Triton (GB/s);Torch (ms)\n64,2;100,25;1,5e-1\n" +
			"64,4;7;1,234\n",
			"Torch N=64,2 gpu_duration 150000, Torch N=64,4 gpu_duration 1.234e+06, " +
				"Triton N=64,2 gpu_bandwidth 1.0025e+11, Triton N=64,4 gpu_bandwidth 7e+09"},
		{"google-benchmark with decimal commas", "a.csv", "name;iterations;real_time;cpu_time;time_unit\n" +
			"\"f<1,2>\";7;12,5;1,25;ms\n", "f<1,2> duration 1.25e+07"},
		{"triton.testing with thousands", "a.csv", "N;Triton (GB/s)\n1024;1,234\n",
			`a.csv: line 2, column "Triton (GB/s)": "1,234" is no number`},
		{"triton.testing with points and commas", "a.csv", "N;Triton (GB/s)\n1024;1,23\n2048;1.5\n",
			`a.csv: line 2, column "Triton (GB/s)": "1,23" is no number`},
		{"JUnit", "a.xml", `<?xml version="1.0"?><testsuites><testsuite name="s"><testcase classname="a" name="t" ` +
			`time="0.5"/><testcase name="u" time="0"/></testsuite></testsuites>`,
			"a.t duration 5e+08"},
		{"JUnit of two suites", "a.xml", `<testsuites><testsuite name="s"><testcase name="t" time="1"/></testsuite>` +
			`<testsuite name="u"><testsuite name="v"/><testcase name="t" time="2"/><testcase name="w" status="notrun"/>` +
			`</testsuite></testsuites>`, "s.t duration 1e+09, u.t duration 2e+09"},
		{"JUnit of runs of pytest", "a.xml", `<testsuites><testsuite name="pytest">` +
			`<testcase classname="c" name="t" time="1"/></testsuite><testsuite name="pytest">` +
			`<testcase classname="c" name="t" time="2"/></testsuite></testsuites>`,
			"pytest#2/c.t duration 2e+09, pytest/c.t duration 1e+09"},
		{"JUnit twice in a suite", "a.xml", `<testsuite name="s"><testcase classname="c" name="t" time="1"/>` +
			`<testcase classname="c" name="t" time="2"/></testsuite>`, "c.t duration 1e+09, c.t#2 duration 2e+09"},
		{"JUnit in Latin-1", "a.xml", `<?xml version="1.0" encoding="ISO-8859-1"?><testsuite><testcase name="` +
			"\xe9" +
			`" time="1"/></testsuite>`, "é duration 1e+09"},
		{"JUnit without times", "a.xml", `<testsuite><testcase classname="a" name="t"/></testsuite>`,
			`a.xml: line 1: "a.t" has no time`},
		{"JUnit failed", "a.xml", `<testsuite><testcase classname="a" name="t" time="0.5"><failure>x</failure>` +
			`</testcase></testsuite>`, "1 benchmark failed: a.t"},
		{"JUnit cut", "a.xml", `<testsuite><testcase classname="a" name="t" time="0.5">`,
			"the XML is not that of JUnit"},
		{"cut", "a.json", nv(false, "")[:120], "a.json:2: the JSON is not that of nvbench"},
		{"wrong type", "a.json", google(`{"name":"B","real_time":"2","time_unit":"s"}`),
			`a.json: "B": "2" is no number`},
		{"github-action-benchmark, prefixes", "a.json",
			`[{"name":"a","unit":"Mrows/s","value":100},{"name":"b","unit":"rows/s","value":5e7}]`,
			"a item_rate 1e+08, b item_rate 5e+07"},
		{"github-action-benchmark, two units", "a.json",
			`[{"name":"a","unit":"rows/s","value":1},{"name":"a","unit":"tok/s","value":2}]`,
			`a.json: "a": its numbers are in "rows/s" and in "tok/s"`},
		{"long name", "a.json", `[{"name":"` + strings.Repeat("x", 2000) + `","unit":"ms","value":2}]`,
			"has 2000 bytes"},
		{"infinite", "a.json", `[{"name":"x","unit":"ms","value":1e999}]`,
			"a.json:1: the JSON is not that of github-action-benchmark: 1e999 is out of range"},
		{"two values", "a.json", google("{\n" + `"name":"B","real_time":2,"time_unit":"s","real_time":3}`),
			`a.json:2: the JSON is not that of google-benchmark: it has two values of "real_time"`},
		{"half of a character", "a.json", `[{"name":"\udcff","unit":"ms","value":2}]`, "\ufffd duration 2e+06"},
		{"deep", "a.json",
			google(`{"name":"B","x":` + strings.Repeat("[", deepest) + strings.Repeat("]", deepest) + `}`),
			"a.json:1: the JSON is not that of google-benchmark: it nests deeper than 100"},
		{"many keys", "a.json", google(`{"name":"B"` + keys(24*mostKeys) + `}`), "an object has more than 5000 keys"},
		{"unknown", "a.json", `{"a":1}`, "holds no metric by a known name"},
		{"unknown, nested", "a.json", `{"a":{"b":1}}`, "is no file of a benchmark harness"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if f := formatNamed(tt.text); f != nil && slices.Contains([]string{"genai-perf", "k6", "serving metrics"},
				f.name) &&
				!strings.HasPrefix(tt.name, f.name) {
				t.Errorf("it is taken for a file of %s", f.name)
			}
			s, err := Read(strings.NewReader(tt.text), tt.file)
			var got []string
			if err != nil {
				got = []string{err.Error()}
				if model.KindOf(err) == "" || !strings.HasPrefix(got[0], tt.file) &&
					!strings.HasPrefix(tt.name, "unknown") {
					t.Errorf("%v is no refusal that begins with the file", err)
				}
			} else {
				for _, x := range s.Series {
					got = append(got, fmt.Sprintf("%s %s %v", x.Subject.Name, x.Metric.Name, x.Values[0]))
				}
				if err := s.Check(); err != nil {
					t.Error(err)
				}
			}
			if text := strings.Join(got, ", "); text != tt.want && (err == nil || !strings.Contains(text, tt.want)) {
				t.Errorf("got  %s\nwant %s", text, tt.want)
			}
		})
	}
}

// TestDirections holds the direction of units: none is inverted, an unknown one has none.
// TestLogs: launchers and CI hosts put a rank or the time of day in front of the lines of a table, and lines before it.
func TestLogs(t *testing.T) {
	want, err := Read(strings.NewReader(ncclText), "a.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ first, each, end string }{
		{"", "[1,0]<stdout>:", "\n"}, {"", "[1,0]<stdout>: ", "\n"}, {"", "0: ", "\n"}, {"", " 12: ", "\n"},
		{"", "2026-01-02T03:04:05.1234567Z ", "\n"}, {"", "worker-0 | ", "\n"}, {"", "[rank0]: ", "\n"},
		{"", "2026-01-02T03:04:05.123456Z 01O ", "\n"}, {"", "[pod/a-0/nccl] ", "\n"},
		{"", "\t", "\n"}, {"", "", "\r\n"},
		{"srun: job 12, starting on a, b\n", "", "\n"}, {"[INFO] starting\n", "[0] ", "\n"},
	} {
		text := c.first
		for line := range strings.Lines(ncclText) {
			text += c.each + strings.TrimSuffix(line, "\n") + c.end
		}
		got, err := Read(strings.NewReader(text), "a.txt")
		if err != nil || !reflect.DeepEqual(got.Series, want.Series) || got.GPU != want.GPU {
			t.Errorf("%q: %v, %v; want as without", c, got, err)
		}
	}
}

func TestDirections(t *testing.T) {
	for want, units := range map[int][]string{
		-1: {"ns", "us", "µs", "ms", "s", "sec", "seconds", "ns/iter", "us/op", "B", "MB", "GiB"},
		+1: {"ops/s", "items/s", "tokens/s", "tok/s", "req/s", "iter/sec", "MB/s", "GB/s", "GiB/s", "TFLOPS", "TFLOPs",
			"GFLOP/s", "GBps",
			"1/s", "images/sec", "Mrows/s", "Gelem/s", "ktokens/s", "Kreq/s", "items per second", "GiBps"},
		0: {"", "points", "%", "errors/s", "misses/s", "stalls/sec", "x", "score", "W", "degC", "dropped/s", "Gbps",
			"Gb/s", "mtokens/s", "kpoints", "M/s", "MHz", "steps", "GFLOP", "ps"},
	} {
		for _, unit := range units {
			if m, _ := inUnit(unit); int(m.Better) != want {
				t.Errorf("unit %q: direction %d, want %d", unit, m.Better, want)
			}
		}
	}
}

// TestServingNames holds the row, the factor and the direction of names that load generators and people write: a
// growing latency is a loss, a growing rate a gain, and a name in neither form is unknown.
func TestServingNames(t *testing.T) {
	const ms, us, s = 1e6, 1e3, 1e9
	for _, tt := range []struct {
		direction int
		factor    float64
		row       string
		names     string
	}{
		{-1, ms, "mean TTFT", "mean_ttft_ms avg_ttft_ms ttft_avg_ms mean_time_to_first_token_ms TTFT-mean-ms"},
		{-1, ms, "median TTFT", "median_ttft_ms ttft_median_ms ttft_ms_median med_ttft_ms"},
		{-1, ms, "p99 TTFT", "p99_ttft_ms ttft_p99_ms p99_time_to_first_token_ms P99.TTFT.ms ttft_p99_milliseconds"},
		{-1, ms, "p99.9 TTFT", "p99.9_ttft_ms p99_9_ttft_ms ttft_p99.9_ms"},
		{-1, s, "p50 TTFT", "p50_ttft_s ttft_p50_seconds ttft_s_p50"},
		{-1, us, "p90 ITL", "p90_itl_us itl_p90_us p90_inter_token_latency_us"},
		{-1, ms, "median TPOT", "median_tpot_ms median_time_per_output_token_ms"},
		{-1, ms, "p95 E2EL", "p95_e2el_ms p95_end_to_end_latency_ms"},
		{-1, ms, "median e2e latency", "median_e2e_latency_ms e2e_latency_median_ms"},
		{-1, ms, "p75 latency", "p75_latency_ms latency_p75_ms"},
		{-1, ms, "latency", "latency_ms"},
		{-1, s, "p95 request latency", "p95_request_latency_s request_latency_p95_s response_time_p95_s"},
		{1, 1, "request throughput", "request_throughput requests_per_second requests_per_s req/s requests/sec"},
		{1, 1, "request goodput", "request_goodput goodput"},
		{1, 1, "output throughput",
			"output_throughput output_tokens_per_second output_token_throughput output_tokens/s"},
		{1, 1, "input throughput", "input_throughput prompt_tokens_per_s"},
		{1, 1, "total token throughput", "total_token_throughput total_tokens_per_second"},
		{1, 1, "total throughput", "total_throughput"},
		{1, 1, "token throughput", "tokens_per_s tokens_per_second tok/s mean_tokens_per_s"},
		{1, 1, "p90 token throughput", "tokens_per_s_p90"},
		{0, 0, "", "failed errors error_count error_rate failed_requests"},
		{0, 0, "", "std_ttft_ms max_ttft_ms ttft_min_ms min_itl_ms completed duration duration_s total_input_tokens " +
			"max_concurrency concurrency request_rate max_output_tokens_per_s"},
	} {
		for _, name := range strings.Fields(tt.names) {
			x, factor := meaningOf(name), 0.0
			row, _ := x["row"].(string)
			metric, _ := x["metric"].(string)
			m, _ := measure.MetricByName(metric)
			if row != "" {
				factor = 1
			}
			if unit, _ := x["unit"].(string); unit != "" {
				factor, _, _ = measure.BaseUnit(unit)
			}
			if x == nil || row != tt.row || factor != tt.factor || int(m.Better) != tt.direction {
				t.Errorf("%s: row %q, factor %v, direction %d, %v; want %q, %v, %d", name, row, factor, m.Better, x,
					tt.row, tt.factor, tt.direction)
			}
		}
	}
	for _, name := range []string{
		"", "ttft", "p99_ttft", "p99_ttft_ms_p50", "ttft_ms_ms", "p100_ttft_ms", "not_ttft_ms", "ttft_tokens_per_s",
		"tokens",
		"throughput", "requests_s", "rps", "burstiness", "accept_length", "latency_ms\nx", "errors_ms",
		"tokens_per_s_per_gpu",
	} {
		if x := meaningOf(name); x != nil {
			t.Errorf("%q is known as %v", name, x)
		}
	}
}

// Keys of a file may be sorted, so that the beginning of a long one holds rows alone.
func TestSorted(t *testing.T) {
	for name, text := range map[string]string{
		"google-benchmark": `{"benchmarks":[` + list(2000, `{"cpu_time":1,"iterations":8,"name":"a","real_time":2,`+
			`"run_type":"iteration","time_unit":"ms"}`) + `],"context":{"host_name":"h","num_cpus":8}}`,
		"pytest-benchmark": `{"benchmarks":[` + list(1, `{"extra_info":{},"fullname":"t","group":null,"name":"t","stats":`+
			`{"data":[`+list(60_000, "1")+`],"median":2}}`) + `],"commit_info":{},"machine_info":{}}`,
		"nvbench": strings.NewReplacer(`{"meta":`, `{"benchmarks":[`+list(1000, `{"name":"a","states":[{"axis_values":[],`+
			`"device":0,"is_skipped":true,"summaries":[]}]}`)+`],"meta":`, `"benchmarks":[{"name":"copy"`,
			`"x":[{"name":"copy"`).Replace(nv(true, "")),
	} {
		if head := text[:64<<10]; !Sniff([]byte(head), true) || !Sniff([]byte(head), false) {
			t.Errorf("%s with sorted keys is not told by its beginning", name)
		}
		if f := formatNamed(text); f == nil || f.name != name {
			t.Errorf("%s is read as %v", name, f)
		}
	}
	if Sniff([]byte(`{"benchmarks":[{"name":"a","value":1}`), true) {
		t.Error("any list of benchmarks is of a harness")
	}
}

// TestOpen merges the files of one process, and refuses those of several or of two harnesses.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	a := file("a.json", `[{"name":"a","unit":"ms","value":2}]`)
	b := file("b.json", `[{"name":"b","unit":"ms","value":3}]`)
	other := file("c.json", `{"results":[{"command":"./a","median":1,"times":[1]}]}`)
	if s, err := Open("", a, b); err != nil || len(s.Series) != 2 || s.Series[1].Values[0] != 3e6 {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := Open("", a, b, a); model.KindOf(err) != model.SeveralProcesses {
		t.Errorf("the same row twice: %v", err)
	}
	if _, err := Open("", a, other); model.KindOf(err) != model.MixedProfilers {
		t.Errorf("two harnesses: %v", err)
	}
}

// FuzzRead checks that any file is read as a session that is fit, or refused.
func FuzzRead(f *testing.F) {
	f.Add(nv(false, tag("nv/cold/time/gpu/mean", "1.5e-6")))
	f.Add(google(`{"name":"B","run_type":"iteration","real_time":2,"time_unit":"us"}`))
	f.Add("x_val;a-latency\n1;2\n")
	f.Add("N,Triton (GB/s)\n1024,100\n")
	f.Add(`<testsuite><testcase classname="a" name="t" time="0.5"/></testsuite>`)
	f.Add(asv2(`"time_x":[[1,NaN],[["1","2"]]]`))
	f.Add(`{"f":{"latency":{"value":88.0}}}`)
	f.Add(`{"completed":100,"request_throughput":5.5,"mean_ttft_ms":10}`)
	f.Add(genAIFile)
	f.Add(k6File(`"dropped_iterations":{"count":0},"http_req_failed":{"passes":0,"value":0},`))
	f.Add(`{"p99_ttft_ms":20,"tokens_per_s":5,"error_count":0,"model":"m"}`)
	f.Add(`[{"model_filename":"m","model_type":"l","n_gen":128,"avg_ts":7}]`)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Read(strings.NewReader(text), "a.json")
		if err == nil {
			err = s.Check()
			if err != nil {
				t.Error(err)
			}
			return
		}
		if model.KindOf(err) == "" {
			t.Errorf("%v is no refusal", err)
		}
	})
}

// Files without a common benchmark are of one process: one run. Those of several processes, hosts or harnesses stay.
func TestProcesses(t *testing.T) {
	file := func(host, name string) model.Session {
		text := strings.Replace(google(`{"name":"`+name+`","real_time":2,"time_unit":"ms"}`), `"h"`, `"`+host+`"`, 1)
		s, err := Read(strings.NewReader(text), "a.json")
		if err != nil {
			t.Fatal(err)
		}
		return *s
	}
	for _, x := range []struct {
		files []model.Session
		want  int
	}{
		{nil, 0}, {[]model.Session{file("h", "a")}, 1},
		{[]model.Session{file("h", "a"), file("h", "b"), file("h", "c")}, 1},
		{[]model.Session{file("h", "a"), file("h", "b"), file("h", "a")}, 3},
		{[]model.Session{file("h", "a"), file("g", "b")}, 2},
	} {
		rows := len(x.files)
		got, _, err := Processes(x.files, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != x.want || x.want == 1 && len(got[0].Series) != rows {
			t.Errorf("%d files: %d runs, want %d", rows, len(got), x.want)
		}
	}
}

// TestBeside wants the units of tracked numbers from the file beside the results or above them.
func TestBeside(t *testing.T) {
	const tracked = `"b.track_loss":[[7],[]],"b.track_rate":[[5],[]],"b.track_load":[[2],[]]`
	for _, tt := range []struct{ place, text, want string }{
		{"m", `{"b.track_rate":{"unit":"tokens/s"},"b.track_load":{"unit":"ms"},
			"b.track_loss":{"unit":"unit"},"version":2}`,
			"b.track_load duration 2e+06, b.track_loss value 7, b.track_rate item_rate 5"},
		{".", `{"b.track_load":{"unit":"seconds"}}`,
			"b.track_load duration 2e+09, b.track_loss value 7, b.track_rate value 5"},
		{"n", `{}`, "b.track_load value 2, b.track_loss value 7, b.track_rate value 5"},
		{"m", `{"b.track_load":`, "benchmarks.json:1: the JSON cannot be read"},
	} {
		dir := t.TempDir()
		for name, text := range map[string]string{"m/a.json": asv2(tracked), tt.place + "/benchmarks.json": tt.text} {
			file := filepath.Join(dir, name)
			os.MkdirAll(filepath.Dir(file), 0o755)
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		s, err := Open("", filepath.Join(dir, "m/a.json"))
		got := ""
		if err == nil {
			got = strings.Join(measure.Map(s.Series, func(x model.Series) string {
				return fmt.Sprint(x.Subject.Name, " ", x.Metric.Name, " ", x.Values[0])
			}), ", ")
		} else {
			got = err.Error()
		}
		if !strings.Contains(got, tt.want) {
			t.Errorf("%s in %s: %s, want %s", tt.text, tt.place, got, tt.want)
		}
	}
}

// A file of JUnit with too many numbers is refused before its end, here a damaged one; tests of one name are
// numbers of their own.
func TestManyTests(t *testing.T) {
	file := func(n int, name string) string {
		var text strings.Builder
		text.WriteString(`<testsuite name="s">`)
		for i := range n {
			fmt.Fprintf(&text, `<testcase name="%s" time="1"/>`, strings.ReplaceAll(name, "N", fmt.Sprint(i)))
		}
		return text.String()
	}
	for text, want := range map[string]string{
		file(mostTests+1, "N") + "<<<":                   "x.xml holds more than 50000 numbers",
		file(model.MostSubjects, "N") + "<<<":            "x.xml:1: the XML is not that of JUnit",
		file(model.MostSubjects+1, "a") + "</testsuite>": "x.xml holds more than 50000 numbers",
		file(9, "a") + "</testsuite>":                    "",
	} {
		_, err := Read(strings.NewReader(text), "x.xml")
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q, %d bytes: %v, want %q", text, len(text), err, want)
		}
	}
}
