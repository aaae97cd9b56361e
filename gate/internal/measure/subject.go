// Package measure is the vocabulary of results: subjects, metrics, units, and the numbers that people read.
package measure

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/input"
)

// Dim3 is a CUDA grid or block extent. The zero value means "not a kernel".
type Dim3 struct {
	X uint32 `json:"x"`
	Y uint32 `json:"y"`
	Z uint32 `json:"z"`
}

// String prints the extent as users of profilers write it: 1056x1x1.
func (d Dim3) String() string { return string(d.append(nil)) }

func (d Dim3) append(to []byte) []byte {
	to = append(strconv.AppendUint(to, uint64(d.X), 10), 'x')
	to = append(strconv.AppendUint(to, uint64(d.Y), 10), 'x')
	return strconv.AppendUint(to, uint64(d.Z), 10)
}

// ParseDim3 reads what [Dim3.String] prints; the empty string is the zero extent.
func ParseDim3(s string) (Dim3, error) {
	var d Dim3
	text, rest := "", s
	for _, to := range []*uint32{&d.X, &d.Y, &d.Z} {
		text, rest, _ = strings.Cut(rest, "x")
		n, _ := strconv.ParseUint(text, 10, 32) // 0 for any other text, which String does not print
		*to = uint32(n)
	}
	var printed [32]byte
	if s != "" && string(d.append(printed[:0])) != s {
		return Dim3{}, fmt.Errorf("extent %q is not of the form XxYxZ", s)
	}
	return d, nil
}

// Scope is the kind of a subject.
type Scope string

// The things that a metric can belong to.
const (
	ScopeKernel   Scope = "kernel"
	ScopeRange    Scope = "range"
	ScopeDevice   Scope = "device" // one of several GPUs of a run
	ScopeWorkload Scope = "workload"
	// ScopeIdle is a cause of idle time of the GPU.
	ScopeIdle Scope = "idle"
	// ScopeCall is a function of the CUDA API.
	ScopeCall Scope = "call"
	// ScopeOutput is a number that the workload prints, see [Output].
	ScopeOutput Scope = "output"
	// ScopeBenchmark is a row of a benchmark file: a benchmark with its parameters.
	ScopeBenchmark Scope = "benchmark"
	// ScopeSection is a part of a run by time, see [Sections].
	ScopeSection Scope = "section"
)

// Scopes lists every scope.
var Scopes = []Scope{ScopeKernel, ScopeRange, ScopeDevice, ScopeWorkload, ScopeIdle, ScopeCall, ScopeOutput,
	ScopeBenchmark, ScopeSection}

// Subject is the object of a metric, see [Scope]: a kernel with its geometry, an NVTX range, a device, the workload, a
// kind of copy, or a printed number. It is comparable and independent of numbering within a run.
type Subject struct {
	Scope Scope `json:"scope"`
	// Name is the normalised demangled name of a kernel, the name of a range ("domain:name" outside the default domain)
	// or device ("GPU 3"), "" for the whole workload, a copy kind such as "memcpy HtoD", or the name of an output.
	Name  string `json:"name"`
	Grid  Dim3   `json:"grid"` // of kernels; zero otherwise
	Block Dim3   `json:"block"`
}

// Workload is the subject of whole-workload metrics.
var Workload = Subject{Scope: ScopeWorkload}

// Device is one of several devices of a run, by its number.
func Device(n int32) Subject { return Subject{Scope: ScopeDevice, Name: fmt.Sprintf("GPU %d", n)} }

// Short is the subject's short name: a kernel's base name without template arguments and parameters, a range's,
// device's, copy kind's or output's name, "workload" for the whole.
func (s Subject) Short() string {
	switch {
	case s.Scope == ScopeKernel:
		return ShortName(s.Name)
	case s.Name == "":
		return string(s.Scope)
	}
	return s.Name
}

// Geometry prints grid and block of a kernel ("1056x1x1/256x1x1"), or "".
func (s Subject) Geometry() string {
	if s.Grid == (Dim3{}) && s.Block == (Dim3{}) {
		return ""
	}
	return s.Grid.String() + "/" + s.Block.String()
}

// ID is a short stable key for tables: the short name and, for kernels, eight hex digits of a hash over the subject.
func (s Subject) ID() string {
	if s.Scope != ScopeKernel {
		return s.Short()
	}
	sum := sha256.Sum256([]byte(s.Name + "\x00" + s.Geometry()))
	return s.Short() + "#" + hex.EncodeToString(sum[:4])
}

// Compare orders subjects by scope (workload, range, output, kernel), name and geometry.
func (s Subject) Compare(o Subject) int {
	dim := func(a, b Dim3) int {
		return cmp.Or(cmp.Compare(a.X, b.X), cmp.Compare(a.Y, b.Y), cmp.Compare(a.Z, b.Z))
	}
	if c := cmp.Or(-cmp.Compare(s.Scope, o.Scope), cmp.Compare(s.Name, o.Name)); c != 0 {
		return c
	}
	return cmp.Or(dim(s.Grid, o.Grid), dim(s.Block, o.Block))
}

// The sections of a run. Their elapsed times add up to that of the run, and so do their GPU times and launches.
var (
	Before  = Subject{Scope: ScopeSection, Name: "before"}
	Warmup  = Subject{Scope: ScopeSection, Name: "warm-up"}
	Steps   = Subject{Scope: ScopeSection, Name: "steps"}
	Between = Subject{Scope: ScopeSection, Name: "between"}
	After   = Subject{Scope: ScopeSection, Name: "after"}
	// Beside is the work of short processes of the same launch beside the run; it is not part of the run.
	Beside = Subject{Scope: ScopeSection, Name: "beside"}
)

// Sections lists the sections of a run in their order.
var Sections = []Subject{Before, Warmup, Steps, Between, After}

const loopPrefix = "loop of "

// Loop is a loop of a run without ranges, by the kernel that each of its cycles launches once.
func Loop(kernel string) Subject { return Subject{Scope: ScopeSection, Name: loopPrefix + kernel} }

// IsLoop reports whether a subject is a [Loop].
func (s Subject) IsLoop() bool {
	return s.Scope == ScopeSection && strings.HasPrefix(s.Name, loopPrefix)
}

// idleWhere stands between the class of a cause and its place.
const idleWhere = ": "

// The classes of idle time. The values are keys of baselines and of the JSON, and stay; reports print other words.
const (
	IdleLaunch     = "launch-starved"     // waiting for the CPU: the next launch had not been issued
	IdleSync       = "blocking"           // the host waited for the GPU, and issued late
	IdleDependency = "dependency-stalled" // an issued operation waits for an event or another stream
	IdleGaps       = "micro gaps"         // launch gaps: a few µs between operations that were issued in time
	IdleUnknown    = "unknown"            // the recording does not tell when the next operation was issued
)

// Place is where the host was while the GPU was idle. The zero value is no place: the host plays no part, as in
// [IdleGaps]. It is comparable.
type Place struct {
	Call  string // the CUDA call that the host was in, or [HostCode] outside of calls
	Range string // innermost NVTX range, "" for none
	After string // the synchronising CUDA call before code of the host, "" for none
}

// HostCode is the Call of a [Place] outside of CUDA calls; Elsewhere is the sum of places too small for a row.
const HostCode = "host code"

// Elsewhere is the place of idle time that is too short at each of its places for a row.
var Elsewhere = Place{Call: "elsewhere"}

// String is the text of baselines and of the JSON, which [ParsePlace] reads: "host code in step after cudaFree".
func (p Place) String() string {
	text := p.Call
	if p.Range != "" {
		text += " in " + p.Range
	}
	if p.After != "" {
		text += " after " + p.After
	}
	return text
}

var (
	isCall    = input.Pattern(`^(?:cu|hip)\w+$`)
	afterCall = input.Pattern(`^(.*) after ((?:cu|hip)\w+)$`)
)

// ParsePlace reads the text of a place. The text of its value is the text that was read, whatever that is.
func ParsePlace(text string) (p Place) {
	if m := afterCall().FindStringSubmatch(text); m != nil {
		text, p.After = m[1], m[2]
	}
	p.Call = text
	if !strings.HasSuffix(text, " in ") {
		p.Call, p.Range, _ = strings.Cut(text, " in ")
	}
	return p
}

// CUDA is the CUDA call that the host was in or came from, "" for none.
func (p Place) CUDA() string {
	switch {
	case p.Call == HostCode:
		return p.After
	case isCall().MatchString(p.Call):
		return p.Call
	}
	return ""
}

// Ends reports whether the text of the place ends with a call.
func (p Place) Ends(call string) bool {
	return p.After == call || p.After == "" && p.Range == "" && p.Call == call
}

// IdleSubject is a cause of idle time: its class, such as [IdleLaunch], and the place of the host in that time.
func IdleSubject(class string, at Place) Subject {
	if at != (Place{}) {
		class += idleWhere + at.String()
	}
	return Subject{Scope: ScopeIdle, Name: class}
}

// Idle takes the subject of a cause of idle time apart; both are zero for any other.
func (s Subject) Idle() (class string, at Place) {
	if s.Scope != ScopeIdle {
		return "", Place{}
	}
	class, where, _ := strings.Cut(s.Name, idleWhere)
	return class, ParsePlace(where)
}
