package app

import "time"

// Stage is a point of a measurement.
type Stage string

// The stages. A session goes from Starting to Done.
const (
	Starting    Stage = "starting"     // the profiler is being started
	RunStarted  Stage = "run started"  // Event.Run says which
	RunFinished Stage = "run finished" // Event.Run says which
	RunFailed   Stage = "run failed"   // Event.Run says which
	Counting    Stage = "counting"     // a run under Nsight Compute begins; Event.Side says of what
	Finishing   Stage = "finishing"    // nsys writes its report
	Exporting   Stage = "exporting"    // nsys turns the report into SQLite
	Reading     Stage = "reading"      // what it exported
	Repeating   Stage = "repeating"    // nsys lost events: the whole session once more, without the NVTX domain TSL
	Done        Stage = "done"         // the measurement has ended, well or not

	Checking    Stage = "checking"     // of several workloads Event.Text is next
	Failed      Stage = "failed"       // a run or a build; Event.Text says which, Event.Output what it printed
	Looking     Stage = "looking"      // undecided after Event.Run runs: measuring up to Event.Runs
	Pairing     Stage = "pairing"      // the baseline answered Event.Text: both builds are measured interleaved
	CheckingOut Stage = "checking out" // the base's revision Event.Text
	Building    Stage = "building"     // the base's revision Event.Text
	Explaining  Stage = "explaining"   // what regressed is profiled, in the build Event.Side
	Tracing     Stage = "tracing"      // the head runs once more, for the call stacks of what regressed
	Bisecting   Stage = "bisecting"    // Event.Text is the next commit to measure, of Event.Runs at most
	Hint        Stage = "hint"         // Event.Text is worth knowing, and keeps nothing from going on
	Warning     Stage = "warning"      // Event.Text
	Spent       Stage = "spent"        // Event.Text says where the time of the measurement went
)

// Event is a step of progress. Which fields are filled in depends on the stage.
type Event struct {
	Stage      Stage
	Run, Runs  int           // run i of N, counted from 1
	Elapsed    time.Duration // since the session began
	Expected   time.Duration // until the last run ends, extrapolated from finished runs; 0 before the first
	Unprofiled bool          // that run is without a profiler
	Side       string        // "base", "head", or "" where there is only one
	Text       string        // what it is about
	Output     string        // what a workload or a build printed: untrusted
}

// tell passes an event to an observer, which may be nil.
func tell(observe func(Event), e Event) {
	if observe != nil {
		observe(e)
	}
}
