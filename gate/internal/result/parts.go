package result

import (
	"cmp"

	"github.com/nsgate/nsgate/gate/internal/devicecode"
	"github.com/nsgate/nsgate/gate/internal/measure"
)

// Waterfall is the change of the typical step from base to head as the sum of the changes of its parts: kernels,
// copies, causes of idle time. All amounts are means over the runs of a side, in ns.
type Waterfall struct {
	Own
	// Parts add up to the whole, those that changed most first.
	Parts []WaterfallPart `json:"parts"`
}

// Own is the time of a step that is attributed to one part.
type Own struct {
	Base   Number `json:"base"`
	Head   Number `json:"head"`
	Change Number `json:"change"` // Head minus Base
	// interval of Change by the runs of this comparison, at [Report.Confidence]; null with one run a side
	Low  Number `json:"low"`
	High Number `json:"high"`
}

// WaterfallPart is a class of owners, or a cause of idle time.
type WaterfallPart struct {
	// Class is "compute", "exposed communication", "exposed copies", "memsets", "profiler", or a class of idle time:
	// "launch-starved", "blocking", "dependency-stalled", "micro gaps", "unknown".
	Class string `json:"class"`
	Idle  bool   `json:"idle,omitempty"`
	// Where is the place of the host in idle time: "host code in step after cudaDeviceSynchronize", "" for none.
	Where string `json:"where,omitempty"`
	Own
	// Owners are the changed kernels, or kinds of copies, of the class; the rest of the class is the difference.
	Owners []WaterfallOwner `json:"owners,omitempty"`
}

// IdleCauses names the classes of idle time in words.
var IdleCauses = map[string]string{
	measure.IdleLaunch:     "waiting for the CPU",
	measure.IdleSync:       "synchronisation",
	measure.IdleDependency: "dependency",
	measure.IdleGaps:       "launch gaps",
	measure.IdleUnknown:    "unknown cause",
}

// CauseName is a class of [WaterfallPart] in words.
func CauseName(class string) string { return cmp.Or(IdleCauses[class], class) }

// WaterfallOwner is one kernel or one kind of copy.
type WaterfallOwner struct {
	Named
	Own
}

// Ranks is how the ranks of a job compare with one another. Times are in ns, per step, or per run where there are no
// steps: medians over the jobs.
type Ranks struct {
	Ranks []Rank `json:"ranks"` // by their numbers
	// Straggler is the rank that computes longest, nil within the limit of [measure.Imbalance] or the spread between
	// jobs. If none computes longer, it is the one with the most time between its collectives, if beyond the limit of
	// [measure.StepTime].
	Straggler *Straggler `json:"straggler,omitempty"`
	// Remarks are the remarks on it.
	Remarks []Remark `json:"remarks,omitempty"`
}

// Rank is one process of a job.
type Rank struct {
	Name    string `json:"name"`    // "rank 3"
	Compute Number `json:"compute"` // time of its kernels but for collectives
	Base    Number `json:"base"`    // likewise in the base; unknown where there is none
	Step    Number `json:"step"`    // period of its steps
	Wait    Number `json:"wait"`    // that it waited in collectives
	Caused  Number `json:"caused"`  // that the others waited because it came last, their mean
	Exposed Number `json:"exposed"` // time with nothing but communication
	Hidden  Number `json:"hidden"`  // time with communication and computation
}

// Straggler is a rank that works longer than the others.
type Straggler struct {
	Rank string `json:"rank"`
	// Late is true where it computes no longer. Slower, Low and Base then compare the time of a step without
	// communication: it copies, or waits for its CPU or its disk.
	Late   bool   `json:"late,omitempty"`
	Slower Number `json:"slower"`        // its compute over the median of the others, minus 1
	Low    Number `json:"low"`           // lower bound of Slower from the spread between jobs, at the error of a gate
	Base   Number `json:"base"`          // how much slower it was in the base, unknown where there is none
	Too    bool   `json:"too,omitempty"` // that was beyond the limit as well
	// Waited is the wait of the others for it in collectives, their mean, BaseWaited the wait in the base; unknown
	// where the collectives have no counterparts. In is the collective with most of the waiting.
	Waited     Number `json:"waited"`
	BaseWaited Number `json:"base_waited"`
	In         string `json:"in,omitempty"`
	// Range is the NVTX range with most of its longer computation, "" for none.
	Range string `json:"range,omitempty"`
	// Kernels are those that it is slowest in, the most expensive first.
	Kernels []StragglerKernel `json:"kernels,omitempty"`
	// More is the additional time of a late rank over the mean of the others, Copies the part of it in copies. Both are
	// 0 for a rank in time; Copies is unknown where it was not recorded.
	More   Number `json:"more,omitempty"`
	Copies Number `json:"copies,omitempty"`
}

// StragglerKernel is a kernel that takes longest in the straggler.
type StragglerKernel struct {
	Kernel   string `json:"kernel"` // short name
	Name     string `json:"name"`
	Grid     string `json:"grid,omitempty"`
	Block    string `json:"block,omitempty"`
	Role     string `json:"role,omitempty"` // path of ranges around most of its launches
	More     Number `json:"more"`           // its total time minus the mean of the others
	Launches Number `json:"launches"`       // in this rank
	Others   Number `json:"others"`         // in the others, their mean
}

// Utilization is how the workload's steps, or a range, used the GPU, from samples in base and head. It judges nothing;
// a rule that names one of the metrics makes a [Finding] of it.
type Utilization struct {
	Range   string        `json:"range,omitempty"` // "" for the steps
	Metrics []CauseMetric `json:"metrics"`         // medians over the runs
}

// OutlierRun is a run that is an outlier as a whole: nearly all of its kernels are slower, or faster, than in the other
// runs of its session.
type OutlierRun struct {
	Side    string `json:"side"`    // "base" or "head"
	Session int    `json:"session"` // which of the side's, from 0
	Run     int    `json:"run"`     // which of the session's, from 0
	Change  Number `json:"change"`  // by how much, relative to the median run
}

// Boards is the relation of the boards of the sides.
type Boards string

// The three answers; "unknown" also where the sides have some boards in common and others not.
const (
	UnknownBoards Boards = ""
	SameBoard     Boards = "same"
	OtherBoard    Boards = "other" // no board is on both sides
)

// Detects are the smallest relative changes that a comparison finds in 80 % of cases (MDE); unknown if not judged.
type Detects struct {
	GPUTime Number `json:"gpu_time"`
	Step    Number `json:"step"`
	Output  Number `json:"output"` // the largest of the outputs
	// KernelLeast and KernelMost are the smallest and the largest of the kernels that can fail the gate.
	KernelLeast Number `json:"kernel_least"`
	KernelMost  Number `json:"kernel_most"`
}

// OverviewRow is a number of both sides of a comparison without a verdict; a side without it has none.
type OverviewRow struct {
	Name     string `json:"name"`
	Geometry string `json:"geometry,omitempty"`
	Metric   string `json:"metric"`
	Unit     string `json:"unit"`
	Base     Number `json:"base"`
	Head     Number `json:"head"`
}

// Unjudged is the part of the head's runs that no limit covers. The shares of its parts add up to it.
type Unjudged struct {
	GPUShare  Number         `json:"gpu_share"`  // of the kernel time of a run, null where that is not known
	WallShare Number         `json:"wall_share"` // of the wall time of a run, likewise
	Parts     []UnjudgedPart `json:"parts,omitempty"`
}

// UnjudgedPart is a section of the run, by its name, or a group of kernels.
type UnjudgedPart struct {
	What      string `json:"what"`
	GPUShare  Number `json:"gpu_share"`
	WallShare Number `json:"wall_share"` // 0 for kernels, whose wall time is that of their section
}

// Code is the comparison of the device code of baseline and head, without a word on time.
type Code struct {
	devicecode.Comparison
	// Limited holds the values of changed and added kernels that a rule limits and that are beyond it.
	Limited []CodeLimit `json:"limited,omitempty"`
}

// CodeLimit is a value of a kernel's code beyond what a rule allows.
type CodeLimit struct {
	Arch   string `json:"arch"`
	Name   string `json:"name"`   // mangled
	Kernel string `json:"kernel"` // short name
	Metric string `json:"metric"` // such as "spill_bytes"
	Base   Number `json:"base"`   // unknown for a kernel that the baseline lacks
	Head   Number `json:"head"`
	Rule   string `json:"rule"`  // "nsgate.toml:12"
	Fails  bool   `json:"fails"` // the gate; else it is a warning
}

// Origin is the place in the program of most launches of a kernel, or of most calls of another CUDA function.
type Origin struct {
	// Call is the CUDA function that is called there, "" where the finding's kernel is launched.
	Call string `json:"call,omitempty"`
	// relative to the repository, "" where the place is known by its function alone
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	Function string `json:"function"`
	// Operation is the path of the operation that XLA made the kernel of, "torch.compile" with the number of further
	// lines for one of PyTorch, "" for another kernel.
	Operation string `json:"operation,omitempty"`
	Share     Number `json:"share"` // of the launches, or of the time in the call; of the calls where these are counted
}

// Known reports whether the file is known, and its line.
func (o *Origin) Known() bool { return o != nil && o.File != "" }

// Cause is why a kernel got slower, from its counters in base and head; of a row of a benchmark file
// the kernels of its profiled runs, as a summary and a note.
type Cause struct {
	// Summary is the whole in one to three sentences.
	Summary string `json:"summary"`
	// Reasons are the arguments for it, the likeliest first; none where nothing explains the change.
	Reasons []string `json:"reasons,omitempty"`
	// Guides are the sections of NVIDIA's documentation on the reasons, each once.
	Guides []Guide `json:"guides,omitempty"`
	// Base and Head say what limits the kernel: "memory-bound, 71 % of the fp32 roof". Empty where that is not known.
	Base string `json:"base,omitempty"`
	Head string `json:"head,omitempty"`
	// Metrics are the medians over the profiled launches; Base is unknown where only the head was profiled.
	Metrics []CauseMetric `json:"metrics,omitempty"`
	// BaseRoof and HeadRoof are the kernel's places under the roofs of its GPU, nil where they are not known.
	BaseRoof *Roof `json:"base_roof,omitempty"`
	HeadRoof *Roof `json:"head_roof,omitempty"`
	// Note says what the cause does not rest on, such as a missing base.
	Note string `json:"note,omitempty"`
}

// Roof is the place of a kernel under the roofs of its main precision.
type Roof struct {
	Precision string `json:"precision"` // "fp64", "fp32", "fp16", "tensor"
	Intensity Number `json:"intensity"` // FLOP a byte of memory traffic
	Ridge     Number `json:"ridge"`     // least intensity with arithmetic as the lower roof
	Achieved  Number `json:"achieved"`  // FLOP/s
	Roof      Number `json:"roof"`      // FLOP/s at this intensity
}

// Documentation begins the address of every page of NVIDIA's documentation.
const Documentation = "https://docs.nvidia.com/"

// Guide is a section of NVIDIA's documentation.
type Guide struct {
	Title string `json:"title"`
	Link  string `json:"link"`
}

// CauseMetric is one counter in base and head.
type CauseMetric struct {
	Name string `json:"name"`
	Unit string `json:"unit"`
	Base Number `json:"base"`
	Head Number `json:"head"`
}
