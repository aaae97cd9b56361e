# BenchmarkTools.jl, JSON of BenchmarkTools.save: a list of versions and a list of groups. The median time of a trial in ns, and the memory that it allocates.
module {name: "BenchmarkTools.jl", known: "times?|gctimes?|allocs", parts: "params|tags|BenchmarkTools"};
def is: type == "array" and (.[0] | type == "object" and has("BenchmarkTools")) and (.[1] | type == "array");
def leaves($at): .[0] as $type | .[1] | ($type | split(".")[-1]) as $type
  | if $type == "BenchmarkGroup" then .data | to_entries[] | .key as $key | .value | leaves($at + [$key])
    elif $type | IN("Trial", "TrialEstimate") then ($at | join("/") | if . == "" then "benchmark" else . end) as $row
    | [.times[]?, (.time | numbers) | select(. > 0)] as $times | (if $times != [] then {row: $row, metric: "duration", unit: "ns", values: $times}
       elif (.times // [0]) == [] then {row: $row, failed: true} else {row: $row, left_out: "0 by a coarse clock"} end),
      (.memory | numbers | {row: "\($row) memory", metric: "memory", unit: "B", value: ., of: "memory"})
    else {row: ($at | join("/") | if . == "" then $type else . end), left_out: "no trial"} end;
.[1][] | leaves([])
