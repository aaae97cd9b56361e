# google/benchmark, docs/user_guide.md, --benchmark_format=json or csv. The time is the real time: the manual one, of CUDA events, where the benchmark sets
# it. Rates are the time in other units. Benchmarks of one name, whose repetitions have the same numbers, have a number; statistics of the user are left out. Before 1.5 and in CSV names alone tell the aggregates. The context of a file with sorted keys is at its end.
module {name: "google-benchmark", parts: "context", known: "(?:per_)?family_(?:instance_)?index|repetitions|repetition_index|threads|iterations|(?:real|cpu)_time|(?:real|cpu)_coefficient|rms|(?:bytes|items)_per_second"};
def is: ($columns | index("real_time") != null and index("time_unit") != null and index("name") != null)
  or (type == "object" and has("benchmarks") and ((.context | .num_cpus?) != null
    or (has("context") | not) and (.benchmarks[0]? | has("real_time")? and has("time_unit")?)));
def run: if (.run_name // "") == "" then .name else .run_name end;
def of_csv: {benchmarks: map({name, time_unit, real_time: (.real_time | num), error_message, skipped: (.error_occurred == "false"),
  error_occurred: (.error_occurred == "true")})};
(arrays | . as $rows | $columns[] | select(test("^(?:name|iterations|(?:real|cpu)_time|time_unit|(?:bytes|items)_per_second|label|error_.*)$") | not) as $c
  | select(any($rows[]; .[$c] | num | type == "number")) | {row: $c, left_out: "unknown name"}),
(if type == "array" then of_csv else . end | (.context | objects | {host: .host_name, start: .date}),
((.benchmarks // []) as $all | [$all[] | select(.run_type != "iteration")] as $others
| (if any($others[]; has("run_type") | not) then $all | map({key: .name, value: true}) | from_entries else null end) as $names
| (if $names then [$all[] | ((.name | capture("^(?<run>.*)_(?<part>mean|median|stddev|cv|BigO|RMS)$")) // null) as $p
      | if .run_type == null and $p and ($names[$p.run + "_stddev"] or $names[$p.run + "_RMS"])
        then . + {run_name: $p.run, run_type: "aggregate", aggregate_name: $p.part} else . end] else $all end) as $all
| (if [$all[].name] | length == (unique | length) then $all else
    ([range($all | length) as $i | $all[$i] | [run, .aggregate_name, .repetition_index // if .run_type == "aggregate" then null else "\($i)" end]]
    | numbered) as $numbers | ([$all[] | run] | counts) as $given
    | [range($all | length) as $i | $all[$i] | .run_name = (run | nth_of($numbers[$i]; $given))] end) as $all
| [if $others == [] then empty else $all[] | select(.run_type == "aggregate") end] as $aggregates
| ([$aggregates[] | select(.aggregate_name == "median") | run] | counts) as $median
| (if $aggregates == [] then {} else [$all[] | select(.run_type != "aggregate") | run] | counts end) as $single | $all[]
| if .error_occurred then {row: run, failed: (.error_message // "")} elif .skipped then {row: run, skipped: true}
  elif .run_type == "aggregate" and (.aggregate_name | IN("mean", "median", "stddev", "cv", "BigO", "RMS") | not) then {row: "\(run) \(.aggregate_name)", left_out: "unknown name"}
  elif .run_type == "aggregate" and (run as $row | $single[$row] or .aggregate_name != if $median[$row] then "median" else "mean" end) then empty
  else {row: run, metric: "duration", unit: (.time_unit | tostring), value: .real_time} end))
