# `vllm bench latency`, in seconds: the mean and the percentiles from the median up.
module {name: "vLLM latency", known: "avg_latency|latencies", parts: "percentiles"};
def is: type == "object" and has("avg_latency") and has("percentiles");
{avg: .avg_latency} + (.percentiles | with_entries(.key |= "p" + .)) | statistics_in("latencies"; "latency"; "s")
