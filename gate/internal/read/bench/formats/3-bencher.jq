# Bencher's metric format: {"benchmark": {"latency": {"value": 88.0}}}. A measure that Bencher does not define is a row of its own that is not judged.
module {name: "bencher", known: "(?:lower_|upper_)?value"};
def is: type == "object" and length > 0 and all(.[]; type == "object" and all(.[]; type == "object"))
  and any(.[][]; has("value") or has("lower_value") or has("upper_value"));
{latency: {metric: "duration", unit: "ns"}, throughput: {metric: "item_rate"}, "build-time": {metric: "duration", unit: "s"},
 "file-size": {metric: "memory", unit: "B"}} as $measures | to_entries[] | .key as $name | .value | to_entries[]
| {row: $name, value: .value.value} + ($measures[.key] // {row: "\($name) \(.key)", metric: "value"})
