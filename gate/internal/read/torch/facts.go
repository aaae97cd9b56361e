package torch

import (
	"regexp"
	"strconv"

	"github.com/go-json-experiment/json"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// facts is the content of a trace beside its events, without anything that names a host or user.
type facts struct {
	gpus    map[int32]string // model by number
	amd     bool
	tool    string
	schema  string
	runtime string // version of CUDA that PyTorch was built with
	driver  string // newest version of CUDA that the driver knows
	base    int64  // of all times, ns of UTC
	pid     string
	known   bool // something in it is of torch.profiler
	rank    int
	world   int    // ranks of the job, 0 where the trace does not say
	lost    string // Kineto's message on records that it lost
	cupti   string // the first error of CUPTI
}

var version = input.Pattern(`^\d+(\.\d+){1,3}`)

// factual are the keys that are read beside deviceProperties. The others name files, and anything that the workload
// adds.
var factual = map[string]func(f *facts, value []byte){
	"schemaVersion": func(f *facts, value []byte) {
		if n, ok := integer(value); ok {
			f.schema = strconv.FormatInt(n, 10)
		}
	},
	"baseTimeNanoseconds":  func(f *facts, value []byte) { f.base = integerOr(value, 0) },
	"distributedInfo":      (*facts).readRank,
	"torch_version":        (*facts).readVersion,
	"pytorch_version":      (*facts).readVersion,
	"cuda_runtime_version": func(f *facts, value []byte) { f.runtime = cudaVersion(value) },
	"cuda_driver_version":  func(f *facts, value []byte) { f.driver = cudaVersion(value) },
	"hip_runtime_version":  func(f *facts, _ []byte) { f.amd = true },
	"hip_driver_version":   func(f *facts, _ []byte) { f.amd = true },
	"WARNING":              (*facts).readLog,
	"ERROR":                (*facts).readLog,
	"INFO":                 (*facts).readLog,
	"VERBOSE":              (*facts).readLog,
}

func (f *facts) readVersion(value []byte) {
	if v := version().FindString(text(value)); v != "" {
		f.tool = string(model.Torch) + " " + v
	}
}

// readRank reads the rank of a job of several.
func (f *facts) readRank(value []byte) {
	var info struct {
		Rank  *int `json:"rank"`
		World int  `json:"world_size"`
	}
	if json.Unmarshal(value, &info, lenient) == nil && info.Rank != nil && 0 <= *info.Rank && *info.Rank < info.World {
		f.rank, f.world = *info.Rank, info.World
	}
}

// cudaVersion writes 13000 as 13.0.
func cudaVersion(value []byte) string {
	n, _ := integer(value)
	if n < 1000 || n > 1_000_000 {
		return ""
	}
	return strconv.FormatInt(n/1000, 10) + "." + strconv.FormatInt(n%1000/10, 10)
}

// losses are Kineto's log lines on lost records of the GPU. A trace holds the log if PyTorch was built with Kineto's
// own logger, as its releases are; no event says it.
var losses = []struct {
	text func() *regexp.Regexp
	says string
}{
	{input.Pattern(`stopped early\? = 1`), "the GPU's part of the profile stopped early"},
	{input.Pattern(`Exceeded max GPU buffer count|CollectTrace stopped by`),
		"the buffers for what the GPU records were full"},
	{input.Pattern(`Dropped [1-9][0-9]* activity records`), "records of the GPU were dropped"},
}

var cuptiError = input.Pattern(`CUPTI_ERROR_[A-Z_]+`)

// readLog looks for signs of lost records in the lines of Kineto's log.
func (f *facts) readLog(lines []byte) {
	for _, x := range losses {
		if f.lost == "" && x.text().Match(lines) {
			f.lost = x.says
		}
	}
	if f.cupti == "" {
		f.cupti = string(cuptiError().Find(lines))
	}
}
