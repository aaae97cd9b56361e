package torch

import (
	"cmp"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/measure"
)

// facts is what a trace says beside its events, as far as it may be written down.
type facts struct {
	gpus    map[int32]string // model by number
	amd     bool
	tool    string
	schema  string
	runtime string // version of CUDA that PyTorch was built with
	driver  string // newest version of CUDA that the driver knows
	base    int64  // of all times, ns of UTC
	pid     string
	known   bool   // something in it is of torch.profiler
	lost    string // what Kineto says of records that it lost
	cupti   string // the first error of CUPTI
}

var version = regexp.MustCompile(`^\d+(\.\d+){1,3}`)

// factual are the keys that are read beside deviceProperties. The others name files, and anything that the workload adds.
var factual = map[string]func(f *facts, value []byte){
	"schemaVersion": func(f *facts, value []byte) {
		if n, ok := integer(value); ok {
			f.schema = strconv.FormatInt(n, 10)
		}
	},
	"baseTimeNanoseconds":  func(f *facts, value []byte) { f.base = integerOr(value, 0) },
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

// readFact reads the value of a top-level key.
func (t *trace) readFact(key string) error {
	t.known = t.known || marks[key]
	read, ok := factual[key]
	if !ok && key != "deviceProperties" {
		return t.skip()
	}
	value, err := t.value()
	switch {
	case err != nil:
		return err
	case !ok:
		return t.readDevices(value)
	}
	read(&t.facts, value)
	return nil
}

func (f *facts) readVersion(value []byte) {
	if v := version.FindString(text(value)); v != "" {
		f.tool = profiler + " " + v
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

// readDevices reads the GPUs that the process saw.
func (t *trace) readDevices(value []byte) error {
	var devices []struct {
		ID   json.RawMessage `json:"id"`
		Name string          `json:"name"`
		AMD  json.RawMessage `json:"maxSharedMemoryPerMultiProcessor"`
	}
	if json.Unmarshal(value, &devices) != nil {
		return model.Refuse(model.Damaged, exportAgain,
			"%s, near byte %d: deviceProperties is no list of GPUs", t.source, t.begin)
	}
	t.gpus = make(map[int32]string)
	for i, d := range devices {
		name := measure.NormalizeLine(d.Name)
		t.gpus[int32(integerOr(d.ID, int64(i)))] = name
		t.amd = t.amd || strings.HasPrefix(name, "AMD ") || len(d.AMD) > 0
	}
	return nil
}

// losses are what Kineto logs when it loses records of the GPU. A trace holds the log where PyTorch was built with
// Kineto's own logger, as its releases are; no event says it.
var losses = []struct {
	text *regexp.Regexp
	says string
}{
	{regexp.MustCompile(`stopped early\? = 1`), "the GPU's part of the profile stopped early"},
	{regexp.MustCompile(`Exceeded max GPU buffer count`), "the buffers for what the GPU records were full"},
	{regexp.MustCompile(`CollectTrace stopped by`), "the buffers for what the GPU records were full"},
	{regexp.MustCompile(`Dropped [1-9][0-9]* activity records`), "records of the GPU were dropped"},
}

var cuptiError = regexp.MustCompile(`CUPTI_ERROR_[A-Z_]+`)

// readLog looks for signs of lost records in the lines of Kineto's log.
func (f *facts) readLog(lines []byte) {
	for _, x := range losses {
		if f.lost == "" && x.text.Match(lines) {
			f.lost = x.says
		}
	}
	if f.cupti == "" {
		f.cupti = string(cuptiError.Find(lines))
	}
}

// environment is where and how the run was measured.
func (t *trace) environment(launches []model.Launch) model.Environment {
	e := model.Environment{
		Tool: cmp.Or(t.tool, profiler), Schema: t.schema, CUDA: cmp.Or(t.runtime, t.driver), Tick: t.tick(launches),
	}
	var used []int32
	for i := range launches {
		if !slices.Contains(used, launches[i].Device) {
			used = append(used, launches[i].Device)
		}
	}
	e.GPUs = len(used)
	e.GPU = t.models(used)
	// Times count from the base; without one from 1970, or from a start that nothing tells.
	const since = 1e18 // 2001, in ns
	switch first := launches[0].Start; {
	case first > since:
		e.Start = time.Unix(0, first).UTC()
	case t.base > since && t.base < 1<<62:
		e.Start = time.Unix(0, t.base).Add(time.Duration(first)).UTC()
	}
	return e
}

// models names the GPUs of some numbers. ROCm lists its GPUs from 0 on, but the numbers of its events count the processors as
// well: where one of them is not in the list, only a list of one model tells which GPUs they are.
func (t *trace) models(used []int32) string {
	var names []string
	for _, d := range used {
		name, listed := t.gpus[d]
		if !listed && len(t.gpus) > 0 {
			names = slices.Collect(maps.Values(t.gpus))
			if slices.Sort(names); names[0] != names[len(names)-1] {
				return ""
			}
			return names[0]
		}
		names = append(names, name)
	}
	return model.Models(names)
}

// tick is the resolution of the GPU's timer, 0 where that is not known: Kineto rounds start and end each for itself, so that
// durations are a multiple to within 2 ns. Times that were written in whole microseconds cannot tell more than that.
func (t *trace) tick(launches []model.Launch) float64 {
	if !t.fractional {
		return 1000
	}
	return model.Tick(len(launches), func(i int) int64 { return launches[i].End - launches[i].Start }, 2)
}
