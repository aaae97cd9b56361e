package result

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/measure"
)

// SummarySchema is the version of the JSON form of a Summary. Fields are only ever added to it.
const SummarySchema = "nsgate.summary/1"

// Summary holds the measurements of a workload, without a judgement. Times are in ns. Amounts are per step, per run
// without steps (the Step of Recorded is ""), and of counters per launch. They are medians over the runs; those
// of the step's parts are means, which add up. Shares are fractions. A missing measurement is unknown.
type Summary struct {
	Schema string `json:"schema"`
	// Workload is the workload of a baseline, or else the name of the file or directory that was summed up; "" where
	// neither is known.
	Workload string `json:"workload,omitempty"`
	Recorded Side   `json:"recorded"`
	// StepTime is that of the typical step on the GPU, from its first operation to that of the next, the geometric mean
	// of the runs but outliers, as in a comparison; Period that of the mean step where it is known.
	StepTime Number `json:"step_time,omitempty"`
	Period   Number `json:"period"`
	// Parts are who owns the step, the largest first; none where that is not known. They add up to Period.
	Parts []SummaryPart `json:"parts,omitempty"`
	// Run is where the time of a run goes, in the order of time; none where that is not known.
	Run []RunPart `json:"run,omitempty"`
	// GPUTime is the time of all kernels, Launches how many there are.
	GPUTime  Number          `json:"gpu_time"`
	Launches Number          `json:"launches"`
	Kernels  []SummaryKernel `json:"kernels"` // the most expensive first
	// Ranges are the NVTX ranges as they lie in each other, those with the most kernel time first.
	Ranges []SummaryRange `json:"ranges,omitempty"`
	Copies []SummaryCopy  `json:"copies,omitempty"` // and memsets, by kind, those that take longest first
	// Others are the other metrics of the whole workload: printed numbers, counts, its peak of memory, samples of the
	// GPU, and the counts of synchronising calls.
	Others []SummaryValue `json:"others,omitempty"`
	// Ranks is how the ranks of a job compare with one another, nil where there are not several.
	Ranks *Ranks `json:"ranks,omitempty"`
	// Patterns are those of [Patterns] that most of the runs have.
	Patterns []Remark `json:"patterns,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	Doubts   []Remark `json:"doubts,omitempty"` // those warnings that the summary itself made, as data

	Devices Number `json:"-"` // over which the step's parts are means
	Hidden  Number `json:"-"` // communication behind kernels that compute
}

// SummaryPart is a class of owners of the step, or a cause of idle time.
type SummaryPart struct {
	Class string `json:"class"` // as of a [WaterfallPart]
	Idle  bool   `json:"idle,omitempty"`
	Where string `json:"where,omitempty"` // likewise
	Time  Number `json:"time"`
	Share Number `json:"share"` // of the step
}

// SummaryKernel is a kernel with its geometry.
type SummaryKernel struct {
	Named
	Role     string `json:"role,omitempty"` // path of ranges around most of its launches
	Share    Number `json:"share"`          // of the kernel time of the workload
	Time     Number `json:"time"`           // of one launch
	Launches Number `json:"launches"`
	Total    Number `json:"total"`
	Owned    Number `json:"owned"` // of the step's period
	// Communicates is true for kernels that move data between GPUs.
	Communicates bool `json:"communicates,omitempty"`
	// Collective holds more on a collective, nil for other kernels.
	Collective *SummaryCollective `json:"collective,omitempty"`
	// Counters are the kernel's counters, nil for another profiler.
	Counters *SummaryCounters `json:"counters,omitempty"`
}

// SummaryCounters says what limits a kernel. Throughputs are in percent of the peak.
type SummaryCounters struct {
	Registers Number `json:"registers"` // of a thread
	Occupancy Number `json:"occupancy"` // achieved, or the theoretical one, in percent
	DRAM      Number `json:"dram"`
	SM        Number `json:"sm"`
	// Bound is "compute", "memory", "latency", "balanced between compute and memory", or "" where that is not known.
	Bound string `json:"bound,omitempty"`
}

// SummaryCollective is a kernel that moves data between GPUs. Its times above are without the waiting, where its
// counterparts in the other ranks are known.
type SummaryCollective struct {
	Operation string `json:"operation"` // "AllReduce"
	Wait      Number `json:"wait"`      // for the rank that came last, the mean over ranks
	Bytes     Number `json:"bytes"`     // of its messages as the caller gave them
	Rate      Number `json:"rate"`      // algorithm bandwidth: Bytes over the total time, in B/s
}

// SummaryRange is an NVTX range in its place.
type SummaryRange struct {
	// Name is "" for launches outside of all ranges.
	Name  string `json:"name"`
	Time  Number `json:"time"`  // of the kernels launched in it and in the ranges below
	Share Number `json:"share"` // of the kernel time of the workload
	// Ranges are those directly below.
	Ranges []SummaryRange `json:"ranges,omitempty"`
}

// SummaryCopy is one kind of copies, or the memsets.
type SummaryCopy struct {
	Kind   string `json:"kind"` // "memcpy HtoD"
	Count  Number `json:"count"`
	Bytes  Number `json:"bytes"`
	Time   Number `json:"time"`
	Rate   Number `json:"rate"`  // B/s
	Share  Number `json:"share"` // of the time of all kernels and copies
	Owned  Number `json:"owned"` // the exposed part of the step's period
	Memory string `json:"memory,omitempty"`
}

// SummaryValue is one metric.
type SummaryValue struct {
	Scope  measure.Scope `json:"scope"`
	Name   string        `json:"name,omitempty"` // of an output, a call or a part of the workload, "" for the whole
	Role   string        `json:"role,omitempty"` // path of ranges around most of the calls
	Metric string        `json:"metric"`
	Unit   string        `json:"unit"`
	Value  Number        `json:"value"`
}

// RunPart is a part of a run by time, from the start of its process to its end.
type RunPart struct {
	Part  string `json:"part"`
	Time  Number `json:"time"`  // in ns, the median of the profiled runs
	Share Number `json:"share"` // of all parts
}

// Steps is the part of a run that is judged as steps.
const Steps = "steps"

// Spent is where the time of a measurement on this machine went, in ns.
type Spent struct {
	Total  Number `json:"total"`
	Runs   int    `json:"runs"`             // of both builds, profiled or not
	Starts int    `json:"starts,omitempty"` // runs that started together with others
	InRuns Number `json:"in_runs"`          // of Total, from the start of a process to its end
	// Start is the time from the start of the profiler to the start of the first run. Report, Export and Read are the
	// times of its report, of the conversion of that to SQLite, and of nsgate's reading it.
	Start  Number    `json:"start"`
	Report Number    `json:"report"`
	Export Number    `json:"export"`
	Read   Number    `json:"read"`
	Run    []RunPart `json:"run,omitempty"` // the parts of a run of the head
}

// String is "87 s on the GPU machine (10 runs of 8.1 s, steps 2.2 s; profiler 6 s)".
func (s *Spent) String() string {
	text := fmt.Sprintf("%s on the GPU machine (%s of %s", Seconds(s.Total), measure.Count(s.Runs, "run"),
		Seconds(s.InRuns/Number(s.Runs)))
	for _, x := range s.Run {
		if x.Part == Steps {
			text += fmt.Sprintf(", steps %s", Seconds(x.Time))
		}
	}
	profiler := "; profiler " + Seconds(s.Total-s.InRuns)
	starts := "; the starts of " + measure.Count(s.Starts, "run") + " overlapped and are not judged"
	profiled := s.Export != 0
	return text + measure.Either(profiled, profiler, "") + ")" + measure.Either(s.Starts > 0, starts, "")
}

// Detail adds the parts of a run and of the profiler's time.
func (s *Spent) Detail() string {
	run := measure.Map(s.Run, func(x RunPart) string { return x.Part + " " + Seconds(x.Time) })
	if s.Export == 0 {
		return s.String()
	}
	return fmt.Sprintf("%s; profiler: start %s, report %s, export %s, reading %s", s, Seconds(s.Start),
		Seconds(s.Report), Seconds(s.Export), Seconds(s.Read)) +
		measure.Either(len(run) > 0, "; a run: "+strings.Join(run, ", "), "")
}

// Seconds prints a time with two digits.
func Seconds(ns Number) string {
	s, _ := strconv.ParseFloat(fmt.Sprintf("%.1e", float64(ns)/1e9), 64)
	return strconv.FormatFloat(s, 'f', -1, 64) + " s"
}
