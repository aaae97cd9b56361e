package reason

import (
	"strings"

	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/measure"
)

// Matched says how a kernel was put together with those of the baseline, see [result.Finding.Match].
type Matched struct{ By, Range string }

func (r Matched) String() string {
	switch r.By {
	case "role":
		return "judged by its place in range " + r.Range
	case "rest":
		return "judged as all removed kernels against all new ones"
	case "name":
		return "judged with all kernels of this short name"
	case "stem":
		return "judged with all kernels of this name, whatever their generated numbers"
	}
	return "launched with another geometry, so judged by its total time"
}

type WarnOnly struct{ Rule string }

func (r WarnOnly) String() string { return "the policy only warns of it (" + r.Rule + ")" }

type TotalNotWorse struct {
	Metric string
	Change result.Number
}

func (r TotalNotWorse) String() string {
	return "the " + result.Title(r.Metric) + " is not worse (" + r.Change.Change() + "), so it does not fail the gate"
}

type UnderImpact struct{ Share, Impact result.Number }

func (r UnderImpact) String() string {
	return r.Share.Percent() + " of GPU time is under the impact floor of " + r.Impact.Percent() + ", so it does not fail the gate"
}

type UnderStep struct {
	Change result.Number
	Unit   string
	Impact result.Number
}

func (r UnderStep) String() string {
	return r.Change.In(r.Unit) + " is less than " + r.Impact.Percent() + " of the step, the impact floor, so it does not fail the gate"
}

type Traded struct {
	Metric, Kernel string
	Change, High   result.Number
}

func (r Traded) String() string {
	return "traded: the " + result.Title(r.Metric) + " of " + r.Kernel + " got better (" + r.Change.Change() + ", at most " + r.High.Change() +
		"), so it does not fail the gate"
}

// Fused is a kernel that took over the work of kernels that are gone from its range. Change is that of all of them together, at most.
type Fused struct {
	Gone   []string
	Change result.Number
}

func (r Fused) String() string {
	return "together with " + strings.Join(r.Gone, ", ") + ", gone from the same place, it is not longer than its limit allows (at most " +
		r.Change.Change() + "), so it does not fail the gate"
}

type Rehomed struct{ Range string }

func (r Rehomed) String() string {
	return "kernels moved in or out of range " + r.Range + ", and none that stayed got slower, so it does not fail the gate"
}

// TwoLevels is a side whose runs fall on two levels. New is true where the baseline's do not.
type TwoLevels struct {
	Side      string
	Some, All int
	Low       result.Number
	Unit      string
	Above     result.Number
	New       bool
}

func (r TwoLevels) String() string {
	s := "the " + side(r.Side) + " is bimodal: " + result.Number(r.Some).Text() + " of " + measure.Count(r.All, "run") + " at " + r.Low.In(r.Unit) +
		", the others " + r.Above.Change()
	if r.New {
		s += "; the baseline is not"
	}
	return s
}

// Outlier is a side with one run far from the others; Change is not known where these are zero.
type Outlier struct {
	Side   string
	Change result.Number
}

func (r Outlier) String() string {
	if !r.Change.Known() {
		return "one run of the " + side(r.Side) + " is not zero, the others are"
	}
	return "one run of the " + side(r.Side) + " is " + r.Change.Change() + " off the others"
}

type MoreRuns struct{ Runs int }

func (r MoreRuns) String() string { return measure.Count(r.Runs, "run") + " a side would decide" }

type TooManyRuns struct{ Most int }

func (r TooManyRuns) String() string {
	return "more than " + measure.Count(r.Most, "run") + " a side would be needed"
}

type TooFine struct{ MDE result.Number }

func (r TooFine) String() string {
	return "the limit is smaller than what this data can detect (" + r.MDE.Percent() + ")"
}

type OtherBatch struct{ Spread result.Number }

func (r OtherBatch) String() string {
	return "measured back to back, and batches differ by about " + r.Spread.Percent() + ": measure the base build beside the head"
}

// NotReplayed is a side whose steps were not replayed, or with an error that is too large; the error is unknown without a replay.
type NotReplayed struct {
	Side  string
	Error result.Number
}

func (r NotReplayed) String() string {
	s := "the replay of the " + side(r.Side) + "'s steps is " + r.Error.Percent() + " wrong"
	if !r.Error.Known() {
		s = "the " + side(r.Side) + "'s steps were not replayed"
	}
	return s + ", so their dependence on the host is unknown"
}

// NoHostSpeed says why the speeds of two hosts are not compared by the host code of their steps: "tools", "code", "few", "uneven" or
// "far".
type NoHostSpeed struct{ Why string }

func (r NoHostSpeed) String() string {
	why := map[string]string{
		"tools":  "the profiler or the driver differs",
		"code":   "less than half of the host code is the same",
		"few":    "too little of the host code is the same",
		"uneven": "parts of the host code differ by different factors",
		"far":    "one is more than 2.7× as fast",
	}[r.Why]
	return "the hosts' speeds are not comparable (" + why + ")"
}

// OtherHost is a comparison that the difference between sessions hides. Hosts is "different", "times" or "unknown".
type OtherHost struct {
	Hosts  string
	Spread result.Number
}

func (r OtherHost) String() string {
	s := hosts(r.Hosts) + ", which differ by about " + r.Spread.Percent() + ": "
	if r.Hosts != "times" {
		s += "record the baseline on a second host, or "
	}
	return s + "measure the base build beside the head"
}

func hosts(known string) string {
	switch known {
	case "different":
		return "baseline and head come from different hosts"
	case "times":
		return "baseline and head are sessions of one GPU at different times"
	}
	return "baseline and head may come from different hosts"
}

// StepPart is the part of a step that most of its change is.
type StepPart struct {
	Class, Where string
	Change       result.Number
	Unit         string
}

func (r StepPart) String() string {
	return "mostly " + result.CauseName(r.Class) + result.Given(r.Where, ", ", r.Where) + ": " + r.Change.In(r.Unit) + " more"
}

// Calls is how often a CUDA function is called.
type Calls struct {
	Call       string
	Base, Head result.Number
	Range      string
}

func (r Calls) String() string {
	return r.Call + " " + r.Base.Text() + " → " + r.Head.Text() + result.Given(r.Range, ", in ", r.Range)
}

type Attribute struct {
	Metric, Unit string
	Base, Head   result.Number
}

func (r Attribute) String() string {
	s := result.Title(r.Metric) + " " + r.Base.Text() + " → " + r.Head.Text()
	if r.Unit != "per thread" {
		s += " " + r.Unit
	}
	return s
}

type Memory struct{ Base, Head string }

func (r Memory) String() string { return "memory " + r.Base + " → " + r.Head }

type Geometry struct{ Base, Head string }

func (r Geometry) String() string { return "geometry " + r.Base + " → " + r.Head }

// Names are the kernels that were judged together.
type Names struct{ Base, Head []string }

func (r Names) String() string { return result.Few(r.Base) + " → " + result.Few(r.Head) }
