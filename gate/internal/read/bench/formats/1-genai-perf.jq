# profile_export_genai_perf.json of genai-perf and profile_export_aiperf.json of its successor: the metrics that names.go knows; the others are left out.
module {name: "genai-perf", load: true, level: 1, known: "request_count|error_request_count|(?:in|out)put_sequence_length|total_(?:in|out)put_.*|benchmark_duration|version|.*_version", parts: "input_config|metadata|telemetry_.*", statistics: "(?:STATISTICS)|count|sum"};
def is: type == "object" and any((.request_throughput, .request_latency, .time_to_first_token, .inter_token_latency,
  .output_token_throughput, .error_request_count); type == "object" and (has("unit") or has("avg")));
def leaves: to_entries[] | if (.value | type) == "object" then .value | leaves else . end;
def avg($name): .[$name] | .avg?;
(select(.was_cancelled == true) | refused("the run was cancelled"; "run it to its end")),
([.error_summary[]?.count | numbers] | add | values | requests_failed("error_summary"; .)),
(if .error_request_count | type == "object" and has("avg") then .error_request_count.avg | select(. == null or failures > 0)
   | requests_failed("error_request_count"; .) else empty end),
([.input_config | objects | leaves] as $asked | ([$asked[] | select(.key == "request_count") | .value | numbers] | max) as $count
| (avg("request_count") | numbers | select($count != null and . < $count)
    | refused("only \(.) of \($count) requests were completed"; "find out why the others failed; the log of the server tells")),
  {load: (($asked | from_entries | settings) + ([("input", "output") as $kind | avg("\($kind)_sequence_length") | numbers
    | {"\($kind)_tokens_per_request": .}] | add // {}))}),
(to_entries[] | .key as $name | ((("\($name)_ms" | meaning) // ($name | meaning)) // {}) as $m | select($m.row) | .value
| if type != "object" then {refuse: "\($file): \($name): it is no object of a unit and statistics"}
  elif ($m.metric == "duration" and (.unit | metric) != "duration") or ($m.metric == "item_rate" and (.unit // "" | contains("/s") | not))
  then {refuse: "\($file): \($name): its unit \(.unit | quote) is neither of time nor a rate"} else .unit as $unit | {left_out: null, of: $name},
    statistics_in($name; $name; if $m.metric == "item_rate" then "" else $unit end) end)
