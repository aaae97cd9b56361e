package bench

// Samples of formats, shortened from what their writers print: NCCL tests (src/util.cu), trtllm-bench
// (tensorrt_llm/bench/dataclasses/reporting.py), guidellm, userbenchmarks of TorchBench (userbenchmark/README.md),
// MLPerf's loadgen (results of version 4.0), BenchmarkTools.jl (src/serialization.jl), trtexec
// (samples/common/sampleReporting.cpp), perf_analyzer (report_writer.cc), Catch2 (reporters/catch_reporter_xml.cpp),
// go test (golang.org/design/14313-benchmark-format), the Trainer of transformers (trainer_utils.py), cargo-criterion
// (message_formats/json.rs) and google/benchmark (csv_reporter.cc).
const (
	trtexecText = `&&&& RUNNING TensorRT.trtexec [TensorRT v100300] [b17] # trtexec --onnx=model.onnx
[01/02/2026-03:04:05] [I] === Device Information ===
[01/02/2026-03:04:05] [I] Selected Device: NVIDIA H100 80GB HBM3
[01/02/2026-03:04:05] [I] Average on 10 runs - GPU latency: 2.1 ms - Host latency: 2.3 ms (enqueue 0.5 ms)
[01/02/2026-03:04:05] [I] === Performance summary ===
[01/02/2026-03:04:05] [I] Throughput: 523.125 qps
[01/02/2026-03:04:05] [I] Latency: min = 1.5 ms, max = 2.5 ms, mean = 2.125 ms, median = 2.25 ms, ` +
		`percentile(90%) = 2.375 ms, percentile(99%) = 2.4375 ms
[01/02/2026-03:04:05] [I] Enqueue Time: min = 0.1 ms, max = 0.9 ms, mean = 0.25 ms, median = 0.1875 ms, ` +
		`percentile(99%) = 0.5 ms
[01/02/2026-03:04:05] [I] H2D Latency: min = 0 ms, max = 0 ms, mean = 0 ms, median = 0 ms, percentile(99%) = 0 ms
[01/02/2026-03:04:05] [I] GPU Compute Time: min = 1.25 ms, max = 2.5 ms, mean = 1.875 ms, median = 1.75 ms, ` +
		`percentile(99%) = 2.125 ms
[01/02/2026-03:04:05] [I] Total GPU Compute Time: 2.9 s
[01/02/2026-03:04:05] [V] Throughput: the observed throughput computed by dividing the number of queries by it
&&&& PASSED TensorRT.trtexec [TensorRT v100300] [b17] # trtexec --onnx=model.onnx
`
	trtexecOld = `[10/20/2020-19:56:29] [I] Host Latency
[10/20/2020-19:56:29] [I] min: 4.25 ms (end to end 4.375 ms)
[10/20/2020-19:56:29] [I] mean: 4.5 ms (end to end 4.625 ms)
[10/20/2020-19:56:29] [I] percentile: 5.5 ms at 99% (end to end 6.125 ms at 99%)
[10/20/2020-19:56:29] [I] throughput: 0 qps
[10/20/2020-19:56:29] [I] walltime: 3.00956 s
[10/20/2020-19:56:29] [I] GPU Compute
[10/20/2020-19:56:29] [I] median: 4.125 ms
[10/20/2020-19:56:29] [I] total compute time: 2.9 s
`
	trtexecTimes = `[
  { "startEnqMs" : 1, "endEnqMs" : 1.5, "startH2dMs" : 1, "endH2dMs" : 1.25, "h2dMs" : 0.25, "computeMs" : 1.5,
"d2hMs" : 0.125, "latencyMs" : 1.875, "endToEndMs" : 2 }
, { "startEnqMs" : 3, "endEnqMs" : 3.5, "startH2dMs" : 3, "endH2dMs" : 3.25, "h2dMs" : 0.25, "computeMs" : 1.75,
"d2hMs" : 0.125, "latencyMs" : 2.125, "endToEndMs" : 3 }
]`
	perfFile = `Concurrency,Inferences/Second,Client Send,Server Queue,Server Compute Infer,Client Recv,p50 latency,` +
		`p99 latency,Avg latency,Avg GPU Utilization
1,812.5,10,0,700,2,1200,1500,1250,gpu-0:0.5;
4,1500,10,5,900,0,1250,1550,0,gpu-0:0.75;
`
	catchFile = `<?xml version="1.0" encoding="UTF-8"?>
<Catch2TestRun name="b" rng-seed="1" catch2-version="3.5.0"><TestCase name="Fib" filename="a.cpp" line="1">
<BenchmarkResults name="20" samples="100" resamples="100000" iterations="2" clockResolution="20"
estimatedDuration="3e6"><mean value="14500.25" lowerBound="1" upperBound="2" ci="0.95"/><standardDeviation value="200"
lowerBound="1" upperBound="2" ci="0.95"/><outliers variance="0.1" lowMild="0" lowSevere="0" highMild="1"
highSevere="0"/></BenchmarkResults><Section name="s"><BenchmarkResults name="20"><mean value="5"/></BenchmarkResults>
<BenchmarkResults name="20"><mean value="6"/></BenchmarkResults></Section><BenchmarkResults name="bad"
samples="100"><failed message="no memory"/></BenchmarkResults><OverallResult success="true"/></TestCase></Catch2TestRun>`
	goText = "goos: linux\npkg: a/b\nBenchmarkA/n=8-8   \t 1000\t     12345 ns/op\t  64.50 MB/s\t      12 B/op\t" +
		"       1 allocs/op\nBenchmarkA/n=8-8   \t 1000\t     12347 ns/op\t  64.50 MB/s\t      12 B/op\t       1 " +
		"allocs/op\nBenchmarkB \t       1\t2000000000 ns/op\t       250.5 tokens/s\nPASS\nok  \ta/b\t1.2s\n"
	trainerFile = `{"epoch":3.0,"total_flos":1e17,"train_loss":0.5,"train_runtime":123.5,"train_samples":1000,
"train_samples_per_second":24.25,"train_steps_per_second":3.0625,"eval_accuracy":0.75,"eval_mcc":-0.25,
"train_mem_gpu_peaked_delta":1024}`
	cargoLines = `{"reason":"benchmark-complete","id":"sort/8","report_directory":"/x","iteration_count":[10,20],
"measured_values":[1000.0,2000.0],"unit":"ns","throughput":[{"per_iteration":64,"unit":"bytes"}],
"typical":{"estimate":100.0,"lower_bound":99.0,"upper_bound":101.0,"unit":"ns"},
"mean":{"estimate":100.5,"unit":"ns"},"median":{"estimate":100.25,"unit":"us"},"slope":null,"change":null}
{"reason":"group-complete","group_name":"sort","benchmarks":["sort/8"],"report_directory":"/x"}`
	googleCSV = `name,iterations,real_time,cpu_time,time_unit,bytes_per_second,items_per_second,label,error_occurred,` +
		`error_message,"GFLOPS"
"BM<int, 2>/8",1000,12.5,12.4,us,6.4e+08,,,,,7
"BM<int, 2>/8",1000,13.5,12.4,us,6.4e+08,,,,,8
"BM<int, 2>/8_mean",2,13,12.4,us,6.4e+08,,,,,8
"BM<int, 2>/8_stddev",2,0.1,12.4,us,6.4e+08,,,,,8
"BM<int, 2>_BigO",,0.1,12.4,N^2,,,,,,
"BM<int, 2>_RMS",,0.1,12.4,,,,,,,
"Err",,,,,,,,true,"out ""of"" memory",
`
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
	ncclOne  = "# size count type redop time algbw busbw\n8 2 float none 5 0.1 0.1\n# Avg bus bandwidth : 1\n"
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
