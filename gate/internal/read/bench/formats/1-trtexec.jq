# trtexec of TensorRT (samples/common/sampleReporting.cpp): the printed summary, --exportTimes, or the layers of --exportProfile. TensorRT 7 prints a block of
# lines a quantity; before 8.5 the exported times have those of the warm-up.
module {name: "trtexec", known: "(?:start|end)\\w+Ms|count|timeMs|(?:average|median)Ms|percentage"};
def is: if type == "string" then test("&&&& RUNNING TensorRT\\.trtexec|=== Performance summary ===|\\] Host Latency\\s")
  else type == "array" and (.[:2] | all(.[]; type == "object")
    and ((.[0] | has("computeMs") and has("latencyMs")) or (.[0].count? != null and (.[1] | .averageMs?) != null))) end;
def quantity($name): {metric: (if $name | startswith("GPU") then "gpu_duration" else "duration" end), unit: "ms", once: true};
def timed($statistic; $name; $value): quantity($name) + {row: "\($statistic) \($name)"}
  + if ($value | num) == 0 then {left_out: "0"} else {value: ($value | num)} end;
def named: {"Host Latency": "latency", Latency: "latency", "End-to-End Host Latency": "end-to-end host latency",
  "Enqueue Time": "enqueue time", "GPU Compute": "GPU compute time", "GPU Compute Time": "GPU compute time", "H2D Latency": "H2D latency", "D2H Latency": "D2H latency"}[.] // .;
if type == "array" and .[0].count != null then .[1:][] | {row: .name, metric: "gpu_duration", unit: "ms"}
  + if .averageMs == 0 then {left_out: "0"} else {value: (.medianMs // .averageMs)} end
elif type == "array" then [["latencyMs", "latency"], ["computeMs", "GPU compute time"], ["h2dMs", "H2D latency"], ["inMs", "H2D latency"],
    ["d2hMs", "D2H latency"], ["outMs", "D2H latency"], ["endToEndMs", "end-to-end host latency"]][] as [$key, $name]
  | [.[][$key] | select(. != null)] | select(. != []) | {of: $key, row: "median \($name)"}
  + if all(.[]; . == 0) then {left_out: "0"} else quantity($name) + {values: ., once: false} end
else (select(contains("&&&& FAILED TensorRT.trtexec")) | refused("trtexec failed"; "find out why; its lines with [E] tell")),
  (foreach lines as $line (""; ($line | capture("\\] (?<block>Host Latency|GPU Compute|Enqueue Time)$").block) // .; . as $block | $line
    | (capture("Selected Device: (?<gpu>.*?) *$")), (capture("[Tt]hroughput: (?<value>\\S+) qps") | (.value | num) as $v
        | {row: "throughput"} + if $v == 0 then {left_out: "0"} else {metric: "item_rate", value: $v, once: true} end),
      (capture("(?<name>(?:(?:End-to-End Host|H2D|D2H) )?Latency|(?:Enqueue|GPU Compute) Time): min = (?<all>.*)") | (.name | named) as $name
        | .all | scan("(mean|median|percentile\\(([\\d.]+)%\\)) = (\\S+) ms") | timed(if .[1] then "p\(.[1])" else .[0] end; $name; .[2])),
      (select($block != "") | capture("\\] (?<part>mean|median|percentile): (?<v>\\S+) ms(?: at (?<p>[\\d.]+)%)?")
        | timed(if .p then "p\(.p)" else .part end; $block | named; .v)))) end
