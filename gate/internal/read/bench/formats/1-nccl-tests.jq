# NCCL tests, src/util.cu: the table that they print, or the JSON of -J. The time of each size is judged, in place and out of place, and the average bus
# bandwidth; algbw and busbw are the time in other units. Wrong values fail a row.
module {name: "nccl-tests", parts: "config|env|args|.*_per_iter", known: "version|nccl_version|size|count|actual_iterations|alg_bw|bus_bw|nwrong|(?:cpu_)?time|bandwidth"};
def is: if type == "string" then contains("algbw") and contains("busbw") and test("# +size +count +type ")
  else type == "object" and has("nccl_version") and has("results") end;
def named($test; $size; $of): [$test, $size, "B"] + ($of - ["", "-1"]) | join(" ") | ltrimstr(" ");
def row($name; $place; $time; $wrong):
  "\($name) \($place)" as $row | ($wrong | num) as $wrong | if ($wrong | type) == "number" and $wrong > 0 then {row: $row, failed: "\($wrong) wrong values"}
    else {row: $row, metric: "duration", unit: "us", value: ($time | num)} end;
def test_of: split("/")[-1] | rtrimstr("_perf");
def place: ["out-of-place", "in-place"];
def hosts($all): {host: ([$all[].host] | unique | join(" ")), gpu: (first($all[].gpu) // null)};
def iterations($has; $names): if $has then {row: $names, left_out: "of single iterations"} else empty end;
def average: {row: "average bus bandwidth", metric: "bandwidth", unit: "GB/s", value: .};
if type == "object" then hosts([.config.devices[]? | {host: .hostname, gpu: .device_info}]),
  ((.args[0] // "" | test_of) as $test | .results[]
    | named($test; .size; [.type, .redop, .root] | map(tostring | split(" ") | join(""))) as $name
    | ("out_of_place", "in_place") as $key | .[$key] | objects | row($name; $key | gsub("_"; "-"); .time // .cpu_time; .nwrong)),
  iterations(any(.results[]; has("out_of_place_per_iter") or has("in_place_per_iter")); "*_per_iter"),
  (.average_bus_bandwidth.bandwidth | numbers | average) else (split("\r\n") | join("\n") | split("\n")) as $lines
  | ([$lines[] | select(contains("test starting:"))] | length > 1) as $several
  | hosts([$lines[] | select(contains(" Rank ") and test("^\\s*# +Rank ")) | capture(" on +(?<host>\\S+) device +\\d+ \\[[^\\]]*\\] *(?<gpu>.*?) *$")]),
    {row: "algbw, busbw", left_out: "the time in another unit"},
    iterations(any($lines[]; contains(" i_p99 ")); "i_min, i_max, i_p99, i_cv%"), ([foreach $lines[] as $line ({test: "", tests: []};
      ($line | words) as $w | ($w | length) as $n | .out = []
        | if .head != null and $n > (.head | length) and ($w[0] | test("^\\d+$")) then
          (if .timed then $w[:-2] else $w end) as $w | (($w | length) - (.head | length)) as $first
          | .at as $at | .wrong as $wrong | named(.test; $w[0]; $w[2:$first]) as $name
          | .out = [range($at | length) | row($name; place[.]; $w[$at[.] + $first]; $w[($wrong[.] // 99) + $first])]
        elif ($line | contains("test starting:")) then .test = ($w[-1] | test_of)
        elif ($w | index("algbw")) != null then
          .test as $test | (if .tests | index([$test]) != null then .out = [{kind: "several-processes",
              refuse: "\($file) holds the tables of two runs", next: "write the output of each into a file of its own"}] else . end)
          | .tests += [$test] | .head = ($w | map(select(. != "#"))) | .timed = (.head[-1] == "timestamp")
          | (.head | index("time") // index("cputime")) as $first | .head = .head[$first:(if .timed then -1 else null end)]
          | .at = [.head | to_entries[] | select(.value | IN("time", "cputime")).key] | .wrong = [.head | to_entries[] | select(.value == "#wrong").key]
        elif ($line | contains("Avg bus bandwidth")) then (if $several then "\(.test) " else "" end) as $of
          | .out = [$line | capture("Avg bus bandwidth *: *(?<v>\\S+)").v | num | numbers | average | .row = $of + .row]
        else . end; .out[])]
    | if any(.metric == "duration" or .failed != null) then .[]
      else {refuse: "\($file): no row of the table can be read", kind: "bad-table", next: "run it again, and write its output alone"} end) end
