# CSV of triton.testing.Benchmark, a row for each size and column: columns of sizes, then those whose names end in a unit. Columns of another unit are not
# judged. CSV of tritonbench, with semicolons: one column of sizes, then metrics; a text among them is the error of a kernel or a remark.
module {name: "triton.testing"};
def column: {duration: "gpu_duration", bandwidth: "gpu_bandwidth", flop_rate: "gpu_flop_rate"} as $on_gpu
  | {latency: ["gpu_duration", "ms"], walltime: ["duration", "ms"], cuda_time: ["gpu_duration", "ms"],
     tflops: ["gpu_flop_rate", "TFLOP/s"], gbps: ["gpu_bandwidth", "GB/s"], tbps: ["gpu_bandwidth", "TB/s"],
     cpu_peak_mem: ["memory", "GB"], gpu_peak_mem: ["memory", "GB"]} as $known
  | def in_unit($name; $unit): ($unit | metric) as $m | select($m) | {name: $name, unit: $unit, metric: ($on_gpu[$m] // $m)};
  . as $title | split("-") as $words | ($words[:-1] | join("-")) as $name | $words[-1] as $last
  | first((select(length <= 1024) | capture("^(?<name>.*?)\\s*[(\\[](?:[^()\\[\\]]*[(\\[])?(?<unit>[^()\\[\\]]+)[)\\]]+$") | in_unit(.name; .unit)),
      (select(length <= 1024 and ($words | length) > 1)
        | ($known[$last] | arrays | {name: $name, metric: .[0], unit: .[1]}), (select($last | length > 1) | in_unit($name; $last))),
      {name: $title, metric: "value"})
  | .title = $title;
def has_unit: column.metric != "value";
def is: ($columns | length) > 1 and ($columns | any(contains("{")) | not)
  and any($columns[1:][]; has_unit or ($comma == "," and (ascii_downcase | startswith("triton"))));
($comma == ";") as $bench | (first(range(1; $columns | length) as $i
    | select($bench or ($columns[$i] | has_unit or test("^.*?\\s*[(\\[](?:[^()\\[\\]]*[(\\[])?[^()\\[\\]]+[)\\]]+$"))) | $i) // ($columns | length)) as $sizes
| ($columns[:$sizes] - [""]) as $axes | ($columns[$sizes:] | map(column)) as $all
| if any($all[]; .metric != "value") | not then {kind: "bad-table", refuse: "\($file): line 1: no column has a unit",
    next: "write units in brackets into line_names of the Benchmark: \"Triton (GB/s)\"; recent versions of Triton add ylabel"}
  else [to_entries[] | .key as $line | .value as $cells | select($bench and ($cells[$axes[0]] | IN("average", "hashes")) | not)
      | {line: ($line + 2), cells: $cells, at: ([$axes[] | " \(.)=\($cells[.] | sub("\\.0+$"; ""))"] | join(""))}]
    | ([.[].at] | counts) as $count | (if $bench then {tool: "tritonbench"} else empty end), (.[] | .at as $at | .cells as $cells | .line as $line
    | if $count[$at] > 1 then {refuse: "\($file): line \(.line): the sizes\($at) are those of another line"} else (foreach $all[] as $c ({text: "", of: ""};
        $cells[$c.title] as $cell | ($cell | trim | split(" ")[0] // "" | num) as $v | .out = null | if $cell == "" then
            if $c.metric == "value" then . elif "\($c.name)-" as $own | .of | startswith($own) then .out = {row: ($c.name + $at), failed: .text} | .of = ""
            else .out = {row: ($c.name + $at), left_out: "no number"} end
          elif ($v | type) == "number" then .out = ($c | del(.title, .name)) + {row: ($c.name + $at), value: $v}
          elif $c.metric == "value" then .text = $cell | .of = $c.title
          elif $bench and ($v | tostring | test("^[-+.]?\\d") | not) then .out = {row: ($c.name + $at), failed: $cell}
          else .out = {refuse: "\($file): line \($line), column \($c.title | quote): \($v | quote) is no number"} end;
        .out // empty)) end)
  end
