package torch

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/nsgate/nsgate/gate/measure"
)

// event is one element of traceEvents. Its fields are kept as they stand in the file until they are needed.
type event struct {
	fields
	kind kind
}

type fields struct {
	Ph, Cat, Name, Pid, Tid, Ts, Dur json.RawMessage
	Args                             struct {
		Device, Stream, Correlation, Grid, Block, Bytes json.RawMessage

		Registers json.RawMessage `json:"registers per thread"`
		Shared    json.RawMessage `json:"shared memory"`
	}
}

// UnmarshalJSON reads the fields of an event that is of interest, and none of any other: most are operators.
func (e *event) UnmarshalJSON(b []byte) error {
	e.kind = other
	if !interesting(b) {
		return nil
	}
	for _, f := range []*json.RawMessage{
		&e.Ph, &e.Cat, &e.Name, &e.Pid, &e.Tid, &e.Ts, &e.Dur, &e.Args.Device, &e.Args.Stream, &e.Args.Correlation,
		&e.Args.Grid, &e.Args.Block, &e.Args.Bytes, &e.Args.Registers, &e.Args.Shared,
	} {
		*f = (*f)[:0] // and its memory stays
	}
	if err := json.Unmarshal(b, &e.fields); err != nil {
		return err
	}
	e.kind = kindOf(e.Cat)
	return nil
}

// interesting reports whether an event may be of a category that is read. An object inside of it can have a key of that
// name too.
func interesting(b []byte) bool {
	if len(b) == 0 || b[0] != '{' {
		return string(b) != "null" // so that it gives an error
	}
	for rest := b; ; {
		var found bool
		if _, rest, found = bytes.Cut(rest, []byte(`"cat"`)); !found {
			return false
		}
		value := bytes.TrimLeft(rest, ": \t\r\n")
		if len(value) == 0 || value[0] != '"' {
			continue
		}
		if end := bytes.IndexByte(value[1:], '"'); end >= 0 {
			k := kindOf(value[:end+2])
			// Before there were user annotations, the steps were operators.
			if k != other && (k != operatorEvent || bytes.Contains(b, []byte(stepPrefix))) {
				return true
			}
		}
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

// kindOf goes by the category, which stands in quotation marks. Those in capitals are of 2021.
func kindOf(category json.RawMessage) kind {
	switch string(category) {
	case `"kernel"`, `"Kernel"`:
		return kernelEvent
	case `"gpu_memcpy"`, `"Memcpy"`:
		return copyEvent
	case `"gpu_memset"`, `"Memset"`:
		return setEvent
	case `"cuda_runtime"`, `"cuda_driver"`, `"Runtime"`, `"hip_runtime"`, `"hip_driver"`:
		return callEvent
	case `"user_annotation"`:
		return rangeEvent
	case `"cpu_op"`, `"Operator"`:
		return operatorEvent
	case `"xpu_runtime"`, `"xpu_driver"`:
		return foreignEvent
	}
	return other
}

// text is the value of a JSON string, "" for anything else.
func text(b json.RawMessage) string {
	if len(b) < 2 || b[0] != '"' {
		return ""
	}
	if plain := b[1 : len(b)-1]; bytes.IndexByte(plain, '\\') < 0 {
		return strings.ToValidUTF8(string(plain), "\uFFFD")
	}
	var s string
	if json.Unmarshal(b, &s) != nil {
		return ""
	}
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
