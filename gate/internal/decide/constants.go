package decide

// The constants of the decision that no policy changes, by the file that uses them, each with its source or the benchmark that
// chose it.

// estimate
const (
	// power at which the MDE is stated.
	power = 0.8
	// material is the part of its limit that an open comparison has to be able to cost of the workload's GPU time before
	// it leaves the whole gate undecided: at the default limit of 3 %, half a per cent.
	material = 1.0 / 6
	// secondary is the weight in the family-wise correction of metrics beside a kernel's time and the
	// workload's: the same launches summed up in another way.
	secondary = 0.2
	// seldom is that of stalls and sections, whose limits are wide and whose changes are large.
	seldom = 0.05
	// copyVariation is how much slower a process may copy from beginning to end by where it got its memory: 4 to 9 % in 3 of 40
	// unchanged runs of one H200 host, 15 % in 3 of 5 of another, 49 % in one of 12 of a third. Up to that and some more, most
	// runs of a side say nothing, nor does a single one.
	copyVariation = 0.6
	// rounding is the change on the working scale below which nothing but arithmetic has happened.
	rounding = 1e-13
	// unequalFrom is how many standard errors the variances of the sides lie apart before each side is judged by its own.
	unequalFrom = 2
	// countedRuns is the fewest runs a side after which a count that never varies is taken for exact.
	countedRuns = 5
	// countedDF are the degrees of freedom of a variance of zero that counting, not sampling, makes certain.
	countedDF = 1000
	// coarse is the timer's tick relative to a kernel's time from which on its spread says nothing about a few others'.
	coarse = 0.005
	// MaxRuns is as many runs as a hint ever asks for.
	MaxRuns = 40
)

// forecast
const (
	// heavyShare is the part of GPU time from which on a plan has to find a slowdown of the kernel itself.
	heavyShare = 0.05
)

// outlier
const (
	// outlierRunsMost is the part of a session's runs, rounded down, that may be left out as outliers as a whole.
	outlierRunsMost = 0.25
	// winsorisedMost is the part of a session's runs that may be winsorised as outliers of a kernel, or be slow steps and not be
	// mentioned: one of five.
	winsorisedMost = 0.2
	// outlierFrom is how many standard deviations from the others a run of a kernel is an outlier, outlierTo to where it is moved.
	outlierFrom, outlierTo = 6, 2
)

// singlerun
const (
	// SpreadRuns is the fewest runs by whose spread a single run of the other side is judged.
	SpreadRuns = 3
	// outlierStep is the change of a step's period up to which one run may be an outlier: of five profiled runs of an
	// unchanged program, in one session, the slowest took 54 % longer than the fastest.
	outlierStep = 1.0
	// outlierKernel is the same for the time of a kernel: in 150 runs of unchanged programs on H200 and H100 GPUs, up to 29 kernels
	// each, one kernel differed by 1.7 % in one run, all others by less.
	outlierKernel = 0.02
)

// output
const (
	// outputSD is the sd of an output between runs of one host: unprofiled steps of an unchanged PyTorch program took 6.99 and 7.14 ms on one
	// host, 7.52, 7.53, 7.56 and 8.15 ms on another.
	outputSD = 0.01
	// outputBatchSD is the sd between two batches of runs on one machine, outputHostSD between two machines with the same CPU and board,
	// outputOtherSD any two machines: a program near its launch limit is as fast as the CPU.
	outputBatchSD = 0.005
	outputHostSD  = 0.01
	outputOtherSD = 0.04
	// outputGPUSD is the sd between any two machines of a program whose steps do not depend on the CPU.
	outputGPUSD = 0.01
	// replayErrorMost is the error of a replay up to which its sensitivity is used: 0.34 % was the worst of 78 PyTorch runs.
	replayErrorMost = 0.005
)

// comparison
const (
	// sectionImpact is the part of the run's wall time, or GPU time, that a section has to change by: less is not worth a finding.
	sectionImpact = 0.02
)

// shifts
const (
	commonLeast = 2
	commonPart  = 0.3
	CommonSize  = 0.01
)

// spread
const (
	// batchSD is what two batches of runs on one GPU, minutes apart, differ by before seeing them: 37 batches on an idle H200
	// differed by 0.01 to 0.03 % (sd) in every kernel, whether seconds or five minutes lay between them; two and a half times
	// that, for GPUs that are less idle. batchLeast is the fewest kernels from which more is learnt of it.
	batchSD, batchLeast = 0.0007, 3
	// daySD is the prior sd between sessions of one GPU on different days: half of that between hosts.
	daySD = 0.0025
	// batchMost bounds what all kernels together may add to that of one GPU, in standard deviations between its runs: batches of a
	// noisy GPU differ like its runs, and a program that got slower as a whole is not its own noise.
	batchMost = 2
	// shiftMost is the largest change of all kernels together that a clock or another board may make: boards of one model differ
	// by 1.5 %, power limits by some per cent more.
	shiftMost = 0.1
	// sessionMost bounds what all kernels together may add to the spread between sessions, in prior standard deviations:
	// the two kinds of H200 host, 1.5 % apart in memory-bound kernels, are within half of it.
	sessionMost = 5
	// sessionImpact is the part of the workload's GPU time that a change between hosts has to come to before it is a
	// finding: single kernels differ between hosts by up to 4 % for reasons of their own (of 27 kernels on 4 hosts,
	// three by more than 2.5 %, all of them small).
	sessionImpact = 0.0015
	// hostEffectMost is how far a single kernel may lie from other hosts where nothing shows that it is quiet: on 12 H200 hosts
	// tensor-core GEMMs ranged over 3 %.
	hostEffectMost = 0.04
	// boardWeight is the weight of the sessions' prior among hosts of one board, which differ less.
	boardWeight = 2
	// familyLeast is the fewest kernels that say something of a family.
	familyLeast = 3
	// quietPart is the part of the prior variance up to which hosts of one board show a kernel to be quiet.
	quietPart = 0.5
	// boundPart is how much of the prior standard deviation is left to memory-bound kernels, among hosts of one board:
	// those of a PyTorch program have 0.14 % there. boundDF is how well that is known.
	boundPart, boundDF = 0.4, 20
	// hostTicks is the sd of a kernel's launch overhead between hosts, in ticks of the timer: 0.9 µs kernels of
	// 11 hosts of one board had a standard deviation of 60 ns.
	hostTicks = 2
	// medianEfficiency is that of a spread by the median against one by squares, for normal values (Rousseeuw and Croux 1993).
	medianEfficiency = 0.37
)

// step
const (
	// stepHostSD is that between hosts: of thirteen, twelve were within half a per cent and one 13 % slower, and a PyTorch program
	// near its launch limit took 40 % longer on one of two hosts with CPUs of one model. stepHostDF says how well it is known.
	stepHostSD, stepHostDF = 0.13, 12
	// stepBatchSD is that between batches of runs on one host.
	stepBatchSD = 0.01
	// stepGPUSD is that of a step in which the GPU never waits for the CPU: 0.3 % of 90 pairs of hosts that ran a transformer, 0.5 %
	// of 156 that ran a CUDA program. waitsFrom is the part of a step spent waiting from which on the step is the host's.
	stepGPUSD, waitsFrom = 0.005, 0.1
	// stepDaySD is that between sessions of one GPU on different days: half more than of batches.
	stepDaySD = 0.015
	// stallHostSD and stallBatchSD are those of the mean over the typical step, which hardly depends on the host: it is 1.000 in
	// unchanged CUDA programs, up to 1.02 in 53 runs of a PyTorch program on 14 hosts.
	stallHostSD, stallBatchSD = 0.01, 0.005
	// sectionHostSD, sectionDaySD and sectionBatchSD are those of the wall time of sections, in which programs start up.
	sectionHostSD, sectionDaySD, sectionBatchSD = 0.25, 0.1, 0.03
	// outlierGates is how many unchanged gates may fail by outlier runs alone.
	outlierGates = 0.0008
	// stepDelays is the chance up to which runs of a step beyond every run of the baseline are more than delays of the CPU: three
	// of three runs against three.
	stepDelays = 0.05
	// first is the weight in the family-wise correction of the step, which says whether the program is slower.
	first = 3
	// cycleSlack is the part by which the numbers of cycles of two runs may differ, and one cycle at least.
	cycleSlack = 0.1
)

// trend
const (
	// trendP is the largest product of the p-values of a trend in two batches: by Fisher's method (1932) 1 %, and of five runs a side one
	// may be out of order. trendEach is the largest of them in each batch. trendUneven is the ratio of their rates from which on a trend is not even, trendLeast the smallest change
	// between the batches that is one.
	trendP, trendEach, trendUneven, trendLeast = 0.0015, 0.1, 2, 0.001
	// trendPause is the longest time between the batches, in times between runs.
	trendPause = 3
	// trendError is the part of the predicted change by which an uneven trend may differ from an even one.
	trendError = 0.1
)

// hostspeed, by pairs of 78 runs of PyTorch programs on 14 hosts
const (
	// coverLeast is the part of the head's host time in segments that both sides have, spreadMost the spread of the segments about
	// their factor, up to which a factor was right: by 1 % of host time below, by 8 to 14 % above.
	coverLeast, spreadMost = 0.5, 0.15
	// handoverMost is the ln ratio up to which a wake-up of another thread is taken to be the host's.
	handoverMost = 0.7
	// factorSD is the error of host time at the baseline's speed between hosts alike, factorFarSD that beyond factorNear.
	factorSD, factorFarSD, factorNear = 0.01, 0.015, 0.25
	// factorPass is the factor up to which an interval at the baseline's speed may pass a gate.
	factorPass = 0.1
	// slopeStep is the change of host time over which a step's sensitivity is taken.
	slopeStep = 0.05
	// speedSessions is how many sessions a side are compared.
	speedSessions = 10
)
