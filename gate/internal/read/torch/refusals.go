package torch

// Next steps of the refusals of this package.
const (
	profileAgain = "profile the workload again"
	exportAgain  = "export the trace again with prof.export_chrome_trace"
	copyAgain    = "copy or write it again"
	fewerSteps   = "profile fewer steps: torch.profiler.schedule(wait=…, warmup=…, active=…)"
	activities   = "profile with activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]"
	// printAgain prints a table in which every kernel has its name.
	printAgain = "print prof.key_averages().table(row_limit=-1, max_name_column_width=None)"
)
