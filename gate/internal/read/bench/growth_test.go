//go:build unix

package bench

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/testdata/tools/shapes"
)

// grown are the shapes of files of each row of [formats].
var grown = map[string][]shapes.Shape{}

func init() {
	for name, sample := range map[string]string{
		"nvbench": nv(false, tag("nv/cold/time/gpu/mean", "1.5e-6")+","+tag("own", "1")),
		"google": google(`{"name":"BM/8","run_name":"BM/8","run_type":"iteration","real_time":3,"time_unit":"us",
			"own":5}`),
		"old google": google(`{"name":"B_mean","real_time":2,"time_unit":"ms"},
			{"name":"B_stddev","real_time":1,"time_unit":"ms"}`),
		"failed google": google(`{"name":"B","run_type":"iteration","error_occurred":true,
			"error_message":"out of memory"}`),
		"pytest": `{"machine_info":{"node":"h"},"commit_info":{},"benchmarks":[{"name":"t","fullname":"a.py::t",
			"stats":{"median":0.002,"mean":9},"extra_info":{"a":1}}],"datetime":"2026-11-20T10:00:00.123456+00:00",
			"version":"4.0"}`,
		"asv": asv2(`"time_x":[[1,2,3,4],[["1","2"],["3","4"]]]`),
		"asv 1": `{"commit_hash":"a","params":{"machine":"m"},"results":{"mem_w":3,
			"time_x":{"params":[["'a'","'b'"]],"result":[1,2]}}}`,
		"criterion": `{"mean":{"confidence_interval":{"upper_bound":3},"point_estimate":2,"standard_error":1},
			"median":{"point_estimate":1.5},"std_dev":{"point_estimate":9}}`,
		"hyperfine": `{"results":[{"command":"make","median":1,"times":[1,2],"parameters":{"j":"1"},"exit_codes":[0]},
			{"command":"make","median":2,"times":[2],"parameters":{"j":"8"}}]}`,
		"llama": `[{"model_filename":"m.gguf","model_type":"llama 7B","n_prompt":512,"n_gen":0,"avg_ts":1234.5,
			"gpu_info":"NVIDIA H100"}]`,
		"llama lines": `{"model_filename":"m","model_type":"l","n_prompt":0,"n_gen":128,"type_k":"q8_0","avg_ts":7}`,
		"genai":       genAIFile,
		"k6":          k6File(`"checks":{"passes":3,"fails":0},`),
		"serving": `{"request_throughput":2,"mean_ttft_ms":3,"p99_ttft_ms":4,"completed":10,"ttfts":[1,2],
			"errors":["",""],"model_id":"m"}`,
		"latency":     `{"avg_latency":4.5,"latencies":[4,5],"percentiles":{"10":3,"50":4,"99":5}}`,
		"plain":       `{"p99_ttft_ms":3,"tokens_per_second":4,"model":"m"}`,
		"history":     `{"lastUpdate":1,"entries":{"a":[{"benches":[{"name":"a","value":1,"unit":"ms"}]}]}}`,
		"action":      `[{"name":"a","unit":"ms","value":1,"extra":"b"}]`,
		"bencher":     `{"a":{"latency":{"value":1,"lower_value":1},"own":{"value":2}}}`,
		"nccl JSON":   ncclJSON,
		"trtllm":      trtllmFile,
		"guidellm":    guideFile,
		"user":        userFile,
		"julia":       juliaFile,
		"trtexec":     trtexecTimes,
		"trainer":     trainerFile,
		"cargo":       strings.Split(cargoLines, "\n{\"reason")[0],
		"JMH":         `[{"jmhVersion":"1","benchmark":"a","primaryMetric":{"score":1}}]`,
		"old nvbench": `{"devices":[],"benchmarks":[{"name":"c","states":{"D":{"axis_values":{},"summaries":{}}}}]}`,
	} {
		grown[name] = shapes.JSON(sample)
	}
	for name, sample := range map[string]string{
		"llama table":   "build_commit,model_type,n_prompt,n_gen,avg_ts\n\"b\",\"l\",\"8\",\"0\",\"3\"\n",
		"nvbench table": "Benchmark,Device,Device Name,T\nc,0,d,1\n",
		"google CSV":    "name,iterations,real_time,cpu_time,time_unit,X\n\"A\",8,1.5,1.5,us,7\n",
		"perf_analyzer": strings.Split(perfFile, "\n4")[0] + "\n",
		"triton":        "N,Triton (GB/s),Torch-ms\n8,100,0.5\n",
	} {
		grown[name] = shapes.Table(sample, ",")
	}
	for name, text := range map[string]string{"nccl": ncclText, "mlperf": mlperfText,
		"go": "pkg: a\nBenchmarkA-8 \t 8\t 5.5 ns/op\t 3 B/op\n", "trtexec text": trtexecText,
		"old trtexec": "log\n" + trtexecOld, "libtest": "test a ... bench: 1 ns/iter (+/- 5)\n",
		"llama sql": "CREATE TABLE IF NOT EXISTS test (\n"} {
		grown[name] = []shapes.Shape{{Name: "lines", File: func(bytes int) string {
			at := strings.LastIndex(text, "\n")
			last := text[strings.LastIndex(text[:at], "\n")+1 : at+1]
			return text[:at+1] + strings.Repeat(last, bytes/max(len(last), 1)) + text[at+1:]
		}}}
	}
	grown["tritonbench"] = shapes.Table("x_val;aten-latency;aten-accuracy\n(8, 8);0.5 (±1%);1\n", ";")
	grown["Catch2"] = shapes.XML(`<Catch2TestRun name="t">{{<TestCase name="c^">{{<BenchmarkResults name="b^">` +
		`<mean value="7"/></BenchmarkResults>}}</TestCase>}}</Catch2TestRun>`)
	grown["JUnit"] = shapes.XML(`<testsuites>{{<testsuite name="s^"><properties>{{<property name="p^" value="1"/>}}` +
		`</properties>{{<testcase classname="c^" name="t^" time="1"/>}}</testsuite>}}^</testsuites>`)
}

// TestGrowth wants a sample of each row of [formats], and that a file of any shape is read or refused in a time that
// grows with its size.
func TestGrowth(t *testing.T) {
	rows := map[*format]int{}
	check := func(name string, list []shapes.Shape) {
		rows[cmp.Or(formatNamed(list[0].File(10)), formatNamed(list[0].File(200)))]++
		shapes.Check(t, name, list, os.Getenv("NSGATE_TEST_FULL") != "",
			func(text string) { Read(strings.NewReader(text), "a/b.json") })
	}
	for name, list := range grown {
		check(name, list)
	}
	for name, file := range longParts {
		check(name, []shapes.Shape{{Name: "long part", File: file}})
	}
	for i, format := range formats() {
		if f := format(); rows[f] == 0 {
			t.Errorf("filter %d, %s, has no sample in grown", i+1, f.name)
		}
	}
	if rows[nil] > 0 {
		t.Errorf("%d samples are of no format", rows[nil])
	}
}

// longParts are files of which one half is a long part of names, and the other many rows.
var longParts = map[string]func(bytes int) string{
	"parameters of asv": func(bytes int) string {
		k := max(2, int(math.Sqrt(float64(bytes)/16)))
		values := "[" + list(k, `"`+strings.Repeat("x", bytes/4/k)+`"`) + "]"
		return asv2(`"time_x":[[` + list(k*k, "null") + `],[` + values + `,` + values + `]]`)
	},
	"states of nvbench": func(bytes int) string {
		return strings.NewReplacer(`"name":"copy"`, `"name":"`+long(bytes)+`"`, `"states":[`,
			`"states":[`+list(bytes/80, `{"is_skipped":true,"axis_values":[]}`)+`,`).Replace(nv(true, ""))
	},
	"names of k6": func(bytes int) string {
		return k6File(`"http_req` + long(bytes) + `":{"a":1` + keys(bytes/24) + `},`)
	},
	"depth of a load": func(bytes int) string {
		depth := min(bytes/12, 9000)
		return `{"request_throughput":2,"mean_ttft_ms":3,"x":` + strings.Repeat(`{"a":`, depth) +
			"[" + list(bytes/4, "1") + "]" + strings.Repeat("}", depth) + `}`
	},
	"settings of llama-bench": func(bytes int) string {
		return `[{"model_filename":"m","model_type":"l","avg_ts":1` + keys(bytes/24) + `},` +
			list(bytes/60, `{"model_type":"l","avg_ts":1}`) + `]`
	},
	"suites of JUnit": func(bytes int) string {
		return `<testsuite name="` + long(bytes) + `">` + strings.Repeat(`<testcase name="a" time="1"/>`, bytes/60) +
			`</testsuite>`
	},
	"depth of JUnit": func(bytes int) string {
		return strings.Repeat(`<testsuite name="a">`, bytes/20) + `<testcase/>`
	},
	"attributes of JUnit": func(bytes int) string {
		return `<testsuites><testsuite><testcase/><x ` + strings.Repeat(`value="1" `, bytes/10) +
			`/></testsuite></testsuites>`
	},
	"columns of Triton": func(bytes int) string {
		return "N,a (ms)," + long(bytes) + " (ms)\n" + strings.Repeat("8,1,1\n", bytes/12)
	},
	"brackets of Triton": func(bytes int) string {
		return "N," + strings.Repeat("(", 900) + "-ms\n" + strings.Repeat("8,1\n", bytes/4)
	},
}

func long(bytes int) string { return strings.Repeat("x", bytes/2) }

func list(n int, value string) string { return strings.TrimSuffix(strings.Repeat(value+",", n), ",") }

func keys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"k%d":1`, i)
	}
	return b.String()
}
