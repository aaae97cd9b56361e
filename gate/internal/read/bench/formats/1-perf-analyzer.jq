# perf_analyzer of Triton, -f FILE (report_writer.cc): a load a row, by its concurrency or request rate. Times are in µs.
module {name: "perf_analyzer"};
def is: ($columns | index("Inferences/Second") | . != null and . < 3) and any($columns[]; . == "Client Send");
def meant: if . == "Inferences/Second" then {row: "inference throughput", metric: "item_rate"}
  elif . == "Response Throughput" then {row: "response throughput", metric: "item_rate"}
  elif test("^p[5-9]\\d(?:\\.\\d+)? latency$") then {row: ., metric: "duration", unit: "us"}
  elif test("^(?:Avg .*[Ll]atency|Server Compute(?: Infer)?)$") then {row: (ltrimstr("Avg ") | "mean \(ascii_downcase)"), metric: "duration", unit: "us"}
  elif test("^(?:Client|Network|Server|request|response) ?") then {left_out: "a part of the latency"} else {left_out: "unknown name"} end;
($columns | index("Inferences/Second")) as $first | .[] as $cells | {load: ([$columns[:$first][] | {key: ., value: $cells[.]}] | from_entries)},
  ($columns[$first:][] as $c | {row: $c} + ($c | meant)
    | if .left_out then . elif ($cells[$c] | num) == 0 then {row: $c, left_out: "0"} else .value = ($cells[$c] | num) end)
