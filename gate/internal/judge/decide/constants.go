package decide

// The constants of the decision that no policy changes, each with its source or the benchmark that chose it.
const (
	// material is the part of its limit that an open comparison has to be able to cost of the workload's GPU time
	// before it leaves the whole gate undecided: at the default limit of 3 %, half a per cent.
	material = 1.0 / 6
	// secondary is the weight in the family-wise correction of metrics beside a kernel's time and the
	// workload's: the same launches summed up in another way.
	secondary = 0.2
	// seldom is that of stalls and sections, whose limits are wide and whose changes are large, and of small kernels.
	seldom = 0.05
	// copyVariation is how much slower a process may copy from beginning to end by where it got its memory: 4 to 9 % in
	// 3 of 40 unchanged runs of one H200 host, 15 % in 3 of 5 of another, 49 % in one of 12 of a third. Up to that and
	// some more, most runs of a side say nothing, nor does a single one.
	copyVariation = 0.6
	// rareSD is the deviation of a kernel between runs, and between sessions, with fewer launches a run than
	// rareLaunches: 0.6 % of a kernel that fills a buffer once.
	rareSD, rareLaunches = 0.006, 5
	// unitFactor is the least factor by which a number gets better in another unit, of 1,000 times the size.
	unitFactor = 500
	// rounding is the change on the working scale below which nothing but arithmetic has happened.
	rounding = 1e-13
	// unequalFrom is how many standard errors the variances of the sides lie apart before each side is judged by its
	// own.
	unequalFrom = 2
	// countedRuns is the fewest runs a side for taking a count that never varies as exact.
	countedRuns = 5
	// coarse is the least ratio of tick to kernel time at which the spread says nothing about a few other kernels.
	coarse = 0.005
	// beyondSDs is the number of standard deviations beyond every run of the baseline at which a run is clearly beyond.
	beyondSDs = 2
	// MaxRuns is the largest number of runs that a hint asks for.
	MaxRuns = 40

	// driftPart is the part of the gate's error that drift may spend where a rule limits it.
	driftPart = 0.2

	// outlierRunsMost is the part of a session's runs, rounded down, that may be left out as outliers as a whole.
	outlierRunsMost = 0.25
	// fewRuns are the runs of a side of which one may be winsorised as an outlier, or be a slow step that is not
	// mentioned.
	fewRuns = 5
	// alike is how far a change may lie from another, relative to that, and be the same: nearer to it than to no
	// change.
	alike = 0.5
	// outlierRunFrom is how many standard deviations from the others a run of all kernels is an outlier, and a value
	// of a session is named in a remark.
	outlierRunFrom = 8
	// outlierFrom is how many standard deviations from the others a run of a kernel is an outlier, outlierTo to where
	// it is moved.
	outlierFrom, outlierTo = 6, 2
	// trendP is the largest product of the p-values of the trends of two batches: 1 % by Fisher's method (1932).
	trendP = 0.0015

	// SpreadRuns is the fewest runs by whose spread a single run of the other side is judged.
	SpreadRuns = 3
	// outlierStep is the largest change of a step's period, and of other times that the host makes, of one outlier run:
	// of five profiled runs of an unchanged program, in one session, the slowest took 54 % longer than the fastest.
	outlierStep = 1.0
	// outlierKernel is the same for the time of a kernel: in 150 runs of unchanged programs on H200 and H100 GPUs, up
	// to 29 kernels each, one kernel differed by 1.7 % in one run, all others by less.
	outlierKernel = 0.02

	// certainly and probably are the quantiles of the normal distribution at 99 % and 80 %, over that at 95 % which
	// an end of an interval of 90 % has.
	certainly, probably = 1.41, 0.5

	// outputSD is the sd of an output between runs of one host: unprofiled steps of an unchanged PyTorch program took
	// 6.99 and 7.14 ms on one host, 7.52, 7.53, 7.56 and 8.15 ms on another.
	outputSD = 0.01

	// sectionLeast is the part of the run's wall time that a section has to change by.
	sectionLeast = 0.02
	// rowTails is by how much the p-value of a row is too small: a few winsorised values, whose noise differs from row
	// to row and has outliers, are beyond the tail of Student's t more often. Sides that lie rowGap times farther apart
	// than either of them spreads need no such caution.
	rowTails, rowGap = 10, 1.5

	// batchLeast is the fewest kernels of one GPU that show how far its sessions differ.
	batchLeast = 3
	// batchMost bounds what all kernels together may add to that of one GPU, in standard deviations between its runs:
	// batches of a noisy GPU differ like its runs, and a program that got slower as a whole is not its own noise.
	batchMost = 2
	// shiftMost is the largest change of all kernels together that a clock or another board may make: boards of one
	// model differ by 1.5 %, power limits by some per cent more.
	shiftMost = 0.1
	// hostRowsMost is that of rows that depend on the CPU, whose hosts differ by a standard deviation of 13 %, and
	// togetherLeast the fewest rows that show it.
	hostRowsMost, togetherLeast = 0.3, 5
	// innerPart is the part of the runs that is left out at each end where the runs of two sides have to lie apart.
	innerPart = 0.1
	// sessionMost bounds what all kernels together may add to the spread between sessions, in prior standard
	// deviations: the two kinds of H200 host, 1.5 % apart in memory-bound kernels, are within half of it.
	sessionMost = 5
	// costPart is the default cost relative to the threshold: 0.15 % at 3 %.
	costPart = 0.05
	// hostEffectMost is how far a single kernel may lie from other hosts: on 12 H200 hosts tensor-core GEMMs ranged
	// over 3 %. hostEffectSDs is the same on hosts of one board, in deviations of the kernels there: 1.9 % of a GEMM on
	// two H100 hosts whose kernels differed by 0.2 to 0.3 %. hostEffectPlain is that of kernels without tensor cores,
	// where the kernels of a gate differ by quietHosts at most: six on ten H200 hosts of one board ranged over 0.15 to
	// 0.7 %.
	hostEffectMost, hostEffectSDs, hostEffectPlain, quietHosts = 0.04, 16.0, 6.0, 0.0016
	// boardWeight is the weight of the prior among several hosts of one board, whose kernels show their spread.
	boardWeight = 2
	// quietSD is the largest deviation between hosts of one board of a quiet kernel.
	quietSD = 0.0035
	// hostTicks is the sd of a kernel's launch overhead between hosts, in ticks of the timer: 0.9 µs kernels of
	// 11 hosts of one board had a standard deviation of 60 ns.
	hostTicks = 2

	// delaysMost is how many unchanged gates may fail by outlier runs alone.
	delaysMost = 0.0008
	// first is the weight in the family-wise correction of the step, which says whether the program is slower.
	first = 3
)
