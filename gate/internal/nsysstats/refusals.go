package nsysstats

// What to do about the refusals of this package.
const (
	again      = "export again: nsys stats --report cuda_gpu_trace --format csv REPORT.nsys-rep"
	withC      = "export again with LC_ALL=C"
	oneRun     = "give the tables of one run at a time, made once and with the same filters"
	nanosecond = "export again with --timeunit nsec"
	fromReport = "give nsgate the report or its SQLite export instead (nsys export --type sqlite)"
	noKernel   = "see that the workload did not fail, that it uses the GPU, and that the capture range covers its kernels"
	noTime     = "export again with --timeunit nsec; where that does not help, record again"
)
