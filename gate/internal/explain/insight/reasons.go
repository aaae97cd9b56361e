package insight

import (
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/result"
)

type UnlikeSessions struct{ Shown, Sessions int }

func (r UnlikeSessions) String() string {
	return result.Number(r.Shown).Text() + " of " + measure.Count(r.Sessions, "session") +
		measure.Either(r.Shown == 1, " is", " are") +
		" shown: the others have another GPU, profiler or step than the newest"
}

type Restless struct{ Some, Runs int }

func (r Restless) String() string {
	return "no steady state in " + result.Number(r.Some).Text() + " of " + measure.Count(r.Runs, "run") +
		": their values may include warm-up"
}

// Skipped is the warm-up that was left out.
type Skipped struct {
	Least, Most, Of int
	Step            string
}

func (r Skipped) String() string {
	return result.Number(r.Least).Text() + measure.Either(r.Least != r.Most, " to "+result.Number(r.Most).Text(), "") +
		" of " + result.Number(r.Of).Text() + measure.Either(r.Step != "", " steps", " launches") + " in every run"
}

type Profiled struct{ Launches int }

func (r Profiled) String() string {
	return measure.Count(r.Launches, "launch", "launches") + " profiled in every run"
}

type Unmatched struct{ Some, All result.Number }

func (r Unmatched) String() string {
	return r.Some.Text() + " of " + r.All.Text() +
		" collectives a rank are not the same in every rank: their time includes waiting for each other"
}

// Straggler is the rank that computes longest.
type Straggler struct {
	Rank             string
	Slower, Base     result.Number
	Too              bool
	Range            string
	Kernels          int
	Kernel           string
	More             result.Number
	Unit             string
	Launches, Others result.Number
}

func (r Straggler) String() string {
	s := r.Rank + " is " + r.Slower.Percent() + " slower than the others" + result.Given(r.Range, " in ", r.Range)
	if r.Kernels > 0 {
		launches := " " + r.Others.Text() + " → " + r.Launches.Text() + " launches,"
		s += " (" + r.Kernel + measure.Either(r.Launches != r.Others, launches, "") + " " + r.More.In(r.Unit) +
			" more in this rank" +
			measure.Either(r.Kernels > 1, ", and "+measure.Count(r.Kernels, "kernel")+" in all", "") + ")"
	}
	return s + inBaseline(r.Base, r.Too)
}

// inBaseline says how much slower a rank was in the baseline, too beyond the limit.
func inBaseline(base result.Number, too bool) string {
	return measure.Either(too, "; the baseline had it too, "+base.Change(),
		base.Given("; in the baseline "+base.Change()))
}

// LateRank is a rank that starts its collectives late without computing longer.
type LateRank struct {
	Rank         string
	Slower, Base result.Number
	Too          bool
	More, Copies result.Number
	Unit, Per    string
}

func (r LateRank) String() string {
	s := r.Rank + " computes no longer than the others, and takes " + r.Slower.Percent() +
		" longer between collectives: " + r.More.In(r.Unit) + " a " + r.Per
	no := measure.Either(r.Copies > 0, r.Copies.In(r.Unit), "no")
	return s + r.Copies.Given("; its copies take "+no+" longer") + inBaseline(r.Base, r.Too)
}

// StragglerWait is how long the other ranks wait for one. Other is the only other rank, "" where there are several.
type StragglerWait struct {
	Rank, Other string
	Wait, Base  result.Number
	Unit        string
	In, Per     string
}

func (r StragglerWait) String() string {
	waits := measure.Either(r.Other != "", r.Other+" waits", "the others wait")
	return waits + " " + r.Wait.In(r.Unit) + " a " + r.Per +
		" for it" + result.Given(r.In, " in ", r.In) + r.Base.Given(", in the baseline "+r.Base.In(r.Unit))
}

type TooShort struct {
	Ranges []string
	Period result.Number
	Unit   string
}

func (r TooShort) String() string {
	return "no GPU metrics in ranges shorter than the sampling period of " + r.Period.In(r.Unit) + ": " +
		result.Few(r.Ranges)
}

type PeakAt struct{ Head, Base string }

func (r PeakAt) String() string {
	return "it peaks in range " + r.Head + result.Given(r.Base, "; in the baseline in ", r.Base)
}

// MemoryGrew is memory that a range requested and kept until the peak.
type MemoryGrew struct {
	Range      string
	Base, Head result.Number
	Unit       string
}

func (r MemoryGrew) String() string {
	return "requested " + measure.Either(r.Range != "", "in range "+r.Range, "outside these ranges") +
		" and held until then: " + r.Base.In(r.Unit) + " → " + r.Head.In(r.Unit)
}

type LowUtilisation struct{ Share result.Number }

func (r LowUtilisation) String() string {
	return "the GPU is busy for only " + r.Share.Percent() + " of the step"
}

type GPUIdle struct {
	Share        result.Number
	Class, Where string
}

func (r GPUIdle) String() string {
	return "the GPU is idle for " + r.Share.Percent() + " of the step, mostly " + result.CauseName(r.Class) +
		result.Given(r.Where, ": ", r.Where)
}

type LaunchStarved struct {
	Share result.Number
	Where string
}

func (r LaunchStarved) String() string {
	return "the GPU waits for the CPU for " + r.Share.Percent() + " of the step" +
		result.Given(r.Where, ", mostly ", r.Where)
}

type Synchronising struct {
	Share result.Number
	Where string
}

func (r Synchronising) String() string {
	return "the GPU is idle for " + r.Share.Percent() + " of the step because the CPU waited for it, mostly " + r.Where
}

// call is a CUDA function that is called in every step.
type call struct {
	Kind  string
	Calls result.Number
	Range string
}

func (r call) String() string {
	return r.Kind + " is called " + measure.Either(r.Calls == 1, "once", r.Calls.Text()+" times") + " a step" +
		result.Given(r.Range, ", mostly in ", r.Range)
}

type SynchronisingCalls struct{ call }

type SynchronousCopies struct{ call }

func (r SynchronousCopies) String() string { return r.call.String() + ": it is not asynchronous" }

type CopyBottleneck struct {
	Kind  string
	Share result.Number
	Step  string
	Rate  result.Number
}

func (r CopyBottleneck) String() string {
	return r.Kind + " takes " + r.Share.Percent() + " of " +
		measure.Either(r.Step != "", "the step", "the GPU's work") + ", at " + r.Rate.In("B/s")
}

type ManyCopies struct {
	Kind   string
	Copies result.Number
}

func (r ManyCopies) String() string {
	return r.Copies.Text() + " times " + r.Kind + " a step, which may be one"
}

type ExposedCopies struct {
	Hidden, Time result.Number
	Unit         string
}

func (r ExposedCopies) String() string {
	return r.Hidden.Percent() + " of " + r.Time.In(r.Unit) + " of copies a step are overlapped by kernels"
}

type PageableCopies struct {
	Bytes result.Number
	Unit  string
	Kinds []string
	Step  string
}

func (r PageableCopies) String() string {
	kinds := result.Few(r.Kinds)
	return r.Bytes.In(r.Unit) + measure.Either(r.Step != "", " a step", " a run") +
		" are copied from or to pageable memory" + result.Given(kinds, " (", kinds, ")") +
		": such copies are staged and block the CPU"
}

type SmallKernels struct{ Launches, Of, Share result.Number }

func (r SmallKernels) String() string {
	return r.Launches.Text() + " of " + r.Of.Text() + " launches a step are of kernels under 10 µs, " +
		r.Share.Percent() + " of GPU time"
}

type ExposedCommunication struct{ Share, Overlap result.Number }

func (r ExposedCommunication) String() string {
	return "exposed communication takes " + r.Share.Percent() + " of the step; " + r.Overlap.Percent() +
		" of it is overlapped"
}

var (
	_ = result.Keyed("unlike-sessions", UnlikeSessions{}, "Sessions unlike the newest are not shown.")
	_ = result.Keyed("restless", Restless{}, "Runs reach no steady state.")
	_ = result.Keyed("skipped", Skipped{}, "The steps or launches left out as warm-up.")
	_ = result.Keyed("profiled", Profiled{}, "The number of launches that Nsight Compute profiled.")
	_ = result.Keyed("unmatched", Unmatched{}, "Collectives are not the same in every rank.")
	_ = result.Keyed("straggler", Straggler{}, "The rank that computes longest.")
	_ = result.Keyed("late-rank", LateRank{}, "The rank that starts its collectives late.")
	_ = result.Keyed("straggler-wait", StragglerWait{}, "How long the other ranks wait for one.")
	_ = result.Keyed("too-short", TooShort{}, "Ranges shorter than the sampling period have no GPU metrics.")
	_ = result.Keyed("peak-at", PeakAt{}, "The range in which device memory peaks.")
	_ = result.Keyed("memory-grew", MemoryGrew{}, "A range requests more of the peak device memory.")
	_ = result.Keyed("low-utilisation", LowUtilisation{}, "A pattern.")
	_ = result.Keyed("gpu-idle", GPUIdle{}, "A pattern.")
	_ = result.Keyed("launch-starved", LaunchStarved{}, "A pattern.")
	_ = result.Keyed("synchronising", Synchronising{}, "A pattern.")
	_ = result.Keyed("synchronising-calls", SynchronisingCalls{}, "A pattern.")
	_ = result.Keyed("synchronous-copies", SynchronousCopies{}, "A pattern.")
	_ = result.Keyed("copy-bottleneck", CopyBottleneck{}, "A pattern.")
	_ = result.Keyed("many-copies", ManyCopies{}, "A pattern.")
	_ = result.Keyed("exposed-copies", ExposedCopies{}, "A pattern.")
	_ = result.Keyed("pageable-copies", PageableCopies{}, "A pattern.")
	_ = result.Keyed("small-kernels", SmallKernels{}, "A pattern.")
	_ = result.Keyed("exposed-communication", ExposedCommunication{}, "A pattern.")
)
