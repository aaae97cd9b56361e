package nsys

// Next steps of the refusals of this package.
const (
	exportAgain  = "export the report again with `nsys export --type sqlite`"
	recordAgain  = "record the workload again"
	untilWritten = "wait until the export has ended, close the program that has the file open, or export the report " +
		"again"
	updateNsgate = "update nsgate, or export the report with nsys of 2026 or older"
	updateNsys   = "update nsys to a release at least as new as the CUDA driver and record again"
	moreOften    = "let the workload synchronise before it ends, record a shorter part, or let the buffers be " +
		"emptied more often " +
		"with --cuda-flush-interval=1000"
	launchSome = "see that the workload launched kernels while it was recorded: that it did not fail, that the " +
		"capture range covers them, and that nsys followed the process that launches them"
)
