# A summary of k6 in JSON (--summary-export, or handleSummary): latencies in ms and rates. Dropped iterations were never sent: it was another load.
module {name: "k6", level: 2, known: "http_req.*|http_reqs|iterations|dropped_iterations|iteration_duration|checks|vus(?:_max)?|data_.*|group_duration|testRunDurationMs", parts: "root_group|options|thresholds|setup_data", statistics: "(?:STATISTICS)|p\\(.*\\)|count|rate|value|passes|fails"};
def is: type == "object" and (.metrics | type == "object" and any((.http_req_duration, .iteration_duration, .iterations); type == "object"));
def failed($where): select(. == null or failures > 0) | requests_failed($where; .);
(.metrics | map_values(objects | if (.values? | type) == "object" then .values else . end)) | (.dropped_iterations.count | numbers | select(. > 0)
    | refused("the load generator could not generate the load in time: \(.) iterations were dropped"; "give k6 more VUs (maxVUs) or a lower rate")),
  (if .vus_max | type == "object" and has("max") then {load: {vus_max: .vus_max.max}} else empty end),
  (.http_req_failed // {} | ("passes", "rate", "value") as $count | .[$count] | numbers | failed("http_req_failed.\($count)")),
  (.checks // {} | if has("fails") then .fails | failed("checks.fails")
    else ("rate", "value") as $part | .[$part] | numbers | select(. < 1) | requests_failed("checks.\($part)"; .) end),
  (.checks // {} | first((.value, .rate, (.passes | numbers | 1)) | numbers) | {row: "checks", metric: "more_value", value: .}),
  (.http_reqs.rate | numbers | {row: "request throughput", metric: "item_rate", value: .}),
  (.iterations.rate | numbers | {row: "iterations/s", metric: "item_rate", value: .}),
  (.http_req_duration | objects | statistics_in("http_req_duration"; "request_latency"; "ms"))
