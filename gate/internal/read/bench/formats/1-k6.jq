# A summary of k6 in JSON (--summary-export, or handleSummary): latencies in ms and rates. Dropped iterations were never sent: it was another load. The
# machine-readable one (--new-machine-readable-summary, github.com/grafana/k6-summary) has lists of metrics, of a rate the number of matches, of a counter
# perhaps no rate; its names are left out here, not by the ledger. Users that k6 adds under load raise vus_max; slow starts lower its minimum.
module {name: "k6", level: 2, known: "http_req\\w*(?:\\{expected_response:true\\})?|iterations|dropped_iterations|iteration_duration|checks|vus(?:_max)?|data_.*|group_duration|testRunDurationMs", parts: "root_group|options|thresholds|setup_data|results|config|metadata", statistics: "(?:STATISTICS)|p\\(.*\\)|count|rate|value|passes|fails"};
def machine: (.metadata | type == "object" and (has("k6Version") or has("k6_version"))) and (.results | type == "object" and (.metrics | type == "array"));
def is: type == "object" and (machine or (.metrics | type == "object" and any((.http_req_duration, .iteration_duration, .iterations); type == "object")));
def by_name: .config.duration as $seconds | [.results.metrics[], (.results.checks?.metrics // [])[] | select(.values | type == "object") | (.type == "counter") as $counts
  | {key: (if .name == "checks_succeeded" then "checks" else .name end), value: (.values
    | if has("matches") then .passes = .matches | .fails = .total - .matches elif $counts and .rate == null and $seconds > 0 then .rate = .count / $seconds else . end)}];
def unknown: keys[] | select(test("^(?:http_req\\w*(?:\\{expected_response:true\\})?|iterations|dropped_iterations|iteration_duration|checks|checks_.*|vus(?:_max)?|data_.*|group_duration)$") | not) | {row: ., left_out: "unknown name"};
def failed($where): select(. == null or failures > 0) | requests_failed($where; .);
(if machine then by_name else [] end) as $listed | ($listed | group_by(.key)[] | .[0] as $first | select(any(.[]; .value != $first.value)) | $first.key
  | {refuse: "\($file) holds two metrics \(quote)", kind: "several-processes", next: "write the summary of each run into a file of its own"}),
(if machine then $listed | from_entries else .metrics | map_values(objects | if (.values? | type) == "object" then .values else . end) end) as $metrics
| (if machine then {start: .metadata.generatedAt}, ($metrics | unknown) else empty end), ($metrics | (.dropped_iterations.count | numbers | select(. > 0)
    | refused("the load generator could not generate the load in time: \(.) iterations were dropped"; "give k6 more VUs (maxVUs) or a lower rate")),
  (if .vus_max | type == "object" and has("max") then {load: {vus_max: (.vus_max | if .min != null and .min != .max then "\(.min)→\(.max)" else .max end)}} else empty end),
  (.http_req_failed // {} | ("passes", "rate", "value") as $count | .[$count] | numbers | failed("http_req_failed.\($count)")),
  (.checks // {} | if has("fails") then .fails | failed("checks.fails")
    else ("rate", "value") as $part | .[$part] | numbers | select(. < 1) | requests_failed("checks.\($part)"; .) end),
  (.checks // {} | first((.value, .rate, (.passes | numbers | 1)) | numbers) | {row: "checks", metric: "more_value", value: .}),
  ({"request throughput": .http_reqs, "iterations/s": .iterations} | to_entries[] | .key as $row | .value | objects
    | {row: $row} + if .rate | type == "number" then {metric: "item_rate", value: .rate} else {left_out: "no number"} end),
  (first((.http_req_duration | objects | ["request_latency", .]), (.iteration_duration | objects | ["iteration_duration", .])) as [$name, $of]
    | $of | statistics_in("http_req_duration"; $name; "ms")))
