# estimates.json of Criterion.rs: the median in ns. The name is that of its directory, target/criterion/GROUP/NAME/new/estimates.json. An early Criterion
# wrote Median and StdDev. cargo-criterion --message-format=json (message_formats/json.rs) has lines with names.
module {name: "criterion", parts: "(?i)mean|median|typical|change|median_?abs_?dev|slope|std_?dev|throughput|measured_values|iteration_count", known: ""};
def messages: if type == "array" then .[] else . end | objects | select(.reason == "benchmark-complete");
def is: any(limit(100; if type == "array" then .[] else . end); type == "object" and (.reason | IN("benchmark-complete", "group-complete")))
  or (type == "object" and any(.[]; type == "object" and has("point_estimate") and has("confidence_interval")));
if type == "array" or has("reason") then messages | {row: .id, once: true} + ((.median // .typical) | {unit, value: .estimate})
elif has("std_dev") or has("StdDev") | not then {refuse: "\($file) holds the change between two runs of Criterion, not a time",
  kind: "other-format", next: "read estimates.json in the directory new beside it"} else ($file | split("/")[:-1]) as $dir
| ($dir | if length == 0 then ["."] elif length > 1 and (last | IN("new", "base", "change")) then .[:-1] else . end) as $dir | ($dir | index("criterion")) as $i
| {row: (if $i != null and $i + 1 < ($dir | length) then $dir[$i+1:] else $dir[-1:] end | join("/")),
   metric: "duration", unit: "ns", value: ((.median // .Median) | .point_estimate?)} end
