package bench

// Samples of formats, shortened from what their writers print: NCCL tests (src/util.cu), trtllm-bench
// (tensorrt_llm/bench/dataclasses/reporting.py), guidellm, userbenchmarks of TorchBench (userbenchmark/README.md),
// MLPerf's loadgen (results of version 4.0) and BenchmarkTools.jl (src/serialization.jl).
const (
	ncclText = `# nThread 1 nGpus 1 minBytes 268435456 maxBytes 8589934592 s
#
# Using devices
#  Rank  0 Group  0 Pid 550397 on    host1 device  0 [0x1b] NVIDIA H100 80GB HBM3
#  Rank  8 Group  0 Pid 530748 on    host2 device  0 [0x1b] NVIDIA H100 80GB HBM3
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
    268435456      67108864     float     sum      -1   1291.8  207.79  389.61      0   1285.9  208.76  391.42      0
   8589934592    2147483648     float     sum      -1    34417  249.59  467.97      0    34390  249.78  468.34    N/A
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 443.007
#`
	ncclJSON = `{"version":2,"start_time":"2026-01-02 03:04:05","args":["./build/all_reduce_perf","-b","8"],
"env":["A=1"],"nccl_version":22703,"config":{"nthreads":1,"devices":[{"rank":0,"hostname":"h1",
"device":0,"device_info":"NVIDIA H100"}]},"results":[{"size":1024,"count":256,"type":"float",
"redop":"sum","root":"    -1","out_of_place":{"time":14.02,"alg_bw":0.07,"bus_bw":0.06,
"nwrong":0.0},"in_place":{"time":13.5,"alg_bw":0.07,"bus_bw":0.06,"nwrong":null},
"actual_iterations":20,"experiment_name":"x"}],"out_of_bounds":{"count":0,"okay":"true"},
"average_bus_bandwidth":{"bandwidth":0.06,"okay":"unchecked"},"errors":[]}`
	trtllmFile = `{"engine":{"model":"meta-llama/Llama-3.1-8B","model_path":"/m","engine_dir":null,"version":"1.0",
"backend":"Pytorch","dtype":"bfloat16","kv_cache_dtype":"FP8","quantization":"FP8"},"world_info":
{"tp_size":1,"pp_size":1,"ep_size":null,"world_size":1,"max_batch_size":64,"max_num_tokens":2048,
"scheduling_policy":"GUARANTEED_NO_EVICT","kv_cache_percentage":0.9,"issue_rate":94825.5},
"request_info":{"num_requests":128,"avg_num_concurrent_requests":60.2,"avg_input_length":128.0,
"avg_output_length":128.0},"performance":{"total_latency_ms":1500.5,"avg_request_latency_ms":900.25,
"request_throughput_req_s":85.3,"system_output_throughput_tok_s":10918.4,
"system_total_throughput_tok_s":21836.8,"output_throughput_per_user_tok_s":142.2,
"output_throughput_per_gpu_tok_s":10918.4,"request_latency_percentiles_ms":{"p50":901.0,"p90":950.5,
"p95":960.0,"p99":990.0,"minimum":700.0,"maximum":999.0,"average":900.25}},"streaming_metrics":
{"token_output_speed_tok_s":150.0,"avg_ttft_ms":50.5,"avg_tpot_ms":6.7,"tpot_percentiles":
{"p50":6.5,"p99":8.0,"minimum":5,"maximum":9,"average":6.7},"ttft_percentiles":{"p50":49.0,
"p99":80.0,"minimum":5,"maximum":9,"average":50.5},"gen_tps_percentiles":{"p50":149.0,
"average":150.0}},"dataset":{"isl":{"minimum":128}}}`
	guideFile = `{"metadata":{"version":1},"args":{"max_seconds":60},"benchmarks":[{"type_":"generative_benchmark",
"run_index":0,"config":{"strategy":{"type_":"concurrent","max_concurrency":32,"streams":32},
"backend":{"model":"a/b"}},"scheduler_state":{"created_requests":5},"metrics":{"request_totals":
{"successful":32,"errored":0,"incomplete":31,"total":63},"time_to_first_token_ms":{"successful":
{"mean":49.23,"median":48.7,"std_dev":5.58,"count":32,"percentiles":{"p001":1,"p50":48.5,"p90":60,
"p95":70,"p99":77.79,"p999":99}},"total":{"mean":50}},"request_latency":{"successful":{"mean":2.5,
"median":2.4,"percentiles":{"p99":3.5}}},"inter_token_latency_ms":{"successful":{"mean":6.79,
"median":6.77,"percentiles":{"p99":7.11}}},"requests_per_second":{"successful":{"mean":2.49,
"median":0.01}},"output_tokens_per_second":{"successful":{"mean":51.76}},"tokens_per_second":
{"successful":{"mean":616.86}},"prompt_token_count":{"successful":{"mean":400,"total_sum":208831}}},
"duration":60.5}]}`
	userFile = `{"name":"cpu","environ":{"pytorch_git_version":"de11"},"metrics":
{"alexnet-eval_latency":58.309660750000006,"alexnet-eval_cmem":0.416259765625,"x":3,
"y-train_latency":null}}`
	mlperfText = `================================================
MLPerf Results Summary
================================================
SUT name : BERT SERVER
Scenario : Server
Mode     : PerformanceOnly
Scheduled samples per second : 32522.30
Result is : VALID
  Performance constraints satisfied : Yes
  Min duration satisfied : Yes
  Early stopping satisfied: Yes
Early Stopping Result:
 * Run successful.

================================================
Additional Stats
================================================
Completed samples per second    : 32521.90

Min latency (ns)                : 2263910
Max latency (ns)                : 56096672
Mean latency (ns)               : 23344794
50.00 percentile latency (ns)   : 23032737
99.90 percentile latency (ns)   : 46927185

================================================
Test Parameters Used
================================================
samples_per_query : 1
target_qps : 32531.2
target_latency (ns): 130000000
min_duration (ms): 600000`
	juliaFile = `[{"Julia":"1.12.5","BenchmarkTools":"1.7.0"},[["BenchmarkGroup",{"data":{"apply":["BenchmarkGroup",
{"data":{"large":["BenchmarkTools.Trial",{"allocs":3,"gctimes":[0.0,0.0,0.0],"memory":3145872,
"params":{"seconds":5.0},"times":[7531234.0,7531000.0,8000000.0]}]},"tags":[]}],
"est":["TrialEstimate",{"time":5.5,"gctime":0.0,"memory":0,"allocs":0,"params":{}}]},"tags":[]}]]]`
)
