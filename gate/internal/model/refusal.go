package model

import (
	"errors"
	"fmt"
)

// Refusal is the error of a measurement that must not be judged: it leads to "no verdict", never to a pass.
type Refusal struct {
	Kind   Kind   // "" for none of [Kinds]
	Reason string // one sentence without a final full stop
	Next   string // the next step
}

func (r *Refusal) Error() string {
	if r.Next == "" {
		return r.Reason
	}
	return r.Reason + "; " + r.Next
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

const (
	// Files that are not read.
	NoFile           Kind = "no-file"
	EmptyFile        Kind = "empty"
	Truncated        Kind = "truncated"
	BeingWritten     Kind = "being-written"
	Damaged          Kind = "damaged"
	BadValue         Kind = "bad-value"
	BadTable         Kind = "bad-table"
	NewSchema        Kind = "new-schema"
	OtherFormat      Kind = "other-format"
	GitLFS           Kind = "git-lfs"
	Compressed       Kind = "compressed"
	TooLarge         Kind = "too-large"
	NoProfile        Kind = "no-profile"
	SameRecording    Kind = "same-recording"
	SeveralTables    Kind = "several-tables"
	SeveralProcesses Kind = "several-processes"
	NoMeasurement    Kind = "no-measurement"
	OtherDevice      Kind = "other-device"

	// Recordings that lack something.
	RowsMissing        Kind = "rows-missing"
	ImporterString     Kind = "importer-string"
	ImporterFailed     Kind = "importer-failed"
	OldNsys            Kind = "old-nsys"
	ProfilingFailed    Kind = "profiling-failed"
	RecordsLost        Kind = "records-lost"
	KernelsLost        Kind = "kernels-lost"
	NotTraced          Kind = "not-traced"
	WholeGraphs        Kind = "graphs-whole"
	NoKernels          Kind = "no-kernels"
	ClockBackwards     Kind = "clock-backwards"
	ZeroLength         Kind = "zero-length"
	CorrelationMissing Kind = "correlation-missing"
	CuptiFailed        Kind = "cupti-failed"
	ReportSkipped      Kind = "report-skipped"

	// Profilers and their counters.
	NoNsys         Kind = "no-nsys"
	ExportFailed   Kind = "export-failed"
	NoNcu          Kind = "no-ncu"
	OldNcu         Kind = "old-ncu"
	CountersDenied Kind = "counters-denied"
	CountersInUse  Kind = "counters-in-use"
	NcuFailed      Kind = "ncu-failed"
	NcuHangs       Kind = "ncu-hangs"
	UnknownMetric  Kind = "unknown-metric"
	NotCollected   Kind = "not-collected"

	// Steps and ranks of a job.
	NoCapture   Kind = "no-capture"
	NoStep      Kind = "no-step"
	LongWarmup  Kind = "long-warmup"
	RunsDiffer  Kind = "runs-differ"
	RankMissing Kind = "rank-missing"
	RankTwice   Kind = "ranks-ambiguous"
	RanksDiffer Kind = "ranks-differ"

	// Measuring.
	NoWorkload        Kind = "no-workload"
	WorkloadTimeout   Kind = "workload-timeout"
	WorkloadFailed    Kind = "workload-failed"
	BadOutput         Kind = "bad-output"
	GPUBusy           Kind = "gpu-busy"
	NsysFailed        Kind = "nsys-failed"
	NsysHangs         Kind = "nsys-hangs"
	NsysOption        Kind = "nsys-option"
	NoGPUMetrics      Kind = "no-gpu-metrics"
	NoRoom            Kind = "no-room"
	StrayProcess      Kind = "stray-process"
	RunWithoutKernels Kind = "run-without-kernels"
	BaseCheckout      Kind = "base-checkout"
	BaseBuild         Kind = "base-build"
	NoRanks           Kind = "no-ranks"
	RankUnrecorded    Kind = "rank-unrecorded"
	Gather            Kind = "gather"

	// Commands.
	NoBaseline        Kind = "no-baseline"
	NoBaselineHere    Kind = "no-baseline-here"
	NoGPU             Kind = "no-gpu"
	NoCode            Kind = "no-code"
	CodeUnreadable    Kind = "code-unreadable"
	NotAsAsked        Kind = "not-as-asked"
	NotAcceptable     Kind = "not-acceptable"
	ChangedWithinHour Kind = "changed-within-hour"
	OtherBaseline     Kind = "other-baseline"
	NothingToCount    Kind = "nothing-to-count"
	NotCountable      Kind = "not-countable"
	Throttled         Kind = "throttled"
	NotSeparable      Kind = "not-separable"

	// Comparisons and calibrations.
	NoSession      Kind = "no-session"
	BadSession     Kind = "bad-session"
	OtherGPU       Kind = "other-gpu"
	MixedProfilers Kind = "mixed-profilers"
	OtherProfiler  Kind = "other-profiler"
	OtherMode      Kind = "other-mode"
	OtherStep      Kind = "other-step"
	StepLost       Kind = "step-lost"
	OtherWork      Kind = "other-work"
	OtherWorkload  Kind = "other-workload"
	FewRuns        Kind = "few-runs"
	OutlierRun     Kind = "single-run-outlier"
	ZeroTime       Kind = "zero-time"
	Unsteady       Kind = "unsteady"
	NothingJudged  Kind = "nothing-judged"
	CountersOnly   Kind = "counters-only"
	MetricMissing  Kind = "metric-missing"
	NotProfiled    Kind = "not-profiled"
	Unjudged       Kind = "unjudged"
	Doubted        Kind = "doubted"
	Drift          Kind = "drift"
)

// Kinds lists every kind of refusal with its meaning, as the manual shows them.
var Kinds = []struct {
	Kind    Kind
	Meaning string
}{
	{NoFile, "The path names no file that can be read."},
	{EmptyFile, "The file is empty, or holds nothing but zeros."},
	{Truncated, "The file ends before its content does."},
	{BeingWritten, "Another program is writing the file."},
	{Damaged, "The content contradicts the file's own format."},
	{BadValue, "A value is of a form or size that its profiler does not write, or its decimal separator is unclear."},
	{BadTable, "The columns or a row of a table do not have their profiler's form."},
	{NewSchema, "A database was written by an nsys newer than this nsgate."},
	{OtherFormat, "The file is of a kind that is not read, or holds another table or page than that of the launches."},
	{GitLFS, "The file is a Git LFS pointer."},
	{Compressed, "The file is compressed or encrypted in a way that is not read."},
	{TooLarge, "Reading would exceed a bound on memory or time, which the message names."},
	{NoProfile, "A directory holds no profile."},
	{SameRecording, "Two files are the same recording, which is one run."},
	{SeveralTables, "Two tables of one kind contradict each other."},
	{SeveralProcesses, "A file merges the recordings of several processes or runs."},
	{NoMeasurement, "A saved report holds no measurement."},
	{OtherDevice, "The recording is of a device that is not judged, or does not name it."},
	{RowsMissing, "The rows do not add up to the total that the profiler states."},
	{ImporterString, "nsys lost events at an NVTX string, as with JAX and TensorFlow."},
	{ImporterFailed, "nsys could not import some events."},
	{OldNsys, "nsys is too old for the driver or for what is asked of it."},
	{ProfilingFailed, "nsys could not record the workload to its end."},
	{RecordsLost, "The profiler says that it lost records of the GPU."},
	{KernelsLost, "Kernels were launched and not recorded."},
	{NotTraced, "The activities of the GPU were not among what was recorded."},
	{WholeGraphs, "CUDA graphs were traced as a whole, without their kernels."},
	{NoKernels, "The recording holds no kernel, because none was launched or selected."},
	{ClockBackwards, "Times contradict each other: an end before its start, a kernel before its launch."},
	{ZeroLength, "Launches took no time, or their times are rounded too coarsely."},
	{CorrelationMissing, "Launches have no CUDA call, so their NVTX ranges are unknown."},
	{CuptiFailed, "CUPTI failed while torch.profiler recorded."},
	{ReportSkipped, "nsys stats did not print the report that is needed."},
	{NoNsys, "nsys was not found."},
	{ExportFailed, "nsys could not export a report."},
	{NoNcu, "ncu was not found."},
	{OldNcu, "ncu is older than the report, or too new or old for the driver or GPU."},
	{CountersDenied, "The user may not read the GPU's performance counters."},
	{CountersInUse, "Another profiler holds the GPU's performance counters."},
	{NcuFailed, "ncu could not profile the workload or a kernel."},
	{NcuHangs, "ncu did not finish in time."},
	{UnknownMetric, "ncu does not know a metric or section that was asked for."},
	{NotCollected, "A metric or its counters were not collected."},
	{NoCapture, "The capture range is missing or launches nothing."},
	{NoStep, "The step's range is missing in a run or launches nothing."},
	{LongWarmup, "The warm-up leaves no step to judge."},
	{RunsDiffer, "Runs of one side were measured differently."},
	{RankMissing, "A rank of a job has no recording."},
	{RankTwice, "The files do not say which rank of which job they are."},
	{RanksDiffer, "Jobs have different numbers of ranks."},
	{NoWorkload, "The workload's command cannot be run."},
	{WorkloadTimeout, "The workload did not end in time."},
	{WorkloadFailed, "The workload, or a rank of it, failed or was ended by a signal."},
	{BadOutput, "The workload did not print an output of the policy once and as a number."},
	{GPUBusy, "Something else uses the GPU."},
	{NsysFailed, "nsys could not be started, ended early or wrote no report."},
	{NsysHangs, "nsys did not start, finish or export in time."},
	{NsysOption, "nsys does not know an option."},
	{NoGPUMetrics, "nsys cannot sample the GPU's metrics."},
	{NoRoom, "A directory or disk is full."},
	{StrayProcess, "A process with kernels belongs to no run."},
	{RunWithoutKernels, "A run has no kernels, although others have."},
	{BaseCheckout, "The base cannot be checked out."},
	{BaseBuild, "The build of the base failed."},
	{NoRanks, "The job ran no nsgate rank."},
	{RankUnrecorded, "A rank ran and was not recorded."},
	{Gather, "The gather directory cannot be written, or a host does not see it."},
	{NoBaseline, "The workload has no baseline."},
	{NoBaselineHere, "The workload has no baseline on this GPU."},
	{NoGPU, "The machine has no NVIDIA GPU."},
	{NoCode, "The workload names no files with device code, or its baseline holds none."},
	{CodeUnreadable, "A file with device code cannot be read, or holds PTX only."},
	{NotAsAsked, "A recording is of another profiler than the one asked for."},
	{NotAcceptable, "A report has nothing to accept, or is not of the commit that is checked out."},
	{ChangedWithinHour, "The same GPU gave other times within the hour, and no reason is given."},
	{OtherBaseline, "A session does not fit the baseline."},
	{NothingToCount, "ncu would profile no kernel."},
	{NotCountable, "Counters of ncu need a workload to run, and say nothing about noise."},
	{Throttled, "The GPU was kept from its clock by heat or power."},
	{NotSeparable, "Recordings of several sessions cannot be told apart."},
	{NoSession, "A side, or a calibration, has no session."},
	{BadSession, "A session contradicts itself."},
	{OtherGPU, "The measurements are of different GPU models."},
	{MixedProfilers, "One side mixes the measurements of several profilers."},
	{OtherProfiler, "Baseline and head were measured by different profilers."},
	{OtherMode, "Baseline and head differ in profiler settings, GPUs, processes or capture range."},
	{OtherStep, "Baseline and head are measured by different steps."},
	{StepLost, "Only one of baseline and head repeats a step."},
	{OtherWork, "Baseline and head did different numbers of steps."},
	{OtherWorkload, "Baseline and head share no kernel, no range, and no number of steps or launches."},
	{FewRuns, "Too few runs to know the spread between runs."},
	{OutlierRun, "A run is an outlier as a whole: the only run of one side, or a run of a baseline that is recorded."},
	{ZeroTime, "A kernel takes no time in only one of baseline and head."},
	{Unsteady, "Most runs reach no steady state."},
	{NothingJudged, "The policy leaves nothing to judge."},
	{CountersOnly, "Pages of ncu hold no duration, and no rule limits their counters."},
	{MetricMissing, "Nothing that a rule limits has its metric."},
	{NotProfiled, "ncu profiled no launch of a kernel of the baseline."},
	{Unjudged, "A time or counter of a kernel cannot be judged."},
	{Doubted, "A metric looks worse, and not surely enough to fail."},
	{Drift, "The GPU time drifts during a calibration."},
}
