package model

import (
	"errors"
	"fmt"

	"github.com/nsgate/nsgate/gate/internal/measure"
)

// Refusal is the error of a measurement that must not be judged: it leads to "no verdict", never to a pass.
type Refusal struct {
	Kind   Kind   // "" for none of [Kinds]
	Reason string // one sentence without a final full stop
	Next   string // the next step
}

func (r *Refusal) Error() string {
	return measure.Either(r.Next == "", r.Reason, r.Reason+"; "+r.Next)
}

// Refuse makes a refusal. Its reason is formatted like fmt.Sprintf.
func Refuse(kind Kind, next, format string, args ...any) *Refusal {
	return &Refusal{Kind: kind, Reason: fmt.Sprintf(format, args...), Next: next}
}

// KindOf is the kind of a refusal, "" for any other error.
func KindOf(err error) Kind {
	if r := (*Refusal)(nil); errors.As(err, &r) {
		return r.Kind
	}
	return ""
}

// Kind is the class of a refusal. Reports hold it as reason_key; it stays the same from release to release.
type Kind string

// LFSPointer is how a file begins that Git LFS has left in place of its content.
const LFSPointer = "version https://git-lfs.github.com/spec/"

// Program reports whether the measured program failed: it cannot be run, it ended badly or not in time.
func (k Kind) Program() bool { return k == NoWorkload || k == WorkloadTimeout || k == WorkloadFailed }

// Kinds lists every kind of refusal with its meaning, as the manual shows them.
var Kinds []meaning

type meaning struct {
	Kind    Kind
	Meaning string
}

func kind(name Kind, says string) Kind {
	Kinds = append(Kinds, meaning{name, says})
	return name
}

var (
	// Files that are not read.
	NoFile       = kind("no-file", "There is no such file that can be read.")
	EmptyFile    = kind("empty", "The file is empty or all zeros.")
	Truncated    = kind("truncated", "The file is cut off.")
	BeingWritten = kind("being-written", "Another program is writing the file.")
	Damaged      = kind("damaged", "The content contradicts the file's own format.")
	BadValue     = kind("bad-value",
		"A value cannot be what its profiler writes, or its decimal separator is unclear.")
	BadTable         = kind("bad-table", "A table does not have its profiler's form.")
	NewSchema        = kind("new-schema", "An nsys newer than this nsgate wrote the database.")
	OtherFormat      = kind("other-format", "The file is of a kind, or holds a table or page, that is not read.")
	GitLFS           = kind("git-lfs", "The file is a Git LFS pointer.")
	Compressed       = kind("compressed", "The file is compressed or encrypted.")
	TooLarge         = kind("too-large", "Reading would exceed a bound on memory or time.")
	NoProfile        = kind("no-profile", "A directory holds no profile.")
	SameRecording    = kind("same-recording", "Two files are the same recording.")
	SeveralTables    = kind("several-tables", "Two tables of one kind contradict each other.")
	SeveralProcesses = kind("several-processes", "A file merges several processes or runs.")
	NoMeasurement    = kind("no-measurement", "A saved report holds no measurement.")
	OtherDevice      = kind("other-device", "The recording names no device, or one that is not judged.")

	// Recordings that lack something.
	RowsMissing        = kind("rows-missing", "The rows do not add up to the profiler's total.")
	ImporterString     = kind("importer-string", "nsys lost events at an NVTX string, as with JAX and TensorFlow.")
	ImporterFailed     = kind("importer-failed", "nsys could not import some events.")
	OldNsys            = kind("old-nsys", "nsys is too old for the driver or the request.")
	ProfilingFailed    = kind("profiling-failed", "nsys could not record the workload to its end.")
	RecordsLost        = kind("records-lost", "The profiler reports lost records of the GPU.")
	KernelsLost        = kind("kernels-lost", "Kernels were launched and not recorded.")
	LaunchesFailed     = kind("launches-failed", "CUDA refused launches of kernels.")
	NotTraced          = kind("not-traced", "The GPU's work was not recorded.")
	NoKernels          = kind("no-kernels", "No kernel was launched or selected.")
	ClockBackwards     = kind("clock-backwards", "Times contradict each other.")
	ZeroLength         = kind("zero-length", "Times of launches are zero or too coarse.")
	CorrelationMissing = kind("correlation-missing", "Launches have no CUDA call, so their NVTX ranges are unknown.")
	CuptiFailed        = kind("cupti-failed", "CUPTI failed while torch.profiler recorded.")
	ReportSkipped      = kind("report-skipped", "nsys stats did not print a report.")

	// Profilers and their counters.
	NoProfiler     = kind("no-nsys", "nsys was not found.")
	ExportFailed   = kind("export-failed", "nsys could not export a report.")
	NoCounter      = kind("no-ncu", "ncu was not found.")
	OldNcu         = kind("old-ncu", "ncu does not fit the report, the driver or the GPU.")
	CountersDenied = kind("counters-denied", "The user may not read the GPU's performance counters.")
	CountersInUse  = kind("counters-in-use", "Another profiler holds the GPU's performance counters.")
	CounterFailed  = kind("ncu-failed", "ncu could not profile the workload or a kernel.")
	CounterHangs   = kind("ncu-hangs", "ncu did not finish in time.")
	UnknownMetric  = kind("unknown-metric", "ncu does not know a metric or section.")
	NotCollected   = kind("not-collected", "A metric or its counters were not collected.")

	// Steps and ranks of a job.
	NoCapture   = kind("no-capture", "The capture range is missing or launches nothing.")
	NoStep      = kind("no-step", "The step's range is missing in a run or launches nothing.")
	LongWarmup  = kind("long-warmup", "The warm-up leaves no step to judge.")
	RunsDiffer  = kind("runs-differ", "Runs of one side were measured differently.")
	RankMissing = kind("rank-missing", "A rank of a job has no recording.")
	RankTwice   = kind("ranks-ambiguous", "The files do not name their rank and job.")
	RanksDiffer = kind("ranks-differ", "Jobs have different numbers of ranks.")

	// Measuring.
	NoWorkload        = kind("no-workload", "The workload's command cannot be run.")
	WorkloadTimeout   = kind("workload-timeout", "The workload did not end, or its server was not ready, in time.")
	WorkloadFailed    = kind("workload-failed", "The workload, its server or a rank failed.")
	BaseFailed        = kind("base-failed", "The program of the base build failed or did not end in time.")
	BadOutput         = kind("bad-output", "The workload did not print an output once, as a number.")
	GPUBusy           = kind("gpu-busy", "Something else uses the GPU.")
	PortTaken         = kind("port-taken", "Another process uses the server's port.")
	ProfilerFailed    = kind("nsys-failed", "nsys did not start, ended early or wrote no report.")
	ProfilerHangs     = kind("nsys-hangs", "nsys did not start, finish or export in time.")
	ProfilerOption    = kind("nsys-option", "nsys does not know an option.")
	NoGPUMetrics      = kind("no-gpu-metrics", "nsys cannot sample the GPU's metrics.")
	NoRoom            = kind("no-room", "A directory or disk is full.")
	StrayProcess      = kind("stray-process", "A process with kernels belongs to no run.")
	RunWithoutKernels = kind("run-without-kernels", "A run has no kernels, although others have.")
	BaseCheckout      = kind("base-checkout", "The base cannot be checked out.")
	BaseBuild         = kind("base-build", "The build of the base failed.")
	BaseChanged       = kind("base-changed", "Files of the base build changed between its runs.")
	NoRanks           = kind("no-ranks", "The job ran no nsgate rank.")
	RankUnrecorded    = kind("rank-unrecorded", "A rank ran and was not recorded.")
	Gather            = kind("gather", "A host cannot see or write the gather directory.")

	// Commands.
	NoBaseline        = kind("no-baseline", "The workload has no baseline.")
	NoBaselineHere    = kind("no-baseline-here", "The workload has no baseline on this GPU.")
	BoundBroken       = kind("bound-without-baseline", "The head breaks a bound of the policy, and has no baseline.")
	NoGPU             = kind("no-gpu", "The machine has no NVIDIA GPU.")
	NoCode            = kind("no-code", "The workload or its baseline has no device code.")
	CodeUnreadable    = kind("code-unreadable", "A file with device code cannot be read, or holds PTX only.")
	NotAsAsked        = kind("not-as-asked", "The recording is of another profiler than asked for.")
	NotAcceptable     = kind("not-acceptable", "A report has nothing to accept, or is of another commit.")
	ChangedWithinHour = kind("changed-within-hour", "The same GPU gave other times within the hour.")
	OtherBaseline     = kind("other-baseline", "A session does not fit the baseline.")
	NothingToCount    = kind("nothing-to-count", "ncu would profile no kernel.")
	NotCountable      = kind("not-countable", "Counters of ncu need a workload to run.")
	Throttled         = kind("throttled", "Heat or power lowered the GPU's clock.")
	NotSeparable      = kind("not-separable", "Recordings of several sessions cannot be told apart.")

	// Comparisons and calibrations.
	NoSession      = kind("no-session", "There is no session to judge.")
	BadSession     = kind("bad-session", "A session contradicts itself.")
	OtherGPU       = kind("other-gpu", "The measurements are of different GPU models.")
	MixedProfilers = kind("mixed-profilers", "One side mixes several profilers.")
	OtherProfiler  = kind("other-profiler", "Baseline and head were measured by different profilers.")
	OtherMode      = kind("other-mode",
		"Baseline and head differ in profiler settings, GPUs, processes or capture range.")
	OtherStep     = kind("other-step", "Baseline and head are measured by different steps.")
	StepLost      = kind("step-lost", "Only one of baseline and head repeats a step.")
	OtherWork     = kind("other-work", "Baseline and head did different numbers of steps.")
	OtherWorkload = kind("other-workload", "Baseline and head have nothing in common.")
	FewRuns       = kind("few-runs", "Too few runs to know the spread between runs.")
	OutlierRun    = kind("single-run-outlier",
		"The only run of a side, or a run of a new baseline, is an outlier as a whole.")
	ZeroTime      = kind("zero-time", "A kernel takes no time on one side only.")
	Unsteady      = kind("unsteady", "Most runs reach no steady state.")
	NothingJudged = kind("nothing-judged", "The policy leaves nothing to judge.")
	CountersOnly  = kind("counters-only", "Pages of ncu hold neither durations nor counters with a rule.")
	MetricMissing = kind("metric-missing", "Nothing that a rule limits has its metric.")
	NotProfiled   = kind("not-profiled", "ncu did not profile a kernel of the baseline.")
	RowGone       = kind("row-gone", "The head lacks a row of a benchmark file.")
	RankGone      = kind("rank-gone", "Only one side has a rank or a GPU.")
	RowFailed     = kind("row-failed", "A benchmark failed in the head and not in the baseline.")
	Unjudged      = kind("unjudged", "A time or counter of a kernel cannot be judged.")
	Doubted       = kind("doubted", "A metric is probably worse, but not certainly.")
	Drift         = kind("drift", "The GPU time drifts during a calibration.")
)
