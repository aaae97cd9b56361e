package torch

import (
	"bytes"
	"math"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// The bounds of a trace. One that exceeds them has many gigabytes.
var (
	mostRecords = 3_000_000 // of each kind
	mostText    = 256 << 20 // bytes of different names
)

// microsecond is the unit of times, in ns.
const microsecond = 1000

type trace struct {
	event   event                   // the last one
	extents map[string]measure.Dim3 // by how they stand in the file
	buffer  []byte
	*scanner
	facts
	variants  model.Interned[variant]
	launches  []launch
	copies    []transfer
	calls     []call      // those with an id
	made      model.Calls // all, of callNames
	called    int         // how many were made
	ranges    []model.Range
	names     model.Interned[string] // of kernels, as the file has them
	spans     model.Interned[string] // of ranges, normalised
	callNames model.Interned[string] // as the file has them
	threads   model.Interned[string]
	texts     int // bytes of all names

	twice      int // launches that are written twice
	timeless   int // launches that the GPU did not time
	unsized    int // copies without a size
	undated    int // calls that do not tell when they were
	foreign    int // events of a device that is not judged
	foreigner  string
	capturing  bool
	fractional bool // some time has a fraction of a microsecond
}

// launch is a kernel event; its kernel is a variant. The id is the correlation, 0 for none.
type launch struct {
	model.Launch
	id int64
}

type variant struct {
	name              int32
	grid, block       measure.Dim3
	registers, shared int64
}

type transfer struct {
	model.Copy
	id int64
}

type call struct {
	id, start       int64
	thread          int32
	launches, graph bool // it launches a kernel, a CUDA graph
	answered        bool // it has a launch
}

func (t *trace) add(text []byte) error {
	e := &t.event
	if !e.read(text) {
		return t.near(t.begin, model.BadValue, exportAgain,
			"there is something among the events that is no event, or an event without proper args")
	}
	t.known = t.known || e.kind != other
	complete := string(e.Ph) == `"X"`
	switch e.kind {
	case kernelEvent, copyEvent, setEvent:
		switch string(e.Ph) {
		case `"X"`:
			return t.addWork(e)
		case `"s"`, `"t"`, `"f"`, `"M"`, `"i"`, `"I"`, `"C"`: // arrows, labels, marks and counters
			return nil
		}
		return t.near(t.begin, model.BadValue, exportAgain, "work of the GPU is not given as a complete event (ph X)")
	case callEvent:
		if complete {
			return t.addCall(e)
		}
	case rangeEvent, operatorEvent:
		if complete && (e.kind == rangeEvent || bytes.HasPrefix(e.Name, []byte(`"`+stepPrefix))) {
			return t.addRange(e)
		}
	case foreignEvent:
		t.foreign++
		device, _, _ := bytes.Cut(unquote(e.Cat), []byte{'_'})
		t.foreigner = foreignDevice(device)
	}
	return nil
}

func (t *trace) addWork(e *event) error {
	what := [...]string{kernelEvent: "kernel", copyEvent: "copy", setEvent: "memset"}[e.kind]
	start, pointed, ok := nanoseconds(e.Ts)
	if !ok {
		return t.near(t.begin, model.BadValue, exportAgain, "a %s has no time (ts)", what)
	}
	duration, pointed2, ok := nanoseconds(e.Dur)
	switch {
	case !ok:
		return t.near(t.begin, model.BadValue, exportAgain, "a %s has no duration (dur)", what)
	case duration < 0:
		return t.near(t.begin, model.BadValue, profileAgain, "a %s lasts %v µs", what, float64(duration)/1000)
	case start < 0:
		return t.near(t.begin, model.BadValue, profileAgain, "a %s starts at %v µs", what, float64(start)/1000)
	}
	t.fractional = t.fractional || pointed || pointed2
	id, device := integerOr(e.Args.Correlation, 0), small(e.Args.Device, e.Pid)
	stream := small(e.Args.Stream, bytes.TrimPrefix(unquote(e.Tid), []byte("stream ")))
	if e.kind != kernelEvent {
		x := transfer{id: id, Copy: parseCopy(text(e.Name))}
		x.Start, x.End, x.API, x.Range, x.Thread = start, start+duration, start, -1, -1
		x.Device, x.Stream = device, stream
		if x.Bytes, ok = integer(e.Args.Bytes); !ok || x.Bytes < 0 {
			t.unsized++
		}
		t.copies = append(t.copies, x)
		return t.bounded(len(t.copies))
	}
	// Where the GPU lost the record of a kernel, Kineto writes one that starts and ends at zero.
	if start == 0 && duration == 0 {
		t.timeless++
	}
	v := variant{registers: max(-1, integerOr(e.Args.Registers, -1)), shared: max(-1, integerOr(e.Args.Shared, -1))}
	var err error
	if v.grid, err = t.extent("grid", e.Args.Grid); err != nil {
		return err
	}
	if v.block, err = t.extent("block", e.Args.Block); err != nil {
		return err
	}
	if v.name, err = t.intern(&t.names, e.Name); err != nil {
		return err
	}
	number, _ := t.variants.Of(v)
	t.launches = append(t.launches, launch{id: id, Launch: model.Launch{
		Start: start, End: start + duration, API: start, Kernel: number, Range: -1, Thread: -1, Device: device,
		Stream: stream,
	}})
	return t.bounded(len(t.launches))
}

// extent reads the size of a grid or block, [x, y, z], the zero extent where it is missing: few differ.
func (t *trace) extent(what string, b jsontext.Value) (measure.Dim3, error) {
	d, known := t.extents[string(b)]
	if known || len(b) == 0 || string(b) == "null" {
		return d, nil
	}
	var v []uint32
	if json.Unmarshal(b, &v) != nil || len(v) != 3 {
		return d, t.near(t.begin, model.BadValue, exportAgain, "the %s of a kernel is none", what)
	}
	d = measure.Dim3{X: v[0], Y: v[1], Z: v[2]}
	const most = 1 << 12
	if len(t.extents) < most {
		t.extents[string(b)] = d
	}
	return d, nil
}

// small is the first of several texts that is a number, 0 if none is.
func small(candidates ...[]byte) int32 {
	for _, c := range candidates {
		if n, ok := integer(c); ok && n >= 0 && n <= math.MaxInt32 {
			return int32(n)
		}
	}
	return 0
}

// addCall reads a call of the runtime or driver. Without an id its launches cannot be found.
func (t *trace) addCall(e *event) error {
	has := func(part string) bool { return bytes.Contains(e.Name, []byte(part)) }
	c := call{
		id:       integerOr(e.Args.Correlation, 0),
		launches: has("LaunchKernel") || has("LaunchCooperativeKernel"),
		graph:    has("GraphLaunch"),
	}
	t.capturing = t.capturing || has("BeginCapture")
	t.amd = t.amd || bytes.HasPrefix(e.Name, []byte(`"hip`))
	var ok bool
	if c.start, _, ok = nanoseconds(e.Ts); !ok {
		t.undated++
		return nil
	}
	// A trace is of one process: in a merged one the ids of calls are not unique.
	if pid := string(unquote(e.Pid)); t.pid == "" {
		t.pid = pid
	} else if t.pid != pid {
		return model.Refuse(model.SeveralProcesses, "name the trace of each rank by itself",
			"%s is merged from the traces of several processes", t.source)
	}
	var err error
	if c.thread, err = t.thread(e.Pid, e.Tid); err != nil {
		return err
	}
	name, err := t.intern(&t.callNames, e.Name)
	if err != nil {
		return err
	}
	duration, _, ended := nanoseconds(e.Dur)
	if !ended || duration < 0 {
		t.undated++
		duration = 0
	}
	t.made.Add(model.Call{Start: c.start, End: c.start + duration, Name: name, Thread: c.thread})
	t.called++
	if c.id != 0 {
		t.calls = append(t.calls, c)
	}
	return t.bounded(t.called)
}

// addRange reads an annotation; one that never ended is left out.
func (t *trace) addRange(e *event) error {
	start, _, ok := nanoseconds(e.Ts)
	duration, _, ended := nanoseconds(e.Dur)
	name := rangeName(text(e.Name))
	if !ok || !ended || duration < 0 || name == "" {
		return nil
	}
	thread, err := t.thread(e.Pid, e.Tid)
	if err != nil {
		return err
	}
	number, err := t.intern(&t.spans, []byte(name))
	if err != nil {
		return err
	}
	t.ranges = append(t.ranges, model.Range{Start: start, End: start + duration, Name: number, Thread: thread})
	return t.bounded(len(t.ranges))
}

func (t *trace) thread(pid, tid jsontext.Value) (int32, error) {
	t.buffer = append(append(append(t.buffer[:0], unquote(pid)...), ' '), unquote(tid)...)
	return t.intern(&t.threads, t.buffer)
}

// intern numbers a name, and counts the bytes of those that stay in memory.
func (t *trace) intern(among *model.Interned[string], name []byte) (int32, error) {
	if number, ok := among.Number[string(name)]; ok {
		return number, nil
	}
	number, _ := among.Of(string(name))
	t.texts += len(name)
	if t.texts > mostText {
		return 0, model.Refuse(model.TooLarge, fewerSteps, "%s holds names of more than %d MB", t.source,
			mostText>>20)
	}
	return number, nil
}

func (t *trace) bounded(n int) error {
	if n > mostRecords {
		return model.Refuse(model.TooLarge, fewerSteps, "%s holds more than %d records of one kind", t.source,
			mostRecords)
	}
	return nil
}

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

func (t *trace) readDevices(value []byte) error {
	var devices []struct {
		ID   jsontext.Value `json:"id"`
		Name string         `json:"name"`
		AMD  jsontext.Value `json:"maxSharedMemoryPerMultiProcessor"`
	}
	if json.Unmarshal(value, &devices, lenient) != nil {
		return t.near(t.begin, model.Damaged, exportAgain, "deviceProperties is no list of GPUs")
	}
	t.gpus = make(map[int32]string)
	for i, d := range devices {
		name := measure.NormalizeLine(d.Name)
		t.gpus[int32(integerOr(d.ID, int64(i)))] = name
		t.amd = t.amd || strings.HasPrefix(name, "AMD ") || len(d.AMD) > 0
	}
	return nil
}
