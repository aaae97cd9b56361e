// Package model holds the data that readers produce and the decision uses: traces, sessions and refusals.
//
// A [Trace] is the run of one process, launch by launch, as a profiler recorded it. A [Session] is the reduction of
// several traces: one value per run for each metric of each subject. Decision, files and reports work on sessions; only
// readers and the reduction see traces. [Session.Check] checks a session from elsewhere.
//
// Values are in base units (ns, B, B/s, Hz, %, counts); a value that was not measured is NaN, never zero. A measurement
// that must not be judged is a [Refusal] of one of [Kinds].
package model

import (
	"bytes"
	"cmp"
	"compress/gzip"
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

	"github.com/nsgate/nsgate/gate/internal/devicecode"
	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
)

// Series is one metric of one subject in one session.
type Series struct {
	Subject measure.Subject `json:"subject"`
	Metric  measure.Metric  `json:"metric"`
	// Values holds one sample per run, in the order of [Session.Runs]. NaN: the run has no such subject (the kernel was
	// never launched). It counts as zero only for the launches and the total time of a kernel that another profiled run
	// of the session has. A metric is of profiled runs or of unprofiled ones, see [measure.Metric.Unprofiled], and NaN
	// in the others.
	Values Values `json:"values"`
	// Role is the path of NVTX ranges ("step/compute") around most launches of a kernel, "" outside all ranges.
	Role string `json:"role,omitempty"`
	// Raw is the name of a kernel as the profiler wrote it, if that differs from the subject's; baselines do not keep
	// it.
	Raw string `json:"raw,omitempty"`
	// Note is evidence worth a reader's attention, such as the memory kinds of copies ("pageable to device"), and the
	// unit of an output.
	Note string `json:"note,omitempty"`
	// Unmeasured is true where two branches changed the subject and their merge was never measured.
	Unmeasured bool `json:"unmeasured,omitempty"`
}

// Unit is that of the values, which a program prints behind an output; "" where it is not known.
func (s *Series) Unit() string {
	return measure.Either(s.Subject.Scope == measure.ScopeOutput, s.Note, s.Metric.Unit)
}

// Values is one sample per run; a NaN is null in JSON.
type Values []float64

// Environment is where and how a session was measured. It names no host, user, path or environment variable.
type Environment struct {
	GPU  string `json:"gpu"`  // model as the driver names it, MIG profile included
	GPUs int    `json:"gpus"` // devices that the workload used
	// Processes is how many processes of one run launched kernels at the same time (ranks), 0 where that is not known.
	Processes int `json:"processes,omitempty"`
	// first 8 hexadecimal digits of SHA-256 of the GPU's UUIDs; "" where the profile has none
	GPUHash string `json:"gpu_hash"`
	Hardware
	HostLoad
	Driver string `json:"driver"`
	CUDA   string `json:"cuda"`
	// Tool is the profiler and its version, with a space between them: "torch.profiler 2.6".
	Tool   string `json:"tool"`
	Schema string `json:"schema"` // version of the export's schema
	// Mode is the profiler's settings that change its measurement ("clock none, cache all, replay kernel"), or the
	// [Settings] of a load; "" without such settings.
	Mode string `json:"mode,omitempty"`
	// GraphTrace is how CUDA graphs were recorded: "node", "graph", or "" where the workload used none.
	GraphTrace string `json:"graph_trace"`
	// Tick is the resolution of the GPU timer in ns.
	Tick float64 `json:"tick"`
	// ClockMHz is the median SM clock during the runs, 0 where it was not sampled.
	ClockMHz int       `json:"clock_mhz"`
	Start    time.Time `json:"start,omitempty,omitzero"` // UTC start of the first run, zero where unknown
}

// WithoutNVTX is the [Environment.Mode] of a session without NVTX ranges, because the profiler loses events with them.
const WithoutNVTX = "without NVTX"

// HashUUID is the short form of a GPU's identity for files.
func HashUUID(uuids ...string) string {
	uuids = distinct(uuids)
	if len(uuids) == 0 {
		return ""
	}
	sum := sha256.Sum256([]byte(strings.Join(uuids, "\n")))
	return hex.EncodeToString(sum[:4])
}

// CUDAVersion is the text of a version of CUDA that its API gives as a number: 13.0 for 13000. It is "" for others.
func CUDAVersion(number string) string {
	n, err := strconv.Atoi(number)
	if err != nil || n < 1000 || n > 1_000_000 {
		return ""
	}
	return fmt.Sprintf("%d.%d", n/1000, n%1000/10)
}

// Run is one fresh process of the workload.
type Run struct {
	// Unprofiled is true for a run without a profiler. Only its outputs and its duration are known.
	Unprofiled bool `json:"untraced,omitempty"`
	// Skipped of Total steps (or launches, where Session.Step is "") were warm-up.
	Skipped int `json:"skipped"`
	Total   int `json:"total"`
	// Launches counts the kernel launches that remained.
	Launches int `json:"launches"`
	// Steady is false where the series never settled.
	Steady bool `json:"steady"`
	// Start is when it began, zero where that is not known.
	Start time.Time `json:"start,omitempty,omitzero"`
}

// Session is the runs taken on one GPU host close together in time.
type Session struct {
	// ID names the session inside a baseline. It is "" until the session is stored.
	ID string `json:"id"`
	Environment
	// Step is the NVTX range that the workload repeats; "" where samples are per run instead of per step.
	Step string `json:"step"`
	// Warmup is the rule that skipped the warm-up: "auto", a number, or "capture".
	Warmup string   `json:"warmup"`
	Runs   []Run    `json:"runs"`   // the profiled ones, then the unprofiled ones
	Series []Series `json:"series"` // sorted by subject and metric, one of each
	// Code lists the device code of the build that ran, sorted; nil where the workload names no files with device code.
	Code []devicecode.Kernel `json:"code,omitempty"`
	// Operations are the operations of kernels that XLA named, in the order of the program; nil where they are not
	// known.
	Operations []Operation `json:"operations,omitempty"`
	// Inputs is a hash of the files that the program is made of or reads and one of the settings of its measurement,
	// with a blank between; "" where the workload names no such files.
	Inputs string `json:"inputs,omitempty"`
	// Inherited lists the names of variables and limits that the program inherited, each with a short hash of its
	// value, as a query string; "" where Inputs is.
	Inherited string `json:"inherited,omitempty"`
	// Command is a hash of the words that started the program, eight hexadecimal digits, "" where nsgate did not start
	// it.
	Command string `json:"command,omitempty"`
	// Longest is how long the longest of the runs took from the start of its process to the end, 0 where that is not
	// known.
	Longest time.Duration `json:"longest_run_ns,omitempty"`
	Commit  string        `json:"commit"` // of the code that was measured, "" if unknown
	Reason  string        `json:"reason"` // why it was recorded or accepted
	// LeftOut is what the files of the session hold beside its series; baselines do not keep it.
	LeftOut []LeftOut `json:"left_out,omitempty"`
	// Accepted is true if it holds only the accepted part of a measurement.
	Accepted bool `json:"accepted,omitempty"`
	// Anchor names the state that drift is counted from ("v1.2", "yes"); "" for none.
	Anchor string `json:"anchor,omitempty"`
}

// SortSeries puts the series into the stable order of files and reports, in a list of its own.
func (s *Session) SortSeries() {
	if s.distinct() {
		return
	}
	order := make([]*Series, len(s.Series)) // a series is large to move
	for i := range s.Series {
		order[i] = &s.Series[i]
	}
	slices.SortFunc(order, inOrder)
	s.Series = measure.Map(order, func(x *Series) Series { return *x })
}

// distinct reports whether the series are sorted already, without duplicates.
func (s *Session) distinct() bool {
	for i := 1; i < len(s.Series); i++ {
		a, b := &s.Series[i-1], &s.Series[i]
		if a.Subject == b.Subject && a.Metric.Name >= b.Metric.Name || a.Subject != b.Subject &&
			a.Subject.Compare(b.Subject) > 0 {
			return false
		}
	}
	return true
}

func inOrder(a, b *Series) int {
	return cmp.Or(a.Subject.Compare(b.Subject), cmp.Compare(a.Metric.Name, b.Metric.Name))
}

// Find returns the series of a metric of a subject.
func (s *Session) Find(subject measure.Subject, metric string) (Series, bool) {
	i := slices.IndexFunc(s.Series, func(x Series) bool { return x.Subject == subject && x.Metric.Name == metric })
	if i < 0 {
		return Series{}, false
	}
	return s.Series[i], true
}

// Profiled is how many of the session's runs a profiler recorded; they come first.
func (s *Session) Profiled() int {
	n := 0
	for n < len(s.Runs) && !s.Runs[n].Unprofiled {
		n++
	}
	return n
}

// Judged is how many runs the session has for a comparison: the profiled ones, or all where none was profiled.
func (s *Session) Judged() int {
	if n := s.Profiled(); n > 0 {
		return n
	}
	return len(s.Runs)
}

// Of are the values of a series in the runs that its metric is measured in.
func (s *Session) Of(x *Series) Values {
	if x.Metric.Unprofiled() {
		return x.Values[s.Profiled():]
	}
	return x.Values[:s.Profiled()]
}

// Check gives the first error that makes the session unfit to be judged or stored: no runs, a profiled run after an
// unprofiled one, a series of another length than the runs, a value that is negative or infinite or of a run that
// cannot have it, a series without any value, a duplicate, or more than [MostSubjects] subjects.
func (s *Session) Check() error {
	if len(s.Runs) == 0 {
		return errors.New("the session holds no run; record the workload again")
	}
	if len(s.Operations) > MostOperations {
		return fmt.Errorf("the session has %d operations, more than %d", len(s.Operations), MostOperations)
	}
	profiled := s.Profiled()
	for i, run := range s.Runs[profiled:] {
		if !run.Unprofiled {
			return fmt.Errorf("run %d was profiled and stands behind an unprofiled one; put the profiled ones first",
				profiled+i+1)
		}
	}
	in, distinct, subjects := Session{Series: s.Series}, s.distinct(), 0
	in.SortSeries()
	sorted := in.Series
	for i := range sorted {
		x := &sorted[i]
		if i == 0 || x.Subject != sorted[i-1].Subject {
			if subjects++; subjects > MostSubjects {
				return Refuse(TooLarge, "record fewer steps, or a part of the program",
					"the session holds more than %d kernels, ranges and other subjects", MostSubjects)
			}
		}
		err := x.Check(len(s.Runs), profiled)
		if err == nil && !distinct && i > 0 && inOrder(&sorted[i-1], x) == 0 {
			err = errors.New("listed twice")
		}
		if err != nil {
			return fmt.Errorf("%s %s: %w", x.Subject.ID(), x.Metric.Name, err)
		}
	}
	return nil
}

// CheckSums gives an error where the kernels of a run do not add up to its GPU time: a file from elsewhere lacks some,
// or a value was changed. A part of a measurement ([Session.Accepted]) and single launches add up to nothing.
func (s *Session) CheckSums() error {
	const apart = 0.01 // of the GPU time; what nsgate writes is rounded to less
	whole, ok := s.Find(measure.Workload, measure.GPUTime.Name)
	if !ok || s.Accepted || s.Counted() {
		return nil
	}
	sums := make([]float64, s.Profiled())
	for i := range s.Series {
		if x := &s.Series[i]; x.Subject.Scope == measure.ScopeKernel && x.Metric.Name == measure.Total.Name {
			for run := range sums {
				if v := x.Values[run]; !math.IsNaN(v) {
					sums[run] += v
				}
			}
		}
	}
	for run, sum := range sums {
		if of := whole.Values[run]; math.Abs(sum-of) > apart*of {
			return fmt.Errorf("the kernels of run %d take %s, and its GPU time is %s", run+1,
				measure.Quantity(sum, "ns"), measure.Quantity(of, "ns"))
		}
	}
	return nil
}

// Check is [Session.Check] for one series; the first of the runs are profiled.
func (x *Series) Check(runs, profiled int) error {
	if len(x.Values) != runs {
		return fmt.Errorf("%d values for %d runs", len(x.Values), runs)
	}
	some, bare := false, x.Metric.Unprofiled()
	for i, v := range x.Values {
		if v < 0 || math.IsInf(v, 0) {
			return fmt.Errorf("value %v is not a measurement", v)
		}
		if unprofiled := i >= profiled; !math.IsNaN(v) && unprofiled != bare {
			kind := measure.Either(unprofiled, "unprofiled", "profiled")
			return fmt.Errorf("run %d has a value, and %s is not measured in a run that was %s", i+1, x.Metric.Name,
				kind)
		}
		some = some || !math.IsNaN(v)
	}
	return measure.Either(!some, errors.New("no run has a value"), nil)
}

// SameSession reports whether two environments belong to one session: the same GPU, measured within an hour. Without
// a GPU identity or a time on both sides the answer is no.
func SameSession(a, b Environment) bool {
	if a.GPUHash == "" || a.GPUHash != b.GPUHash || a.Start.IsZero() || b.Start.IsZero() {
		return false
	}
	return Close(a.Start, b.Start)
}

// Close reports whether two times are not known to be more than an hour apart, which ends a session.
func Close(a, b time.Time) bool { return a.IsZero() || b.IsZero() || a.Sub(b).Abs() <= time.Hour }

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
	err := json.Unmarshal(b, &in)
	*v = make(Values, len(in))
	for i, x := range in {
		(*v)[i] = math.NaN()
		if x != nil {
			(*v)[i] = *x
		}
	}
	return err
}

// SessionList is sessions, whose JSON is compressed: base64 of gzip of a list.
type SessionList []Session

// MarshalJSON compresses the list.
func (l SessionList) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer // which takes everything
	z := gzip.NewWriter(&b)
	err := cmp.Or(json.NewEncoder(z).Encode([]Session(l)), z.Close())
	text, _ := json.Marshal(b.Bytes())
	return text, err
}

// UnmarshalJSON reads a plain list too. It refuses more than 128 MiB.
func (l *SessionList) UnmarshalJSON(text []byte) error {
	if bytes.HasPrefix(text, []byte{'['}) {
		return json.Unmarshal(text, (*[]Session)(l))
	}
	var packed, list []byte
	err := json.Unmarshal(text, &packed)
	z, damaged := gzip.NewReader(bytes.NewReader(packed))
	if err = cmp.Or(err, damaged); err == nil {
		list, err = input.All(z, 128<<20)
	}
	return cmp.Or(err, json.Unmarshal(list, (*[]Session)(l)))
}

// Check names the first session of a file from elsewhere that fails [Session.Check] or holds no value.
func (l SessionList) Check() error {
	for i := range l {
		err := l[i].Check()
		if err == nil && len(l[i].Series) == 0 {
			err = errors.New("it holds no value")
		}
		if err != nil {
			return fmt.Errorf("session %d of the head: %w", i+1, err)
		}
	}
	return nil
}

// Unprofiled is a run without a profiler.
type Unprofiled struct {
	Start time.Time
	Wall  time.Duration
	// Overlapped is that of [Trace]: Wall is no measure.
	Overlapped bool
	Outputs    []float64 // one for each [measure.Output] of the workload, in their order
	Units      []string  // of the outputs as they are printed, "" for one that is not known; nil for none
	Results    []Series  // of a benchmark harness, with one value each
	Load       string    // settings of the harness's load, see [Environment.Mode]
	LeftOut    []LeftOut // of the results
}
