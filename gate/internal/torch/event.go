package torch

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/nsgate/nsgate/gate/measure"
)

// event is one element of traceEvents that is of a category that is read. Its fields are kept as they stand in the file
// until they are needed.
type event struct {
	kind                             kind
	Ph, Cat, Name, Pid, Tid, Ts, Dur json.RawMessage
	Args                             struct {
		Device, Stream, Correlation, Grid, Block, Bytes json.RawMessage

		Registers json.RawMessage `json:"registers per thread"`
		Shared    json.RawMessage `json:"shared memory"`
	}
}

// parseEvent reads an event, and nothing of one that is of no category that is read: most are operators.
func parseEvent(text []byte) (e event, ok bool) {
	switch {
	case text[0] != '{':
		return e, string(text) == "null"
	case !interesting(text):
		return e, true
	}
	ok = json.Unmarshal(text, &e) == nil
	e.kind = kinds[string(unquote(e.Cat))]
	return e, ok
}

// category finds the category of an event. An object inside of it can have a key of that name too.
var category = regexp.MustCompile(`"cat"[: \t\r\n]*"([^"]*)"`)

func interesting(text []byte) bool {
	for {
		at := category.FindSubmatchIndex(text)
		if at == nil {
			return false
		}
		k := kinds[string(text[at[2]:at[3]])]
		// Before there were user annotations, the steps were operators.
		if k != other && (k != operatorEvent || bytes.Contains(text, []byte(stepPrefix))) {
			return true
		}
		text = text[at[1]:]
	}
}

// kind is what an event is to us.
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

func (k kind) String() string {
	return [...]string{"other event", "kernel", "copy", "memset", "call", "annotation", "operator", "call"}[k]
}

// kinds go by the category. Those in capitals are of 2021.
var kinds = map[string]kind{
	"kernel": kernelEvent, "Kernel": kernelEvent,
	"gpu_memcpy": copyEvent, "Memcpy": copyEvent,
	"gpu_memset": setEvent, "Memset": setEvent,
	"cuda_runtime": callEvent, "cuda_driver": callEvent, "Runtime": callEvent, "hip_runtime": callEvent, "hip_driver": callEvent,
	"user_annotation": rangeEvent,
	"cpu_op":          operatorEvent, "Operator": operatorEvent,
	"xpu_runtime": foreignEvent, "xpu_driver": foreignEvent,
}

// text is the value of a JSON string, "" for anything else.
func text(b json.RawMessage) (s string) {
	_ = json.Unmarshal(b, &s)
	return s
}

// parseExtent reads [x, y, z]. What is not there is the zero extent.
func parseExtent(b json.RawMessage) (measure.Dim3, bool) {
	if len(b) == 0 || string(b) == "null" {
		return measure.Dim3{}, true
	}
	var v []uint32
	if json.Unmarshal(b, &v) != nil || len(v) != 3 {
		return measure.Dim3{}, false
	}
	return measure.Dim3{X: v[0], Y: v[1], Z: v[2]}, true
}

// stepName is what torch.profiler calls a step, and what it becomes: its occurrences are one range.
const (
	stepPrefix = "ProfilerStep#"
	stepName   = "ProfilerStep"
)

// graphKey is what torch.compile calls a graph: a hash of the code, and so another one after every change.
var graphKey = regexp.MustCompile(`(CompiledFxGraph )[a-z2-7]{30,}`)

// rangeName is the name under which the occurrences of an annotation are one range.
func rangeName(raw string) string {
	name := measure.NormalizeRange(graphKey.ReplaceAllString(raw, "${1}…"))
	if name == stepPrefix {
		return stepName
	}
	return name
}

// callVersion ends the names of some functions: cudaGetDeviceProperties_v2.
var callVersion = regexp.MustCompile(`_v[0-9]+$`)

// callName is the name of a function of CUDA without its version. Kineto writes INVALID where it does not know the function.
func callName(raw string) string {
	name := measure.NormalizeLine(callVersion.ReplaceAllString(raw, ""))
	if name == "" || name == "INVALID" {
		return "a CUDA call"
	}
	return name
}

// parseCopy reads the name of a copy, "Memcpy HtoD (Pinned -> Device)", or of a memset, "Memset (Device)". What it does
// not know is of unknown kind.
func parseCopy(name string) (kind measure.CopyKind, source, target measure.MemoryKind) {
	what, memory, _ := strings.Cut(strings.TrimSuffix(name, ")"), " (")
	from, to, both := strings.Cut(memory, " -> ")
	if !both {
		from, to = "", from
	}
	if strings.HasPrefix(what, "Memset") {
		return measure.Memset, measure.MemoryUnknown, measure.MemoryKindNamed(to)
	}
	kind = measure.CopyKindNamed("memcpy " + strings.TrimPrefix(what, "Memcpy "))
	return kind, measure.MemoryKindNamed(from), measure.MemoryKindNamed(to)
}
