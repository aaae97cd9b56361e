package run

// What to do about the refusals of this package.
const (
	freeGPU    = "wait until the GPU is free, or allow a busy one to measure all the same"
	buildFirst = "check the command, and build the workload first"
	checkNsys  = "check the nsys installation with nsgate doctor"
	ncuByHand  = "run ncu on the workload by hand"
	ownBase    = "build the base elsewhere and give its command"
)
