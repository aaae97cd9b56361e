# trtllm-bench, --report_json (tensorrt_llm/bench/dataclasses/reporting.py): throughputs, and latencies in ms. The others are views of these. The rate of issue is counted.
module {name: "trtllm-bench", load: true, parts: "engine|machine|world_info|request_info|dataset|decoding_stats", known: "total_latency_ms|output_throughput_per_gpu_tok_s|minimum|maximum|average|p\\d+"};
def is: type == "object" and has("performance") and has("request_info") and has("world_info");
def throughputs: {request_throughput_req_s: "request throughput", system_output_throughput_tok_s: "output throughput",
  system_total_throughput_tok_s: "total token throughput", output_throughput_per_user_tok_s: "output throughput per user",
  token_output_speed_tok_s: "output speed per user"};
def latency($name): to_entries[] | select(.key | test("^(?:average|p[5-9]\\d)$"))
  | {row: "\(.key | sub("^average$"; "mean")) \($name)", metric: "duration", unit: "ms", value};
{load: ((.engine // {} | {model: .model, backend: .backend, dtype: .dtype, quantization: .quantization} | map_values(strings))
  + (.world_info | del(.kv_cache_percentage, .issue_rate) | with_entries(select(.value | type == "number"))) + (.request_info
    | {num_requests, input_tokens_per_request: .avg_input_length, output_tokens_per_request: .avg_output_length} | with_entries(select(.value != null))))},
{gpu: (.machine | .name? // null)},
((.performance, .streaming_metrics) | objects | . as $all | throughputs | to_entries[] | .key as $of | .value as $row
  | $all[$of] | select(. != null) | {row: $row, metric: "item_rate", value: ., of: $of}),
(.performance | {of: "avg_request_latency_ms"},
  ({average: .avg_request_latency_ms} + (.request_latency_percentiles_ms // {} | del(.average)) | latency("request latency"))),
(.streaming_metrics | objects | ("ttft", "tpot") as $name
  | {of: "avg_\($name)_ms"}, ({average: .["avg_\($name)_ms"]} + (.["\($name)_percentiles"] // {} | del(.average)) | latency($name | ascii_upcase)),
  (select(.gen_tps_percentiles) | {row: "gen_tps_percentiles", left_out: "unknown name"}))
