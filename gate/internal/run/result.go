package run

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/report/cells"
	"github.com/nsgate/nsgate/gate/internal/run/device"
	"github.com/nsgate/nsgate/gate/internal/run/profiler"
)

// Run is one fresh process of the workload.
type Run struct {
	Base       bool          `json:"base"`       // of the base build
	Unprofiled bool          `json:"unprofiled"` // without a profiler
	Pid        int           `json:"pid"`
	Start      time.Time     `json:"start"`
	Duration   time.Duration `json:"duration"`
	ExitCode   int           `json:"exit_code"` // -1 where a signal ended it
	Signal     string        `json:"signal"`    // that ended it, such as "segmentation fault"; "" for none
	TimedOut   bool          `json:"timed_out"`
	// MemoryKills is how many processes the kernel killed for want of memory meanwhile.
	MemoryKills int64 `json:"memory_kills"`
	// Left is the number of processes that it left behind and that were ended.
	Left int `json:"left"`
	// Output is standard output and standard error as they came, valid UTF-8, without its middle where it was long.
	Output string `json:"output"`
	// Found holds the matches of the outputs' patterns, for each in order and no more than two; nil in profiled runs.
	Found [][]string `json:"found,omitempty"`
	// Units are those behind the numbers, "" for none that is known.
	Units []string `json:"units,omitempty"`
	// Results are those of a harness in the run with the settings of its load, Harness is its name, and Unread says why
	// its files were not read.
	Results []model.Series  `json:"results,omitempty"`
	LeftOut []model.LeftOut `json:"left_out,omitempty"`
	Load    string          `json:"load,omitempty"`
	Harness string          `json:"harness,omitempty"`
	Unread  string          `json:"unread,omitempty"`
	// Held is the wait of the run for its turn, after it had started beside others; nil where it started in its turn.
	Held *Held `json:"held,omitempty"`
	// Opened is the time from its start until it opened the GPU, and Memory what it had resident until then, in bytes:
	// of the first run, 0 where that was not seen.
	Opened time.Duration `json:"opened,omitempty"`
	Memory int64         `json:"memory,omitempty"`
	// Together is how many of the runs that follow may start before their turn, of the first run.
	Together int `json:"together,omitempty"`
	// Server is the server that the run loaded, nil of a workload without one. Start is then the server's, and Duration
	// that of its client.
	Server *Served   `json:"server,omitempty"`
	States [2]string `json:"states,omitzero"` // of the files of a base build, before and after, "" where not known
	// Cut says that ctx ended during the run: nothing of it is kept.
	Cut bool `json:"-"`
	// Error says why the run could not be started, "" where it was.
	Error string `json:"error"`
}

func (r Run) failed() bool {
	return r.Error != "" || r.Server.failed() || r.ExitCode != 0 || r.Signal != "" ||
		r.TimedOut || r.misread() >= 0 || r.Unread != ""
}

// Held is the time between the start of a run, which overlapped those of others, and its turn.
type Held struct {
	Started time.Time `json:"started"` // the process; Run.Start is when its turn came
	At      time.Time `json:"at"`      // when it was stopped, zero where it had ended by itself
	// Spent is the time that it ran before.
	Spent time.Duration `json:"spent"`
	Pids  []int         `json:"pids"` // its processes, those that ended included
}

// served reports whether the program of the run loaded a server.
func (r Run) served() bool { return r.Server != nil }

// end is when the run ended.
func (r Run) end() time.Time {
	if r.Held != nil {
		return r.Start.Add(r.Duration - r.Held.Spent)
	}
	if r.served() {
		return r.Server.Ready.Add(r.Duration)
	}
	return r.Start.Add(r.Duration)
}

// misread is the first output, counted from 0, that was not printed once and as a number; -1 for none.
func (r Run) misread() int {
	return slices.IndexFunc(r.Found, func(found []string) bool {
		return len(found) != 1 || math.IsNaN(outputValue(found[0]))
	})
}

// Result is a finished session.
type Result struct {
	// Recorded are the options of the profiler after necessary changes: further sessions of one comparison use the
	// same.
	Recorded profiler.Options
	// Starts is [Options.Starts], 1 where it did not work.
	Starts int
	// Repeated is the warning about a second measurement of the session, with its reason; "" without one.
	Repeated string
	// Traces holds, for each run in order, its processes that launched kernels: one, or one a rank; none for unprofiled
	// runs.
	Traces [][]model.Trace
	Runs   []Run
	// Loaded are those of the Warnings that are about the load of the host.
	Loaded []string
	// Base and Head are the unprofiled runs.
	Base, Head []model.Unprofiled
	// Operations are those of the kernels that XLA and torch.compile named, of base and head, see [Plan.Dump].
	Operations [2][]model.Operation
	Undumped   error // why kernels are known by their names alone where a dump was asked for
	GPU        device.State
	Warnings   []string
	Elapsed    time.Duration
	// Stages is how long each stage took; RunStarted is the time in runs.
	Stages map[Stage]time.Duration

	// Place is where the unprofiled runs were taken, of a session without profiled ones.
	Place model.Environment

	load model.HostLoad // during the runs
}

// Split returns the traces of the base's runs and of the head's, each in the order of the runs.
func (r *Result) Split() (base, head []model.Trace) {
	for i, traces := range r.Traces {
		if r.Runs[i].Base {
			base = append(base, traces...)
		} else {
			head = append(head, traces...)
		}
	}
	return base, head
}

// InRuns is the time of runs that had their turn or started; time in which several did counts once.
func (r *Result) InRuns() (total time.Duration) {
	var runs []model.Interval
	for _, x := range r.Runs {
		if x.Start.IsZero() { // on other hosts
			total += x.Duration
			continue
		}
		from := x.end().Add(-x.Duration)
		if h := x.Held; h != nil {
			from = x.Start
			runs = append(runs, model.Interval{Start: h.Started.UnixNano(), End: h.Started.Add(h.Spent).UnixNano()})
		}
		runs = append(runs, model.Interval{Start: from.UnixNano(), End: x.end().UnixNano()})
	}
	for _, x := range model.Union(runs) {
		total += time.Duration(max(0, x.End-x.Start))
	}
	return total
}

// Stage is a point in the course of a session.
type Stage string

// The stages of a session, in order.
const (
	Starting    Stage = "starting"     // the profiler is being started
	RunStarted  Stage = "run started"  // Event.Run says which
	Printed     Stage = "printed"      // Event.Output is the last line of the run
	RunFinished Stage = "run finished" // Event.Run says which
	RunFailed   Stage = "run failed"   // Event.Run says which
	Finishing   Stage = "finishing"    // the profiler writes its report
	Exporting   Stage = "exporting"    // the profiler makes its report readable
	Reading     Stage = "reading"
	Repeating   Stage = "repeating" // the whole session once more: the profiler lost events; Event.Text says how
)

// The stages around sessions. Event.Text says what they are about.
const (
	Begun   Stage = "begun"   // something that takes long
	Failed  Stage = "failed"  // a run or a build; Event.Output is its output
	Hint    Stage = "hint"    // worth knowing, and keeps nothing from going on
	Warning Stage = "warning" // a doubt about the measurement
	Spent   Stage = "spent"   // the time of the measurement by its parts
	Done    Stage = "done"    // the measurement has ended, well or not
)

// Event is a step of progress.
type Event struct {
	Stage      Stage
	Profiler   string        // its name, in a session
	Run, Runs  int           // run i of N, counted from 1
	Unprofiled bool          // that run is without a profiler
	Elapsed    time.Duration // since the session began
	Expected   time.Duration // until the last run ends, from finished runs or [Options.Usual]; 0 where it is unknown
	Text       string
	Output     string // untrusted
}

// refused is an error around a *model.Refusal.
type refused struct{ error }

// Unwrap returns the *model.Refusal.
func (e *refused) Unwrap() error { return e.error }

// WorkloadError is a session that ended because a run failed. It wraps a *model.Refusal and carries what the
// workload printed, which is untrusted.
type WorkloadError struct {
	Run   Run
	Index int // of the run, counted from 1
	Runs  int
	refused
}

// assign hands each trace to its run: by pid, and the processes that a run started itself by time.
func assign(traces []model.Trace, runs []Run) ([][]model.Trace, error) {
	out := make([][]model.Trace, len(runs))
	first := slices.IndexFunc(runs, func(r Run) bool { return !r.Unprofiled })
	for _, t := range traces {
		i := slices.IndexFunc(runs, func(r Run) bool {
			return r.Pid == t.Process || r.Server != nil && r.Server.Pid == t.Process
		})
		if i < 0 {
			i = slices.IndexFunc(runs, func(r Run) bool {
				return r.Held != nil && slices.Contains(r.Held.Pids, t.Process)
			})
		}
		if i < 0 && !t.Start.IsZero() {
			for k, r := range runs { // the last run that had begun
				if !r.Unprofiled && !t.Start.Before(r.Start) {
					i = k
				}
			}
		}
		if i < 0 {
			return nil, model.Refuse(model.StrayProcess,
				"let the workload start its processes itself, not through a service",
				"process %d launched kernels and belongs to no run", t.Process)
		}
		out[i] = append(out[i], t)
	}
	for i, ts := range out {
		switch {
		case runs[i].Unprofiled, runs[i].Cut:
			continue
		case len(ts) == 0:
			return nil, model.Refuse(model.RunWithoutKernels,
				"make sure that every run uses the GPU and ends by itself, not by a signal or _exit, then measure "+
					"again",
				"run %d of %d has no kernels in the profile, although other runs have", i+1, len(runs))
		case len(ts) != len(out[first]):
			return nil, model.Refuse(model.RanksDiffer,
				"run the workload once before, so that nothing is compiled or tuned while it is measured",
				"run %d of %d has %d processes with kernels, run 1 has %d", i+1, len(runs), len(ts), len(out[first]))
		}
		slices.SortStableFunc(ts, func(a, b model.Trace) int { return firstDevice(a) - firstDevice(b) })
	}
	return out, nil
}

func firstDevice(t model.Trace) int {
	if len(t.Launches) == 0 {
		return 0
	}
	return int(t.Launches[0].Device)
}

// outputValue reads a number as programs print it, NaN where it is none that a measurement can have.
func outputValue(text string) float64 {
	text = strings.TrimSpace(text)
	v, err := strconv.ParseFloat(text, 64)
	if n, form := cells.Parse(text); form == cells.Thousands {
		v, err = n.Float(1), nil
	}
	return measure.Either(err != nil || v < 0 || math.IsInf(v, 0), math.NaN(), v)
}
