# nvbench, docs/cli_help.md, --json: a row a state, named by the benchmark and its axes, _ for spaces. The time is that of the GPU, else of the CPU.
module {name: "nvbench", twins: true, known: "index|id|device|devices|type_config_index|min_samples|min_time|max_noise|skip_time|timeout|.*_criterion", parts: "meta|devices|axes|axis_values|summaries|criterion_params|stopping_criterion.*"};
def is: type == "object" and (.meta | .version? | .nvbench?) != null and has("benchmarks");
def tag($name): first(.summaries[]? | select(.tag == $name) | .data[]? | select(.name == "value") | .value | num);
(.devices // []) as $devices | .benchmarks[]? | .name as $name | .states[]? | ([$name, (.axis_values[]? | (.name | split(" ") | join("_")) + "=" + .value),
    if ($devices | length) > 1 and .device != null then "GPU \(.device)" else empty end] | join(" ")) as $row
| .device as $d | {gpu: (first($devices[] | select(.id == $d) | .name) // null)}, if .is_skipped then {row: $row, skipped: true} else
    (.summaries[]? | select((.tag // "") | startswith("nv/") | not) | select(any(.data[]?; .name)) | {row: (.tag // .name), left_out: "unknown name"}),
    ({row: $row, metric: "gpu_duration", unit: "s"} as $gpu | first($gpu + {value: (tag("nv/cold/time/gpu/mean"), tag("nv/batch/time/gpu/mean"))},
        $gpu + {metric: "duration", value: (tag("nv/cold/time/cpu/mean"), tag("nv/cpu_only/time/cpu/mean"))},
        {refuse: "\($file): \($row | quote) was not skipped and has no time", kind: "bad-value"}))
  end
