package torch

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"

	"github.com/nsgate/nsgate/gate/measure"
)

// bounds are what may be kept of one file.
type bounds struct {
	records int // of each kind
	text    int // bytes of different names
}

// usual are the bounds of every file. A trace that goes over them would be many gigabytes long.
var usual = bounds{records: 20_000_000, text: 256 << 20}

// microsecond is the unit of times, in ns.
const microsecond = 1000

// deepest is how many levels a value that is not read may have.
const deepest = 1000

// trace is what has been read of a Chrome trace.
type trace struct {
	src *source
	in  *lenient
	dec *json.Decoder
	bounds

	facts
	variants []variant
	variant  map[variant]int32
	launches []launch
	copies   []transfer
	calls    []call
	ranges   []span
	names    interned // of kernels, as written
	spans    interned // of ranges, normalised
	raw      map[string]int32
	threads  interned
	texts    int // bytes of all names

	twice      int // launches that are written twice
	timeless   int // launches that the GPU did not time
	unsized    int // copies without a size
	foreign    int // calls of something that is no CUDA
	capturing  bool
	fractional bool // some time has a fraction of a microsecond
	extents    map[string]measure.Dim3
	buffer     []byte
}

// launch is a kernel event. Its id is the correlation, 0 where there is none.
type launch struct {
	start, end, id          int64
	variant, device, stream int32
}

// variant is a kernel in one geometry with one set of attributes.
type variant struct {
	name              int32
	grid, block       measure.Dim3
	registers, shared int64
}

// transfer is a copy or memset.
type transfer struct {
	measure.Copy
	id int64
}

// call is a call of the CUDA runtime or driver.
type call struct {
	id, start int64
	thread    int32
	does      does
}

// does is what a call is known to do.
type does int8

const (
	launchesKernel does = 1 << iota
	launchesGraph
)

// span is an occurrence of a range on the CPU.
type span struct {
	start, end   int64
	name, thread int32
}

// interned numbers strings.
type interned struct {
	number map[string]int32
	list   []string
}

// of gives the number of a string, and whether it is new.
func (n *interned) of(s []byte) (i int32, isNew bool) {
	if i, ok := n.number[string(s)]; ok {
		return i, false
	}
	if n.number == nil {
		n.number = make(map[string]int32)
	}
	i = int32(len(n.list))
	n.list = append(n.list, string(s))
	n.number[n.list[i]] = i
	return i, true
}

// readTrace reads a Chrome trace to its end.
func readTrace(src *source, in io.Reader, within bounds) (*measure.Trace, error) {
	t := &trace{
		src: src, in: newLenient(in), bounds: within,
		variant: make(map[variant]int32), raw: make(map[string]int32), extents: make(map[string]measure.Dim3),
	}
	t.dec = json.NewDecoder(t.in)
	t.dec.UseNumber() // one beside the events may be larger than any float64
	if err := t.read(); err != nil {
		return nil, err
	}
	if err := t.readEnd(); err != nil {
		return nil, err
	}
	return t.finish()
}

// read reads the object, or the bare list of events, that is the file.
func (t *trace) read() error {
	start, err := t.token()
	if err != nil {
		return err
	}
	if start == json.Delim('[') {
		return t.readEvents()
	}
	events := false
	for t.dec.More() {
		key, err := t.token()
		if err != nil {
			return err
		}
		if key != "traceEvents" {
			if err := t.readFact(key.(string)); err != nil {
				return err
			}
			continue
		}
		at := t.dec.InputOffset()
		switch start, err := t.token(); {
		case err != nil:
			return err
		case events:
			return t.refuse("events-twice", at)
		case start != json.Delim('['):
			return t.refuse("events-no-list", at)
		}
		events = true
		if err := t.readEvents(); err != nil {
			return err
		}
	}
	if _, err := t.token(); err != nil {
		return err
	}
	if !events {
		return t.src.refuse("no-events")
	}
	return nil
}

// token reads the next token. The file must not end here.
func (t *trace) token() (json.Token, error) {
	t.in.begin = t.dec.InputOffset()
	token, err := t.dec.Token()
	if err != nil {
		return nil, t.fail(err)
	}
	return token, nil
}

// readEvents reads the list of events and its closing bracket.
func (t *trace) readEvents() error {
	var e event
	for n := 0; t.dec.More(); n++ {
		if n%4096 == 0 {
			if err := t.src.ctx.Err(); err != nil {
				return t.src.broken(err)
			}
		}
		at := t.dec.InputOffset()
		t.in.begin = at
		if err := t.dec.Decode(&e); err != nil {
			var mismatch *json.UnmarshalTypeError
			if errors.As(err, &mismatch) {
				return t.refuse("odd-event", at)
			}
			return t.fail(err)
		}
		if err := t.add(&e, at); err != nil {
			return err
		}
	}
	_, err := t.token()
	return err
}

// add takes in one event, which begins at or a little behind a position.
func (t *trace) add(e *event, at int64) error {
	t.known = t.known || e.kind != other
	complete := string(e.Ph) == `"X"`
	switch e.kind {
	case kernelEvent, copyEvent, setEvent:
		switch string(e.Ph) {
		case `"X"`:
			return t.addWork(e, at)
		case `"s"`, `"t"`, `"f"`, `"M"`, `"i"`, `"I"`, `"C"`: // arrows, labels, marks and counters
			return nil
		}
		return t.refuse("odd-phase", at)
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
	}
	return nil
}

// addWork takes in a kernel, a copy or a memset.
func (t *trace) addWork(e *event, at int64) error {
	what := e.kind.String()
	start, pointed, ok := decimal(e.Ts, microsecond)
	if !ok {
		return t.refuse("no-time", at, what)
	}
	duration, pointed2, ok := decimal(e.Dur, microsecond)
	switch {
	case !ok:
		return t.refuse("no-duration", at, what)
	case duration < 0:
		return t.refuse("negative-duration", at, what, float64(duration)/1000)
	case start < 0:
		return t.refuse("negative-time", at, what, float64(start)/1000)
	}
	t.fractional = t.fractional || pointed || pointed2
	id := integerOr(e.Args.Correlation, 0)
	if e.kind != kernelEvent {
		kind, source, target := parseCopy(text(e.Name))
		size, ok := integer(e.Args.Bytes)
		if !ok || size < 0 {
			t.unsized++
		}
		t.copies = append(t.copies, transfer{id: id, Copy: measure.Copy{
			Start: start, End: start + duration, API: start, Bytes: size, Range: -1, Kind: kind, Source: source, Target: target,
		}})
		return t.bounded(len(t.copies))
	}
	// Where the GPU lost the record of a kernel, Kineto writes one that starts and ends at zero.
	if start == 0 && duration == 0 {
		t.timeless++
	}
	name, err := t.kernelName(e.Name)
	if err != nil {
		return err
	}
	grid, err := t.extent(e.Args.Grid, "grid", at)
	if err != nil {
		return err
	}
	block, err := t.extent(e.Args.Block, "block", at)
	if err != nil {
		return err
	}
	v := variant{name: name, grid: grid, block: block,
		registers: max(-1, integerOr(e.Args.Registers, -1)), shared: max(-1, integerOr(e.Args.Shared, -1))}
	number, ok := t.variant[v]
	if !ok {
		number = int32(len(t.variants))
		t.variant[v] = number
		t.variants = append(t.variants, v)
	}
	t.launches = append(t.launches, launch{
		start: start, end: start + duration, id: id, variant: number,
		device: small(e.Args.Device, e.Pid), stream: small(e.Args.Stream, bytes.TrimPrefix(unquote(e.Tid), []byte("stream "))),
	})
	return t.bounded(len(t.launches))
}

// extent reads a grid or block; most have been read before.
func (t *trace) extent(b json.RawMessage, what string, at int64) (measure.Dim3, error) {
	if d, ok := t.extents[string(b)]; ok {
		return d, nil
	}
	d, ok := parseExtent(b)
	if !ok {
		return d, t.refuse("no-extent", at, what)
	}
	t.extents[string(b)] = d
	return d, t.keep(len(b))
}

// small is the first of several numbers that is one, 0 where none is.
func small(candidates ...[]byte) int32 {
	for _, c := range candidates {
		if n, ok := integer(c); ok && n >= 0 && n <= math.MaxInt32 {
			return int32(n)
		}
	}
	return 0
}

// kernelName numbers the name of a kernel as written.
func (t *trace) kernelName(name json.RawMessage) (int32, error) {
	if i, ok := t.raw[string(name)]; ok {
		return i, nil
	}
	i, _ := t.names.of([]byte(text(name)))
	t.raw[string(name)] = i
	return i, t.keep(2 * len(name))
}

// addCall takes in a call of the runtime or driver. One that cannot be found again by its id is of no use.
func (t *trace) addCall(e *event) error {
	var c call
	name := unquote(e.Name)
	has := func(part string) bool { return bytes.Contains(name, []byte(part)) }
	switch {
	case has("LaunchKernel"), has("LaunchCooperativeKernel"):
		c.does = launchesKernel
	case has("GraphLaunch"):
		c.does = launchesGraph
	case has("BeginCapture"):
		t.capturing = true
	}
	t.amd = t.amd || bytes.HasPrefix(name, []byte("hip"))
	var ok bool
	if c.id = integerOr(e.Args.Correlation, 0); c.id == 0 {
		return nil
	}
	if c.start, _, ok = decimal(e.Ts, microsecond); !ok {
		return nil
	}
	process, err := t.process(e.Pid)
	if err != nil {
		return err
	}
	c.thread, err = t.thread(process, e.Tid)
	t.calls = append(t.calls, c)
	if err != nil {
		return err
	}
	return t.bounded(len(t.calls))
}

// addRange takes in an annotation; one that never ended is left out.
func (t *trace) addRange(e *event) error {
	start, _, ok := decimal(e.Ts, microsecond)
	if !ok {
		return nil
	}
	duration, _, ok := decimal(e.Dur, microsecond)
	if !ok || duration < 0 {
		return nil
	}
	name := rangeName(text(e.Name))
	if name == "" {
		return nil
	}
	thread, err := t.thread(unquote(e.Pid), e.Tid)
	if err != nil {
		return err
	}
	i, isNew := t.spans.of([]byte(name))
	if isNew {
		if err := t.keep(len(name)); err != nil {
			return err
		}
	}
	t.ranges = append(t.ranges, span{start, start + duration, i, thread})
	return t.bounded(len(t.ranges))
}

// thread numbers a thread of a process.
func (t *trace) thread(process []byte, tid json.RawMessage) (int32, error) {
	t.buffer = append(append(append(t.buffer[:0], process...), ' '), unquote(tid)...)
	i, isNew := t.threads.of(t.buffer)
	if isNew {
		return i, t.keep(len(t.buffer))
	}
	return i, nil
}

// process notes the process that calls come from. A trace is of one: another one's calls have ids of their own, so that
// no launch could be assigned to its call.
func (t *trace) process(pid json.RawMessage) ([]byte, error) {
	p := unquote(pid)
	if t.pid == "" {
		t.pid = string(p)
	}
	if string(p) != t.pid {
		return p, t.src.refuse("merged")
	}
	return p, nil
}

// keep counts the bytes of names that stay in memory.
func (t *trace) keep(n int) error {
	if t.texts += n; t.texts > t.bounds.text {
		return t.src.refuse("many-names", t.bounds.text>>20)
	}
	return nil
}

// bounded checks how many records of a kind there are.
func (t *trace) bounded(n int) error {
	if n > t.bounds.records {
		return t.src.refuse("many-records", t.bounds.records)
	}
	return nil
}

// readEnd reads what follows the value, which must be nothing, up to the end: the checksum of a compressed file stands
// there.
func (t *trace) readEnd() error {
	at := t.dec.InputOffset()
	rest := io.MultiReader(t.dec.Buffered(), t.in)
	for b := make([]byte, 4096); ; {
		t.in.begin = t.in.offset
		n, err := rest.Read(b)
		if space := len(b[:n]) - len(bytes.TrimLeft(b[:n], " \t\r\n")); space < n {
			return t.refuse("more-behind", at+int64(space))
		}
		at += int64(n)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return t.fail(err)
		}
	}
}

// skip reads over the next value token by token; each tells about every string, unless it is nil.
func skip(dec *json.Decoder, each func(string)) error {
	for depth := 0; ; {
		token, err := dec.Token()
		if err != nil {
			return err
		}
		switch x := token.(type) {
		case json.Delim:
			if x == '{' || x == '[' {
				depth++
			} else {
				depth--
			}
			if depth > deepest {
				return errDeep
			}
		case string:
			if each != nil {
				each(x)
			}
		}
		if depth == 0 {
			return nil
		}
	}
}

var errDeep = errors.New("a value has too many levels")

// fail turns an error of the decoder into one for the user.
func (t *trace) fail(err error) error {
	at := t.dec.InputOffset()
	var syntax *json.SyntaxError
	switch {
	case t.src.cause != nil:
		return t.src.broken(err)
	case errors.Is(err, errLong):
		return t.refuse("long-value", at, longest>>20)
	case errors.Is(err, errDeep):
		return t.refuse("deep-value", at, deepest)
	case t.in.err != nil && t.in.err != io.EOF:
		return t.src.broken(t.in.err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return t.src.refuse("truncated")
	case errors.As(err, &syntax):
		return t.refuse("no-json", at, syntax)
	}
	return t.src.broken(err)
}

// refuse says what is wrong at, or a little behind, a position.
func (t *trace) refuse(key string, at int64, details ...any) error {
	return t.src.refuse(key, append([]any{at}, details...)...)
}
