// Package profiler is the port between a measurement and the tools that record programs launch by launch ([Profiler])
// or count what single launches do ([Counter]).
package profiler

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/counters"
	"github.com/nsgate/nsgate/gate/internal/run/doctor"
)

// Profiler records a program and the processes that it starts, and reads what it recorded.
type Profiler interface {
	Tool() Tool
	// Commands are command lines: the first records, the others make the recording readable, as Export does.
	Commands(Task) [][]string
	// Export turns a report into a file that Read reads, in dir, which is private. exe is the tool's executable.
	Export(ctx context.Context, exe, report, dir string) (file string, err error)
	// Read is the recorded processes that launched kernels. name stands for the file in messages.
	Read(ctx context.Context, file, name string) ([]model.Trace, error)
	// Refusal is the refusal in the output of a tool that started nothing, nil where it names no reason.
	Refusal(o Options, printed string) error
	// Repeat is how to record once more after a recording with these options was lost. Where that does not help it is
	// nil, and the error is lost with the known details.
	Repeat(o Options, lost error) (*Repetition, error)
	// Examine looks for the tool on this machine; exe is its executable, "" for the one on the PATH.
	Examine(ctx context.Context, exe string) doctor.Observations
}

// Tool describes a profiler.
type Tool struct {
	Name    string // in messages, and of the executable
	Product string // that installs it
	Origin  string // of the product: "it comes with the CUDA toolkit"
	Suffix  string // of its reports, with its dot
	// SomeRanks is a variable to set to 1 where only some ranks of a job are recorded, "" for none.
	SomeRanks string
}

// Options say what to record.
type Options struct {
	Args        []string `json:"args,omitempty"`    // further arguments of the tool
	MemoryUsage bool     `json:"memory,omitempty"`  // allocations of device memory
	GPUMetrics  bool     `json:"metrics,omitempty"` // samples of the metrics of the GPUs that the program sees
	Stacks      bool     `json:"stacks,omitempty"`  // the call stack of every CUDA call, which slows the program down
	Python      bool     `json:"python,omitempty"`  // the program is one of Python
	// AllDomains records every NVTX domain, also those that the tool's importer may fail on: for a tool that cannot
	// leave out one.
	AllDomains bool `json:"all_domains,omitempty"`
	// NoNVTX records no NVTX ranges.
	NoNVTX bool `json:"no_nvtx,omitempty"`
	// Forks records processes that were forked and execute no other program, too.
	Forks bool `json:"forks,omitempty"`
}

// Task is a program to record.
type Task struct {
	Options
	Exe     string   // the tool's executable
	Stem    string   // the path of the report, without its suffix
	Program []string // with its arguments
}

// Repetition is a second attempt to record.
type Repetition struct {
	Options
	Doing   string // a phrase for the progress; "" where the first attempt ran nothing
	Warning string // of the result, "" for none
}

// Counter profiles single launches of a program, which it replays one by one.
type Counter interface {
	Tool() Tool
	// Environment is the tool with its version, and its profiling mode ([model.Environment]).
	Environment(ctx context.Context, exe string) (tool, mode string)
	// Command profiles a program and writes the input of Read to a file. argv[0] is the executable.
	Command(exe string, s Selection, file string, program []string) (argv []string)
	Read(file string, s Selection) (*counters.Profile, error)
	// Known asks the tool for its metrics and gives the check of a metric's name.
	Known(ctx context.Context, exe string) func(name string) error
	// Examine looks for the tool on this machine.
	Examine(context.Context) doctor.Observations
}

// Selection says which launches to profile, and what to count.
type Selection struct {
	Kernels []string // short names, see [measure.ShortName], or expressions behind [Regex]; none for all kernels
	// Of each launch configuration of a kernel the first Skip launches are let by, because clocks and caches settle,
	// and the next Count are profiled (0: [LaunchCount]).
	Skip, Count int
	Range       string   // restricts it to launches within this NVTX range, in the tool's own notation ("step/")
	Set         string   // of sections, "" for the tool's fullest unless there are sections
	Sections    []string // to collect beside the set
	Metrics     []string // to collect by their names
	Why         bool     // collect what explains a change, in place of Set and Sections
	// Kill profiles one launch of each of Kernels, which are names of one kernel each, and ends the program then.
	Kill  bool
	Ended bool // the program was ended, which is no failure
}

// The launches that are skipped and profiled unless somebody says otherwise. One launch is replayed for about two
// seconds (an H200, all sections), and the run is the unit of replication: more launches of one run would tell little
// more.
const (
	LaunchSkip  = 5
	LaunchCount = 1
)

// Regex begins a selector of kernels that is a regular expression.
const Regex = "regex:"

// Selects reports whether one of the selectors, names or expressions, means the kernel of that short name.
func Selects(selectors []string, short string) bool {
	return slices.ContainsFunc(selectors, func(s string) bool {
		expression, ok := strings.CutPrefix(s, Regex)
		if !ok {
			return s == short
		}
		re, err := regexp.Compile(expression)
		return err == nil && re.MatchString(short)
	})
}

// CheckSelector gives the error of a selector.
func CheckSelector(s string) error {
	expression, ok := strings.CutPrefix(s, Regex)
	if _, err := regexp.Compile(expression); ok && (err != nil || expression == "") {
		return fmt.Errorf("%q is no regular expression", expression)
	}
	return nil
}
