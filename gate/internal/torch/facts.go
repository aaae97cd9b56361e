package torch

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

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

// readFact reads the value of a top-level key. The other keys name files, and anything that the workload adds.
func (t *trace) readFact(key string) error {
	t.known = t.known || marks[key]
	switch key {
	case "deviceProperties":
		return t.readDevices()
	case "WARNING", "ERROR", "INFO", "VERBOSE":
		return t.skip(t.readLog)
	case "schemaVersion", "baseTimeNanoseconds", "torch_version", "pytorch_version",
		"cuda_runtime_version", "cuda_driver_version", "hip_runtime_version", "hip_driver_version":
	default:
		return t.skip(nil)
	}
	var value json.RawMessage
	t.in.begin = t.dec.InputOffset()
	if err := t.dec.Decode(&value); err != nil {
		return t.fail(err)
	}
	number, isNumber := integer(value)
	switch key {
	case "schemaVersion":
		if isNumber {
			t.schema = strconv.FormatInt(number, 10)
		}
	case "baseTimeNanoseconds":
		if isNumber && number > 0 {
			t.base = number
		}
	case "torch_version", "pytorch_version":
		if v := version.FindString(text(value)); v != "" {
			t.tool = profiler + " " + v
		}
	case "cuda_runtime_version":
		t.runtime = cudaVersion(number)
	case "cuda_driver_version":
		t.driver = cudaVersion(number)
	default:
		t.amd = true
	}
	return nil
}

// skip reads over a value of the file.
func (t *trace) skip(each func(string)) error {
	begin := func(s string) {
		t.in.begin = t.dec.InputOffset()
		if each != nil {
			each(s)
		}
	}
	t.in.begin = t.dec.InputOffset()
	if err := skip(t.dec, begin); err != nil {
		return t.fail(err)
	}
	return nil
}

// cudaVersion writes 13000 as 13.0.
func cudaVersion(n int64) string {
	if n < 1000 || n > 1_000_000 {
		return ""
	}
	return strconv.FormatInt(n/1000, 10) + "." + strconv.FormatInt(n%1000/10, 10)
}

// readDevices reads the GPUs that the process saw.
func (t *trace) readDevices() error {
	var devices []struct {
		ID   json.RawMessage `json:"id"`
		Name string          `json:"name"`
		AMD  json.RawMessage `json:"maxSharedMemoryPerMultiProcessor"`
	}
	at := t.dec.InputOffset()
	t.in.begin = at
	if err := t.dec.Decode(&devices); err != nil {
		if _, mismatch := err.(*json.UnmarshalTypeError); mismatch {
			return t.refuse("no-devices", at)
		}
		return t.fail(err)
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

// readLog looks for signs of lost records in one line of Kineto's log.
func (t *trace) readLog(line string) {
	if !strings.Contains(line, "stopped") && !strings.Contains(line, "Exceeded") && !strings.Contains(line, "Dropped") &&
		!strings.Contains(line, "CUPTI_ERROR_") {
		return
	}
	for _, x := range losses {
		if t.lost == "" && x.text.MatchString(line) {
			t.lost = x.says
		}
	}
	if t.cupti == "" {
		t.cupti = cuptiError.FindString(line)
	}
}

// environment is where and how the run was measured.
func (t *trace) environment(launches []measure.Launch) measure.Environment {
	e := measure.Environment{Tool: profiler, Schema: t.schema, CUDA: t.runtime, Tick: t.tick(launches)}
	if t.tool != "" {
		e.Tool = t.tool
	}
	if e.CUDA == "" {
		e.CUDA = t.driver
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
	return measure.Models(names)
}

// tick is the resolution of the GPU's timer, 0 where that is not known: Kineto rounds start and end each for itself, so that
// durations are a multiple to within 2 ns. Times that were written in whole microseconds cannot tell more than that.
func (t *trace) tick(launches []measure.Launch) float64 {
	if !t.fractional {
		return 1000
	}
	return measure.Tick(len(launches), func(i int) int64 { return launches[i].End - launches[i].Start }, 2)
}
