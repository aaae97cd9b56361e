# estimates.json of Criterion.rs: the median in ns. The name is that of its directory,
# target/criterion/GROUP/NAME/new/estimates.json. An early Criterion wrote Median and StdDev.
module {name: "criterion", parts: "(?i)mean|median|median_?abs_?dev|slope|std_?dev", known: ""};
def is: type == "object" and any(.[]; type == "object" and has("point_estimate") and has("confidence_interval"));
if has("std_dev") or has("StdDev") | not then {refuse: "\($file) holds the change between two runs of Criterion, not a time",
  kind: "other-format", next: "read estimates.json in the directory new beside it"}
else ($file | split("/")[:-1]) as $dir
| ($dir | if length == 0 then ["."] elif length > 1 and (last | IN("new", "base", "change")) then .[:-1] else . end) as $dir
| ($dir | index("criterion")) as $i
| {row: (if $i != null and $i + 1 < ($dir | length) then $dir[$i+1:] else $dir[-1:] end | join("/")),
   metric: "duration", unit: "ns", value: ((.median // .Median) | .point_estimate?)}
end
