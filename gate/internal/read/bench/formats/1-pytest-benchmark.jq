# pytest-benchmark, --benchmark-json: the median of each test in seconds, and the numbers that it stores as extra_info.
module {name: "pytest-benchmark", twins: true, parts: "machine_info|commit_info|options|params", known: "min|max|mean|stddev|rounds|median|iqr|q1|q3|(?:iqr_|stddev_)?outliers|[lh]d15iqr|ops|total|data|iterations"};
def is: type == "object" and (has("machine_info") and has("commit_info")
  or (has("commit_info") | not) and (.benchmarks[0]? | has("fullname")? and has("extra_info")?)); # keys are sorted
{host: (.machine_info | .node?), start: .datetime},
(.benchmarks[]? | (if (.fullname // "") == "" then .name else .fullname end) as $row
| {row: $row} + if .stats.median? == null then {failed: "no statistics"} else {metric: "duration", unit: "s", value: .stats.median} end,
  (.extra_info // {} | objects | to_entries[] | (.key | meaning) as $m
    | if .value | type | IN("object", "array") then {row: .key, left_out: "no number", of: .key}
      elif $m.row == null then empty elif .value | no_number then {row: .key, left_out: "no number", of: .key}
      elif .value | type == "number" then {value} + $m + {row: "\($row) \($m.row)", of: .key} else empty end))
