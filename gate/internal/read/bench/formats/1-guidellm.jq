# guidellm, benchmarks.json: a load for each of its benchmarks, whose requests that succeeded are judged. Latencies of tokens
# are in ms, those of requests in s. A sweep (benchmark/profiles/sweep.py) is synchronous, then throughput, then at rates between the two that it measured,
# which no other run has: these loads are left out.
module {name: "guidellm", level: 3, statistics: "mean|median|mode|variance|std_dev|min|max|count|total_sum|p\\d+|bins|successful|errored|incomplete|total",
  known: "request_totals|successful|errored|incomplete|total|run_index|start_time|end_time|duration|warmup_duration|cooldown_duration",
  parts: "metadata|args|config|scheduler_state|scheduler_metrics|run_stats|requests|extras|worker|request_loader|env_args|quantiles"};
def is: type == "object" and any(.benchmarks | arrays | .[:50][]; .metrics? | type == "object"
  and any((.request_totals, .time_to_first_token_ms, .requests_per_second); type == "object" and has("successful")));
def latencies: {time_to_first_token_ms: ["TTFT", "ms"], time_per_output_token_ms: ["TPOT", "ms"], inter_token_latency_ms: ["ITL", "ms"],
  request_latency: ["request latency", "s"]};
def rates: {requests_per_second: "request throughput", output_tokens_per_second: "output throughput",
  prompt_tokens_per_second: "input throughput", tokens_per_second: "token throughput"};
def strategy: .config.strategy? // .args.strategy? // {};
([.benchmarks[:2][] | strategy.type_] == ["synchronous", "throughput"]) as $sweep | .benchmarks[] | strategy as $how
| if $sweep and $how.rate != null then {row: "\($how.type_) loads of the sweep", left_out: "rate of its own in each run"} else {load: ({strategy: $how.type_, rate: $how.rate, concurrency: ($how.max_concurrency // $how.streams), model: .config.backend.model?}
    | with_entries(select(.value != null)))},
  ((.metrics, .) | .request_totals? | objects | .errored | select(. != null and failures > 0) | requests_failed("request_totals.errored"; .)), (.metrics |
    (. as $all | latencies | to_entries[] | .key as $of | .value as [$name, $unit] | $all[$of].successful | objects
      | if .mean == 0 then {row: $of, left_out: "0: no request has it", of: $of} else
        {of: $of}, (., .percentiles | objects | to_entries[] | select(.key | IN("mean", "median", "p90", "p95", "p99"))
        | {row: "\(.key) \($name)"} + if .value == null then {left_out: "no number"} else {metric: "duration", unit: $unit, value} end) end),
    (. as $all | rates | to_entries[] | .key as $of | $all[$of].successful.mean | select(. != null)
      | {row: (rates[$of]), metric: "item_rate", value: ., of: $of})) end
