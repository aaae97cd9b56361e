// Package measure is the vocabulary of results: subjects, metrics, units, and the numbers that people read.
package measure

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
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
