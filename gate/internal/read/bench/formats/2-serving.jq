# `vllm bench serve` and sglang.bench_serving: one flat object, of a sweep a list or lines of them, each of another load.
module {name: "serving benchmark", load: true, parts: "server_info|metadata", known: "ttfts|itls|tpots|e2els|latencies|(?:input|output|prompt)_lens|start_times|errors|total_output_tokens_retokenized|random_range_ratio"};
def is: if type == "array" then .[0] else . end | type == "object" and (has("request_throughput") or has("mean_ttft_ms") or has("median_ttft_ms"));
if type == "array" then .[] else . end | served(false)
