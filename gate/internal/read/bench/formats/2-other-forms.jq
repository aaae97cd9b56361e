# Forms of harnesses that are not read: the sentence names the form that is, or the filter that reads them.
module {name: "a harness"};
def filtered($rows): "say what its numbers are: rows = '\($rows)' in the policy, or --rows (`nsgate help benchmarks`)";
def jmh: filtered(".[] | {row: .benchmark, unit: .primaryMetric.scoreUnit, value: .primaryMetric.score}");
def dotnet: filtered(".Benchmarks[] | {row: .FullName, unit: \"ns\", value: .Statistics.Median}");
def history: ["the history that github-action-benchmark keeps (data.js), not one measurement", "compare the files that it was made of, one of each process"];
def llama: "let it write JSON: llama-bench -o json";
def texts: ["^CREATE TABLE IF NOT EXISTS (?:test|llama_bench) \\(", "the SQL of llama-bench", llama],
  ["\\| model +\\| +size +\\| +params +\\|", "the Markdown of llama-bench", llama],
  ["Benchmark +Time +CPU +Iterations", "the printed table of google-benchmark", "let it write JSON: --benchmark_out=FILE"],
  ["CPU Time +\\| +Noise +\\| +GPU Time", "the printed table of nvbench", "let it write JSON: --json FILE"],
  ["Name \\(time in \\w+\\) +Min ", "the printed table of pytest-benchmark", "let it write JSON: --benchmark-json=FILE"],
  ["Time +\\(mean ± σ\\):|\\| Command +\\| Mean \\[", "the printed text of hyperfine", "let it write JSON: --export-json FILE"],
  ["http_req_duration\\.{3,}: *avg=", "the printed summary of k6", "let it write JSON: --summary-export=FILE"],
  ["= Serving Benchmark Result =", "the printed summary of a serving benchmark", "let it write JSON: --save-result of vLLM, --output-file of SGLang"],
  ["time: +\\[\\d\\S* \\S{1,2}s? \\d", "the printed text of Criterion", "read the files new/estimates.json below target/criterion"],
  ["\\.\\.\\. bench: +[\\d,.]+ ns/iter \\(\\+/- ", "the printed text of libtest",
    filtered("scan(\"test (.+?) +[.]{3} bench: +([0-9,.]+) ns/iter\") | {row: .[0], unit: \"ns\", value: (.[1] | gsub(\",\"; \"\") | tonumber)}")],
  ["Benchmark +(?:\\(\\S+\\) +)*Mode +(?:Threads|Cnt|Samples) +", "the printed table of JMH", "let it write JSON (-rf json), and \(jmh)"],
  ["\\| *Method +\\|.* Mean +\\|", "the printed table of BenchmarkDotNet", "let it write JSON (--exporters json), and \(dotnet)"],
  (["^window\\.BENCHMARK_DATA\\s*=\\s*\\{\\s*\"lastUpdate\"\\s*:"] + history);
def form: if type == "string" then . as $text | first(texts | select(.[0] as $pattern | $text | test($pattern)) | .[1:])
  elif $columns[:3] == ["Benchmark", "Device", "Device Name"] then ["a CSV of nvbench, which has names without quotes", "let nvbench write JSON: --json FILE"]
  elif $columns[:2] == ["Benchmark", "Mode"] then ["the CSV of JMH", "let it write JSON (-rf json), and \(jmh)"]
  elif $columns[:2] == ["command", "mean"] then ["the CSV of hyperfine", "let it write JSON: --export-json FILE"]
  elif $columns[:2] == ["Metric", "avg"] then ["the CSV of aiperf or genai-perf", "read the JSON beside it"]
  elif type == "array" and (.[0] | type == "object" and has("metric") and (.type | IN("Metric", "Point")))
  then ["the stream of points of k6 --out json", "let it write its summary: --summary-export=FILE"]
  elif type == "array" then .[0] | objects | select(has("jmhVersion")) | ["the JSON of JMH", jmh] elif type != "object" then empty
  elif .HostEnvironmentInfo and .Benchmarks then ["the JSON of BenchmarkDotNet", dotnet]
  elif has("lastUpdate") and has("entries") then history elif has("log_history") and has("global_step")
  then ["the state of a Trainer in mid-training", "read all_results.json, which trainer.save_metrics writes beside it"]
  elif (.benchmarks | type) == "array" and .meta == null and any(.benchmarks[:50][];
    any(.states? | arrays, objects | .[]; type == "object" and has("axis_values") and has("summaries")))
  then ["a result of an nvbench that wrote no meta yet", "write it with an nvbench of 2022 or newer"] else empty end;
def is: any(form; true);
form as [$what, $next] | {refuse: "\($file) is \($what)", next: $next, kind: "other-format"}
