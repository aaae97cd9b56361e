# mlperf_log_summary.txt of MLPerf's loadgen (loadgen/results.cc). A result that is INVALID is none.
module {name: "mlperf"};
def is: type == "string" and (.[:4096] | contains("MLPerf Results Summary"));
def facts: [split("\n")[] | select(test("^[^:]{1,80}:")) | capture("^\\s*(?<key>[^:]*?)\\s*:\\s*(?<value>.*?)\\s*$")];
facts as $all | ($all | map({key, value}) | from_entries) as $by | ($by["Result is"] // "VALID" | select(startswith("VALID") | not) | {kind: "workload-failed",
    refuse: "\($file): the result is \(.): \([$all[] | select(.value | test("^no$"; "i")) | .key] | join(", "))",
    next: "run it as long and with as many queries as loadgen recommends in this file"}),
  {load: ($by | {scenario: .Scenario, mode: .Mode, samples_per_query, target_qps} | with_entries(select(.value != null)))},
  ($all[] | .key as $key | (.value | split(" ")[0] // "" | num) as $v | select($v | type == "number")
  | if $key | test("^scheduled "; "i") then {row: ($key | ascii_downcase), left_out: "the rate of the load"}
    elif $key | test("(?:samples|tokens|queries) per second$|^[QT]PS w/"; "i") then {row: ($key | ascii_downcase), metric: "item_rate", value: $v}
    elif $key | test("^(?:Min|Max) .*\\(ns\\)$") then {row: ($key | rtrimstr(" (ns)") | ascii_downcase), left_out: "an extreme"}
    elif $key | test("(?:latency|output token) \\(ns\\)$"; "i") and (test("^target") | not)
    then {row: ($key | rtrimstr(" (ns)") | ascii_downcase), metric: "duration", unit: "ns", value: $v}
    elif $key | test("^[a-z]") then empty else {row: ($key | ltrimstr("* ")), left_out: "unknown name"} end)
