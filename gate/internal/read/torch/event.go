package torch

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/report/cells"
)

// event is one element of traceEvents that is of a category that is read. Its fields are kept as they stand in the file
// until they are needed, before the next event at the latest.
type event struct {
	kind kind
	Ph   jsontext.Value `json:"ph"`
	Cat  jsontext.Value `json:"cat"`
	Name jsontext.Value `json:"name"`
	Pid  jsontext.Value `json:"pid"`
	Tid  jsontext.Value `json:"tid"`
	Ts   jsontext.Value `json:"ts"`
	Dur  jsontext.Value `json:"dur"`
	Args struct {
		Device      jsontext.Value `json:"device"`
		Stream      jsontext.Value `json:"stream"`
		Correlation jsontext.Value `json:"correlation"`
		Grid        jsontext.Value `json:"grid"`
		Block       jsontext.Value `json:"block"`
		Bytes       jsontext.Value `json:"bytes"`
		Registers   jsontext.Value `json:"registers per thread"`
		Shared      jsontext.Value `json:"shared memory"`
	} `json:"args"`
}

// lenient are the options for JSON as Kineto writes it: of equal names the last counts, and a kernel may have any bytes
// for its name.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// read reads an event of a category that is read. Others, mostly operators, are left out.
func (e *event) read(text []byte) (ok bool) {
	*e = event{}
	if text[0] != '{' || !interesting(text) {
		return text[0] == '{' || string(text) == "null"
	}
	err := json.Unmarshal(text, e, lenient)
	e.kind = kindOf(unquote(e.Cat))
	return err == nil
}

func interesting(text []byte) bool {
	whole := text
	for { // an object inside can have a key of that name too
		_, behind, found := bytes.Cut(text, []byte(`"cat"`))
		if !found {
			return false
		}
		text = behind
		value, quoted := bytes.CutPrefix(bytes.TrimLeft(text, ": \t\r\n"), []byte{'"'})
		cat, behind, closed := bytes.Cut(value, []byte{'"'})
		if !quoted || !closed {
			continue
		}
		k := kindOf(cat)
		// Before there were user annotations, the steps were operators.
		if k != other && (k != operatorEvent || bytes.Contains(whole, []byte(stepPrefix))) {
			return true
		}
		text, whole = behind, behind
	}
}

type kind int8

const (
	other kind = iota
	kernelEvent
	copyEvent
	setEvent
	callEvent
	rangeEvent
	operatorEvent
	foreignEvent
)

// kinds go by the category. Those in capitals are of 2021.
var kinds = map[string]kind{
	"kernel": kernelEvent, "Kernel": kernelEvent,
	"gpu_memcpy": copyEvent, "Memcpy": copyEvent,
	"gpu_memset": setEvent, "Memset": setEvent,
	"cuda_runtime": callEvent, "cuda_driver": callEvent, "Runtime": callEvent,
	"hip_runtime": callEvent, "hip_driver": callEvent,
	"user_annotation": rangeEvent, "cpu_op": operatorEvent, "Operator": operatorEvent,
}

// kindOf is the kind of a category: those of devices that are not judged go by their first word, in letters of any
// case.
func kindOf(category []byte) kind {
	if k, ok := kinds[string(category)]; ok {
		return k
	}
	if device, _, parts := bytes.Cut(category, []byte{'_'}); parts && foreignDevice(device) != "" {
		return foreignEvent
	}
	return other
}

// foreignDevice is the device of a category by its first word, "" for one that is judged or none.
func foreignDevice(word []byte) string {
	const longest = len("privateuse1")
	if len(word) > longest {
		return ""
	}
	return foreign[strings.ToLower(string(word))]
}

// foreign names the devices that are not judged, by how the categories of their events begin.
var foreign = map[string]string{
	"xpu": "an Intel GPU (XPU)", "hpu": "an Intel Gaudi (HPU)", "mtia": "an accelerator of Meta (MTIA)",
	"glow": "an accelerator of Glow", "privateuse1": "an accelerator of a PyTorch extension (PrivateUse1)",
}

// text is the value of a JSON string, "" for anything else.
func text(b jsontext.Value) (s string) {
	_ = json.Unmarshal(b, &s, lenient)
	return s
}

// torch.profiler names each step with its number; all of them become one range, stepName.
const (
	stepPrefix = "ProfilerStep#"
	stepName   = "ProfilerStep"
)

// graphKey is the name of a graph of torch.compile: a hash of the code, which every change replaces.
var graphKey = input.Pattern(`(CompiledFxGraph )[a-z2-7]{30,}`)

// rangeName is the common name of the occurrences of an annotation.
func rangeName(raw string) string {
	name := measure.NormalizeRange(graphKey().ReplaceAllString(raw, "${1}…"))
	return measure.Either(name == stepPrefix, stepName, name)
}

// callName is the name of a function of CUDA without its version. Kineto writes INVALID where it does not know the
// function.
func callName(raw string) string {
	name := measure.NormalizeLine(model.Unversioned(raw))
	return measure.Either(name == "" || name == "INVALID", "a CUDA call", name)
}

// parseCopy reads the name of a copy, "Memcpy HtoD (Pinned -> Device)", or of a memset, "Memset (Device)". What it does
// not know is of unknown kind.
func parseCopy(name string) model.Copy {
	what, memory, _ := strings.Cut(strings.TrimSuffix(name, ")"), " (")
	from, to, both := strings.Cut(memory, " -> ")
	if !both {
		from, to = "", from
	}
	if strings.HasPrefix(what, "Memset") {
		return model.Copy{Kind: model.Memset, Source: model.MemoryUnknown, Target: model.MemoryKindNamed(to)}
	}
	return model.Copy{Kind: model.CopyKindNamed("memcpy " + strings.TrimPrefix(what, "Memcpy ")),
		Source: model.MemoryKindNamed(from), Target: model.MemoryKindNamed(to)}
}

// nanoseconds reads a number of microseconds, quoted or not, and rounds it to ns. fraction says that it was written
// with a point. It is not ok for text that is not a number and for more than half of the largest int64.
func nanoseconds(text []byte) (value int64, fraction, ok bool) {
	s := bytes.TrimSpace(unquote(text))
	n, form := cells.Parse(s)
	switch form {
	case cells.Whole, cells.Point, cells.ThreeAfterPoint:
		const most = 4611686018427387899
		value, ok = n.Int(microsecond)
		return value, bytes.IndexByte(s, '.') >= 0, ok && value <= most && value >= -most
	}
	return 0, false, false
}

// unquote takes the quotation marks off a JSON string. Escapes stay.
func unquote(b []byte) []byte { return bytes.Trim(b, `"`) }

// integer reads a whole number, quoted or not.
func integer(b []byte) (int64, bool) {
	n, err := strconv.ParseInt(string(unquote(b)), 10, 64)
	return n, err == nil
}

// integerOr is integer with a value for a missing number.
func integerOr(b []byte, otherwise int64) int64 {
	if n, ok := integer(b); ok {
		return n
	}
	return otherwise
}

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
	"cuda_runtime_version": func(f *facts, value []byte) { f.runtime = model.CUDAVersion(string(unquote(value))) },
	"cuda_driver_version":  func(f *facts, value []byte) { f.driver = model.CUDAVersion(string(unquote(value))) },
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
