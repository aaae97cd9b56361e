// Package measure is the vocabulary of nsgate: what ran on a GPU, what it cost, and where and how that was measured.
//
// Two levels of detail live here. A [Trace] is what one process did, launch by launch, as a profiler recorded it. A
// [Session] is what remains of several traces after reduction: one value per run for each [Metric] of each [Subject].
// Everything that judges, stores or prints works on sessions; only the reading packages and gate/sample see traces.
package measure

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Dim3 is a CUDA grid or block extent. The zero value means "not a kernel".
type Dim3 struct{ X, Y, Z uint32 }

// String prints the extent as nsys and ncu users write it: 1056x1x1.
func (d Dim3) String() string { return fmt.Sprintf("%dx%dx%d", d.X, d.Y, d.Z) }

// ParseDim3 reads what [Dim3.String] prints; the empty string is the zero extent.
func ParseDim3(s string) (Dim3, error) {
	if s == "" {
		return Dim3{}, nil
	}
	parts := strings.Split(s, "x")
	if len(parts) != 3 {
		return Dim3{}, fmt.Errorf("extent %q is not of the form XxYxZ", s)
	}
	var v [3]uint32
	for i, p := range parts {
		n, err := strconv.ParseUint(p, 10, 32)
		if err != nil || strconv.FormatUint(n, 10) != p {
			return Dim3{}, fmt.Errorf("extent %q is not of the form XxYxZ", s)
		}
		v[i] = uint32(n)
	}
	return Dim3{v[0], v[1], v[2]}, nil
}

// Scope says what a subject is.
type Scope string

// The three things that a metric can belong to.
const (
	ScopeKernel   Scope = "kernel"
	ScopeRange    Scope = "range"
	ScopeWorkload Scope = "workload"
)

// Subject is what a metric is a metric of: a kernel with its geometry, an NVTX range, the whole workload, or one kind
// of copy of the whole workload. It is comparable and holds nothing that one run numbers for itself.
type Subject struct {
	Scope Scope
	// Name is the normalised demangled name of a kernel, the name of a range ("domain:name" outside the default
	// domain), "" for the whole workload, or a copy kind such as "memcpy HtoD" or "memset".
	Name        string
	Grid, Block Dim3 // of kernels; zero otherwise
}

// Workload is the subject of whole-workload metrics.
var Workload = Subject{Scope: ScopeWorkload}

// Short is the name by which people call the subject: a kernel's base name without template arguments and
// parameters, a range's or copy kind's name, "workload" for the whole.
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

// ID is a short stable key for tables: the short name and, for kernels, eight hexadecimal digits of a hash over the
// full name and geometry.
func (s Subject) ID() string {
	if s.Scope != ScopeKernel {
		return s.Short()
	}
	sum := sha256.Sum256([]byte(s.Name + "\x00" + s.Geometry()))
	return s.Short() + "#" + hex.EncodeToString(sum[:4])
}

// Compare orders subjects by scope (workload, range, kernel), name and geometry.
func (s Subject) Compare(o Subject) int {
	dim := func(a, b Dim3) int {
		return cmp.Or(cmp.Compare(a.X, b.X), cmp.Compare(a.Y, b.Y), cmp.Compare(a.Z, b.Z))
	}
	return cmp.Or(-cmp.Compare(s.Scope, o.Scope), cmp.Compare(s.Name, o.Name), dim(s.Grid, o.Grid), dim(s.Block, o.Block))
}

// Direction says which way a metric gets better.
type Direction int8

// Lower is better for times, counts and bytes; Neither marks metrics that explain but are not judged.
const (
	Lower   Direction = -1
	Neither Direction = 0
	Higher  Direction = +1
)

// Metric is a named number with a unit and a direction.
type Metric struct {
	Name   string
	Unit   string
	Better Direction
	// Exact metrics carry no measurement noise (counts, bytes, registers): where every run of a side agrees, a
	// difference is certain. The others are judged against the spread between runs.
	Exact bool
}

// The metrics that nsys recordings give.
var (
	// Time is the GPU time of one launch: the 10 % trimmed mean over the steady launches of a run.
	Time = Metric{Name: "time", Unit: "ns", Better: Lower}
	// Spread is how much the steady launches of one run differ: the robust standard deviation (scaled MAD) of their
	// times. It says how noisy a kernel is within a run and is no error term: launches of a process are not independent.
	Spread = Metric{Name: "time_spread", Unit: "ns", Better: Neither}
	// Launches is the number of launches per step, or per run where the workload has no steps.
	Launches = Metric{Name: "launches", Unit: "count", Better: Lower, Exact: true}
	// Total is the summed GPU time of all steady launches per step (or per run), outliers included.
	Total = Metric{Name: "total", Unit: "ns", Better: Lower}
	// GPUTime is the summed kernel time of a range or of the whole workload, per step (or per run).
	GPUTime = Metric{Name: "gpu_time", Unit: "ns", Better: Lower}
	// CopyTime is the summed GPU time of one kind of copy or memset, per step (or per run).
	CopyTime = Metric{Name: "copy_time", Unit: "ns", Better: Lower}
	// CopyBytes is the number of bytes that one kind of copy or memset moved, per step (or per run).
	CopyBytes = Metric{Name: "copy_bytes", Unit: "B", Better: Lower, Exact: true}
	// Copies is the number of copies or memsets of one kind, per step (or per run).
	Copies = Metric{Name: "copies", Unit: "count", Better: Lower, Exact: true}
	// StepTime is the time from one step's first launch to the next step's on the GPU: what the user waits for,
	// idle time included. Tracing slows the CPU side down, so it explains and is not judged by default.
	StepTime = Metric{Name: "step_time", Unit: "ns", Better: Neither}
	// MemoryPeak is the high-water mark of device memory, where memory use was traced.
	MemoryPeak = Metric{Name: "memory_peak", Unit: "B", Better: Lower, Exact: true}
	// Registers, StaticShared, DynamicShared and LocalMemory are launch attributes: they explain a change.
	Registers     = Metric{Name: "registers", Unit: "per thread", Better: Neither, Exact: true}
	StaticShared  = Metric{Name: "static_shared", Unit: "B", Better: Neither, Exact: true}
	DynamicShared = Metric{Name: "dynamic_shared", Unit: "B", Better: Neither, Exact: true}
	LocalMemory   = Metric{Name: "local_memory", Unit: "B per thread", Better: Neither, Exact: true}
)

// Metrics lists every metric that nsgate knows: those of nsys, then those of ncu.
var Metrics = slices.Concat([]Metric{
	Time, Spread, Launches, Total, GPUTime, CopyTime, CopyBytes, Copies, StepTime, MemoryPeak,
	Registers, StaticShared, DynamicShared, LocalMemory,
}, Throughput)

// MetricByName finds a metric of [Metrics].
func MetricByName(name string) (Metric, bool) {
	i := slices.IndexFunc(Metrics, func(m Metric) bool { return m.Name == name })
	if i < 0 {
		return Metric{}, false
	}
	return Metrics[i], true
}

// Series is one metric of one subject in one session.
type Series struct {
	Subject Subject
	Metric  Metric
	// Values holds one sample per run, in the order of [Session.Runs]. NaN: the run has no such subject (the
	// kernel was never launched); it is never read as zero.
	Values Values
	// Role is the path of NVTX ranges ("step/compute") around most launches of a kernel, "" outside all ranges.
	Role string
	// Raw is the name of a kernel as the profiler wrote it, where that differs from the subject's; baselines do not keep it.
	Raw string `json:",omitempty"`
	// Note is evidence worth a reader's attention, such as the memory kinds of copies ("pageable to device").
	Note string
}

// Values is one sample per run; a NaN is null in JSON.
type Values []float64

// MarshalJSON writes NaN, a run without the subject, as null.
func (v Values) MarshalJSON() ([]byte, error) {
	out := make([]*float64, len(v))
	for i := range v {
		if !math.IsNaN(v[i]) {
			out[i] = &v[i]
		}
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads null as NaN.
func (v *Values) UnmarshalJSON(b []byte) error {
	var in []*float64
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	*v = make(Values, len(in))
	for i, x := range in {
		(*v)[i] = math.NaN()
		if x != nil {
			(*v)[i] = *x
		}
	}
	return nil
}

// Environment is where and how a session was measured. It names no host, user, path or environment variable.
type Environment struct {
	GPU  string // model as the driver names it, MIG profile included
	GPUs int    // devices that the workload used
	// Processes is how many processes of one run launched kernels at the same time (ranks), 0 where that is not known.
	Processes int    `json:",omitempty"`
	GPUHash   string // first 8 hexadecimal digits of SHA-256 of the GPU's UUIDs; "" where the profile has none
	Driver    string
	CUDA      string
	// Tool is what the numbers come from and its version: "nsys 2025.3.2", "ncu 2025.3.1", "torch.profiler 2.6". The
	// first word is [Environment.Profiler].
	Tool   string
	Schema string // version of the export's schema
	// Mode is how the profiler was set where that changes what it measures ("clock none, cache all, replay kernel"), ""
	// where there is nothing to choose.
	Mode string `json:",omitempty"`
	// GraphTrace is how CUDA graphs were traced: "node", "graph", or "" where the workload used none.
	GraphTrace string
	// Tick is the resolution of the GPU timer in ns.
	Tick float64
	// ClockMHz is the median SM clock during the runs, 0 where it was not sampled.
	ClockMHz int
	Start    time.Time // UTC start of the first run, zero where unknown
}

// Profiler is the source of the numbers without its version: "nsys", "ncu", "nsys-stats", "torch.profiler". Two of them
// measure the same kernel differently, so that one is never held against another. "" is unknown.
func (e *Environment) Profiler() Profiler {
	name, _, _ := strings.Cut(e.Tool, " ")
	return Profiler(name)
}

// HashUUID gives the short form in which a GPU's identity may be written down.
func HashUUID(uuids ...string) string {
	uuids = slices.DeleteFunc(slices.Clone(uuids), func(s string) bool { return s == "" })
	if len(uuids) == 0 {
		return ""
	}
	slices.Sort(uuids)
	sum := sha256.Sum256([]byte(strings.Join(slices.Compact(uuids), "\n")))
	return hex.EncodeToString(sum[:4])
}

// Run is one fresh process of the workload.
type Run struct {
	// Skipped of Total steps (or launches, where Session.Step is "") were warm-up.
	Skipped, Total int
	// Launches counts the kernel launches that remained.
	Launches int
	// Steady is false where the series never settled.
	Steady bool
}

// Session is the runs taken on one GPU host close together in time.
type Session struct {
	// ID names the session inside a baseline. It is "" until the session is stored.
	ID string
	Environment
	// Step is the NVTX range that the workload repeats; "" where samples are per run instead of per step.
	Step string
	// Warmup is the rule by which the warm-up was skipped: "auto", a number, or "capture".
	Warmup string
	Runs   []Run
	Series []Series // sorted by subject and metric, one of each
	Commit string   // of the code that was measured, "" if unknown
	Reason string   // why it was recorded or accepted
}

// SortSeries puts the series into the stable order that files and reports rely on.
func (s *Session) SortSeries() {
	slices.SortFunc(s.Series, func(a, b Series) int {
		return cmp.Or(a.Subject.Compare(b.Subject), cmp.Compare(a.Metric.Name, b.Metric.Name))
	})
}

// Find returns the series of a metric of a subject.
func (s *Session) Find(subject Subject, metric string) (Series, bool) {
	i := slices.IndexFunc(s.Series, func(x Series) bool { return x.Subject == subject && x.Metric.Name == metric })
	if i < 0 {
		return Series{}, false
	}
	return s.Series[i], true
}

// Check reports the first thing that makes the session unfit to be judged or stored: no runs, a series of another
// length than the runs, a value that is negative or infinite, a series without any value, or a duplicate.
func (s *Session) Check() error {
	if len(s.Runs) == 0 {
		return Refuse("the session holds no run", "record the workload again")
	}
	type key struct {
		Subject
		metric string
	}
	seen := make(map[key]bool, len(s.Series))
	for _, x := range s.Series {
		err := x.check(len(s.Runs))
		k := key{x.Subject, x.Metric.Name}
		if err == nil && seen[k] {
			err = errors.New("listed twice")
		}
		if err != nil {
			return fmt.Errorf("%s %s: %w", x.Subject.ID(), x.Metric.Name, err)
		}
		seen[k] = true
	}
	return nil
}

// check is what [Session.Check] says of one series of so many runs.
func (x *Series) check(runs int) error {
	if len(x.Values) != runs {
		return fmt.Errorf("%d values for %d runs", len(x.Values), runs)
	}
	some := false
	for _, v := range x.Values {
		if v < 0 || math.IsInf(v, 0) {
			return fmt.Errorf("value %v is not a measurement", v)
		}
		some = some || !math.IsNaN(v)
	}
	if !some {
		return errors.New("no run has a value")
	}
	return nil
}

// SameSession reports whether two environments belong to one session: the same GPU, measured within an hour. Without
// a GPU identity or a time on both sides the answer is no.
func SameSession(a, b Environment) bool {
	if a.GPUHash == "" || a.GPUHash != b.GPUHash || a.Start.IsZero() || b.Start.IsZero() {
		return false
	}
	return a.Start.Sub(b.Start).Abs() <= time.Hour
}

// Refusal is the error of a measurement that must not be judged: it leads to "no verdict", never to a pass.
type Refusal struct {
	Reason string // what is wrong, one sentence without a final full stop
	Next   string // what to do about it
	Key    string // of the [Reason] behind it, "" where there is no list
}

// Refuse makes a *Refusal that is in no list.
func Refuse(reason, next string) error { return &Refusal{Reason: reason, Next: next} }

func (r *Refusal) Error() string {
	if r.Next == "" {
		return r.Reason
	}
	return r.Reason + "; " + r.Next
}
