// Package reason says why a comparison has its outcome and a gate its verdict: one type a reason, with its sentence.
// The sentence is the meaning of a type; comments describe fields.
package reason

import (
	"cmp"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// Bound is the bound of a change. By is "limit", "floor", "tick" of the timer, "run" (a part of the whole run), "count"
// (a reported count without a limit), or "one" (launch in a whole run).
type Bound struct {
	By   string
	Size result.Number
	Unit string
}

func (b Bound) String() string {
	return cmp.Or(map[string]string{
		"limit": "the limit of " + b.Size.Percent(),
		"floor": "the floor of " + b.Size.In(b.Unit),
		"tick":  "the timer's resolution of " + b.Size.In(b.Unit),
		"run":   "the floor of " + b.Size.In(b.Unit) + " for a part of the run",
		"count": "the " + b.Size.Percent() + " from which a count without a limit is reported",
	}[b.By], "one more in a whole run")
}

// Interval is the confidence interval of a change.
type Interval struct{ Low, High result.Number }

func (i Interval) String() string { return "interval " + i.Low.Change() + " … " + i.High.Change() }

// Bounds are the policy's bounds of a value itself, unknown where it has none.
type Bounds struct {
	AtLeast, AtMost result.Number
	Unit            string
}

func (b Bounds) String() string {
	switch {
	case !b.AtLeast.Known():
		return "at most " + b.AtMost.In(b.Unit)
	case !b.AtMost.Known():
		return "at least " + b.AtLeast.In(b.Unit)
	}
	return "between " + b.AtLeast.In(b.Unit) + " and " + b.AtMost.In(b.Unit)
}

type Beyond struct{ Bound }

func (r Beyond) String() string { return "beyond " + r.Bound.String() }

type Within struct{ Bound }

func (r Within) String() string { return "within " + r.Bound.String() }

type Better struct {
	Limit result.Number
	Time  bool
}

func (r Better) String() string {
	return measure.Either(r.Time, "faster", "better") + " by more than " + r.Limit.Percent()
}

type Open struct {
	Interval
	Bound
}

func (r Open) String() string { return r.Interval.String() + " contains " + r.Bound.String() }

type Uncertain struct {
	Interval
	Bound
	Overlap bool // of the runs of both sides, where no host is named
}

func (r Uncertain) String() string {
	return r.Interval.String() + " is beyond " + r.Bound.String() + measure.Either(r.Overlap,
		", but runs of both sides overlap", ", but not certain among so many comparisons")
}

type LikeHosts struct {
	Interval
	Bound
	Most result.Number
}

func (r LikeHosts) String() string {
	return "beyond " + r.Bound.String() + " (" + r.Interval.String() +
		"), and hosts of one kind differ here by up to " + r.Most.Percent()
}

type MostRuns struct {
	Some, All int
	Spared    int // runs of the baseline that they need not lie beyond
	Change    result.Number
	Bound
}

func (r MostRuns) String() string {
	spared := "all baseline runs but " + result.Number(r.Spared).Text()
	beyond := measure.Either(r.Spared > 0, spared, "every baseline run")
	return part(r.Some, r.All, "is", "are") + " about " + r.Change.Change() + ", beyond " + r.Bound.String() +
		" and beyond " + beyond
}

type NotJudged struct{ Base, Head int }

func (r NotJudged) String() string {
	return "not judged: " + measure.Either(r.Base == r.Head, "one run a side",
		measure.Count(r.Base, "run")+" against "+result.Number(r.Head).Text())
}

type FewSamples struct{ Scope string }

func (r FewSamples) String() string {
	return "no session has two runs with this " + r.Scope + ", so that its spread is not known"
}

type OutlierAsAWhole struct {
	Side   string
	Change result.Number
}

func (r OutlierAsAWhole) String() string {
	return "the one run of the " + side(r.Side) + " is " + r.Change.Change() + " off as a whole"
}

// SingleRun is a change that one run shows and that single runs of unchanged programs show now and then. What is
// "step", "kernel" or "copies".
type SingleRun struct{ Side, What string }

func (r SingleRun) String() string {
	what := map[string]string{"step": "a step", "kernel": "a kernel", "copies": "a copy", "output": "an output",
		"benchmark": "a row"}[r.What]
	return "only one run of the " + side(r.Side) + " shows it; in single runs of an unchanged program " + what +
		" varies as much: measure a few runs"
}

// Launched is wall time before or after the steps of a job, whose whole run changed by Change.
type Launched struct{ Change result.Number }

func (r Launched) String() string {
	return "launchers vary, and the whole run is not longer for certain (" + r.Change.Change() + ")"
}

type HostDenied struct{ Most result.Number }

func (r HostDenied) String() string {
	return "the head's host gave CPU time to others or hit its CPU limit, which explains up to " + r.Most.Percent()
}

// OtherUnit is a gain of a printed number by about the factor between two units.
type OtherUnit struct{ Times result.Number }

func (r OtherUnit) String() string {
	return "better by a factor of " + r.Times.Text() + ": another unit, or a run that does no work, does that as well"
}

// part is some of all runs of a side with a verb: one of a single run, of several, or several.
func part(some, all int, is, are string) string {
	if all == 1 {
		return "the one run " + is
	}
	return result.Number(some).Text() + " of " + measure.Count(all, "run") + " " + measure.Either(some == 1, is, are)
}

// SlowRuns are runs of the head that are slower than those of the baseline, by no common amount; or faster ones, where
// the runs of the baseline may be the delayed ones.
type SlowRuns struct {
	Some, All int
	Faster    bool
}

func (r SlowRuns) String() string {
	by := measure.Either(r.Faster, "faster", "slower")
	if r.Some == 0 {
		return "no run is " + by + " than every baseline run by more than the limit, as far as delays of the CPU go"
	}
	return part(r.Some, r.All, "is", "are") + " " + by + measure.Either(r.Some > 1, " by different amounts", "") +
		", as delays of the CPU" + measure.Either(r.Faster, " in the baseline", "") + " make them"
}

type WithAll struct {
	Bound
	Shift result.Number
}

func (r WithAll) String() string {
	return "beyond " + r.Bound.String() + ", and all kernels moved by about " + r.Shift.Change() +
		": the clock, a power limit or the host does that as well as code"
}

// RowsTogether is a change that several rows of files without a host's name share.
type RowsTogether struct {
	Together, Rows int
	Change         result.Number
}

func (r RowsTogether) String() string {
	return result.Number(r.Together).Text() + " of " + measure.Count(r.Rows, "row") + " moved together by about " +
		r.Change.Change() + ": a slower host does that as well as code, and the files name none; " +
		"if it is one, say same_host = true in the policy"
}

type Unbounded struct {
	Metric string
	Bounds
}

func (r Unbounded) String() string {
	return "the head has no " + result.Title(r.Metric) + "; the policy wants " + r.Bounds.String()
}

type BoundsKept struct{ Bounds }

func (r BoundsKept) String() string { return "the policy wants " + r.Bounds.String() }

type BoundsBroken struct {
	Some, All int
	Head      result.Number
	Bounds
}

func (r BoundsBroken) String() string {
	switch {
	case r.Some < r.All:
		return part(r.Some, r.All, "breaks", "break") + " the bound: the policy wants " + r.Bounds.String()
	case r.All == 1:
		return r.Head.In(r.Unit) + " in one run, where the policy wants " + r.Bounds.String()
	}
	return r.Head.In(r.Unit) + " where the policy wants " + r.Bounds.String()
}

// OneSided is a metric that the policy limits and that is missing in the "base", the "head", or "both".
type OneSided struct{ Metric, Without string }

func (r OneSided) String() string {
	if r.Without == "both" {
		return "neither side has " + result.Title(r.Metric) + ", which the policy limits"
	}
	return "the " + side(r.Without) + " has no " + result.Title(r.Metric) + ": measure both sides with the same metrics"
}

// Replaced says what takes the place of a kernel that is gone: in a range, of the short name Name (other instances of a
// template), or else all that is new.
type Replaced struct {
	Range, Name string
	By          []string
}

func (r Replaced) String() string {
	switch {
	case r.Range != "":
		return "its place in range " + r.Range + " is taken by " + result.Few(r.By)
	case r.Name != "":
		return "judged with all kernels of the short name " + r.Name
	}
	return "judged with all that is gone, against " + result.Few(r.By)
}

// Replaces says what a new kernel takes the place of, see [Replaced].
type Replaces struct {
	Range, Name string
	What        []string
}

func (r Replaces) String() string {
	switch {
	case r.Range != "":
		return "it takes the place of " + result.Few(r.What) + " in range " + r.Range
	case r.Name != "":
		return "judged with all kernels of the short name " + r.Name
	}
	return "judged with all that is new, against " + result.Few(r.What)
}

// side is the name of a side in a sentence.
func side(name string) string { return measure.Either(name == "base", "baseline", name) }

// Plain is a reason without arguments.
type Plain struct{ key, sentence string }

// Key is the stored name of the reason.
func (r Plain) Key() string { return r.key }

func (r Plain) String() string { return r.sentence }

func plain(key, sentence string) Plain {
	r := Plain{key, sentence}
	result.Keyed(key, r, sentence)
	return r
}

// The reasons without arguments.
var (
	CountFromZero  = plain(result.KeyCountFromZero, "was zero; no rule limits this count")
	CountsDiffer   = plain("counts-differ", "the baseline's sessions differ in this count, so it is not compared")
	FromZero       = plain("from-zero", "was zero: no relative change can be given")
	Gone           = plain("gone", "nothing in the head has its name or its place")
	IncreasedCount = plain(result.KeyIncreased, "increased; no rule limits this count")
	New            = plain("new", "nothing in the baseline has its name or its place")
	NoBaseValue    = plain("zero-in-baseline", "its value is 0 in the baseline, which is no measurement")
	NoHeadValue    = plain("zero-in-head", "its value is 0 in the head, which is no measurement")
	OneRun         = plain(result.KeyOneRun,
		"a side has one run: without the spread between runs no change can be told from noise")
	OutputDecides = plain("output-decides",
		"unprofiled runs decide about the program's speed; under a profiler the step explains")
	Shorter    = plain("shorter", "as many launches as in the baseline: kernels got shorter than 10 µs")
	Unmeasured = plain(result.KeyUnmeasured,
		"two branches changed it, and their merge was never measured: record the merge commit on the default branch")
	OneHost = plain("one-host",
		"the files name no host and are taken for those of one; where they come from different ones, set same_host "+
			"= false")
	HostNamed = plain("host-named", "same_host = false does nothing: a side names its host")
	Waiting   = plain(result.KeyWaiting,
		"most of the change is time in which issued operations waited: for an event, another stream, or another "+
			"program on the GPU")
	Zero      = plain("zero", "zero on both sides")
	ZeroFloor = plain("zero-floor", "was zero, and is less than the floor")
)
