# Userbenchmarks of TorchBench (userbenchmark/README.md): latencies in ms and memory in GB by name; the unit of other numbers is not known.
module {name: "torchbench userbenchmark", parts: "environ|metrics|meta"};
def is: type == "object" and has("name") and (.metrics | type == "object") and (.environ | .pytorch_git_version?) != null;
.metrics | to_entries[] | if .value == null or .value == -1 then {row: .key, failed: true}
  elif .value | type != "number" then {row: .key, left_out: "no number"}
  elif .key | test("[-_\\]](?:eval|train).*[_-]latency$|_latency_ms$") then {row: .key, metric: "duration", unit: "ms", value}
  elif .key | test("[_-](?:cmem|gmem|[cg]pu_peak_mem)$") then {row: .key, metric: "memory", unit: "GB", value} else {row: .key, metric: "value", value} end
