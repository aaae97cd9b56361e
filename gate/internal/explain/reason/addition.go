package reason

import (
	"cmp"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// BesideHead is the next step where more runs on this host do not decide. Reports add the command for it.
const BesideHead = "measure the base build beside the head"

// Matched says how a kernel was put together with those of the baseline, see [result.Finding.Match].
type Matched struct{ By, Range string }

func (r Matched) String() string {
	return cmp.Or(map[string]string{
		"role":   "judged by its place in range " + r.Range,
		"rest":   "judged as all removed kernels against all new ones",
		"name":   "judged with all kernels of this short name",
		"choice": "judged with the kernels that other runs launch in its place",
		"stem":   "judged with all kernels of this name, whatever their generated numbers",
	}[r.By], "launched with another geometry, so judged by its total time")
}

type WarnOnly struct{ Rule string }

func (r WarnOnly) String() string { return "the policy only warns of it (" + r.Rule + ")" }

// UnderCost is a slower part that costs too little of a step or run to fail the gate.
type UnderCost struct{ Cost, Least result.Number }

func (r UnderCost) String() string {
	return "costs " + r.Cost.Percent() + " of the time, less than the " + r.Least.Percent() +
		" that fail a gate, so it does not fail the gate"
}

// Traded is a whole that contains a slower part and is not worse itself, or within its limit: by Change, and by High at
// most.
type Traded struct {
	Metric, Kernel string
	Change, High   result.Number
}

func (r Traded) String() string {
	return "traded: the " + result.Title(r.Metric) + " of " + r.Kernel +
		measure.Either(r.Change > 0, " is within its limit", " is not worse") + " (" + r.Change.Change() +
		", at most " + r.High.Change() + "), so it does not fail the gate"
}

// OpenWhole is an undecided whole that contains a slower part, and changed by Change.
type OpenWhole struct {
	Metric, Kernel string
	Change         result.Number
}

func (r OpenWhole) String() string {
	return "slower, and the " + result.Title(r.Metric) + " of " + r.Kernel + " (" + r.Change.Change() +
		"), which contains it, is undecided"
}

// Excused is a whole that is slower by parts that the policy allows. Change is that of all else in it.
type Excused struct {
	Names  []string
	Change result.Number
}

func (r Excused) String() string {
	return "without " + result.Few(r.Names) + ", which the policy allows, it is " + r.Change.Change() +
		", so it does not fail the gate"
}

// TwoLevels is a side whose runs fall on two levels: Some of All at Low, of the other side In of Of. Mode is the
// verdict on the worse level: it "appeared", "disappeared", its "share" changed, or "both" sides have it.
type TwoLevels struct {
	Mode      string
	Side      string
	Some, All int
	Low       result.Number
	Unit      string
	Above     result.Number
	New       bool // only the head has both levels
	In, Of    int
	Follows   string // common to the runs in the mode, "" where it is not known
	Needed    int    // runs a side that tell the shares apart on one host, 0 where that is not said
}

var modes = map[string]string{"appeared": "a mode appeared: ", "disappeared": "a mode disappeared: ",
	"share": "the share of a mode changed: ", "both": "both sides have a mode: "}

func (r TwoLevels) String() string {
	s := modes[r.Mode] + "the " + side(r.Side) + " is bimodal: " + result.Number(r.Some).Text() + " of " +
		measure.Count(r.All, "run") + " at " + r.Low.In(r.Unit) +
		measure.Either(r.All-r.Some == 1, ", the other ", ", the others ") + r.Above.Change()
	other := "; of the other side " + result.Number(r.In).Text() + " of " + result.Number(r.Of).Text()
	s += measure.Either(r.New, "; the baseline is not", measure.Either(r.Of > 0, other, ""))
	return s + result.Given(r.Follows, "; the mode follows ", r.Follows) +
		measure.Either(r.Needed > 0, "; on one host "+measure.Count(r.Needed, "run")+" a side would decide", "")
}

// Outlier is a side with one run far from the others; Change is not known where these are zero.
type Outlier struct {
	Side   string
	Change result.Number
}

func (r Outlier) String() string {
	return "one run of the " + side(r.Side) + " is " +
		measure.Either(r.Change.Known(), r.Change.Change()+" off the others", "not zero, the others are")
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
	return "measured back to back, and batches differ by about " + r.Spread.Percent() + ": " + BesideHead
}

// NotReplayed is a side whose steps were not replayed, or with an error that is too large; the error is unknown without
// a replay.
type NotReplayed struct {
	Side  string
	Error result.Number
}

func (r NotReplayed) String() string {
	return measure.Either(r.Error.Known(), "the replay of the "+side(r.Side)+"'s steps is "+r.Error.Percent()+" wrong",
		"the "+side(r.Side)+"'s steps were not replayed") + ", so their dependence on the host is unknown"
}

// OtherHost is a comparison that the difference between sessions hides. Hosts is "different", "times" or "unknown".
type OtherHost struct {
	Hosts  string
	Spread result.Number
}

func (r OtherHost) String() string {
	return hosts(r.Hosts) + ", which differ by about " + r.Spread.Percent() + ": " +
		measure.Either(r.Hosts != "times", "record the baseline on a second host, or ", "") + BesideHead
}

func hosts(known string) string {
	are := map[string]string{"different": "come from different hosts",
		"times": "are sessions of one host at different times"}
	return "baseline and head " + cmp.Or(are[known], "may come from different hosts")
}

// StepPart is the part of a step that most of its change is.
type StepPart struct {
	Class, Where string
	Change       result.Number
	Unit         string
}

func (r StepPart) String() string {
	return "mostly " + result.CauseName(r.Class) + result.Given(r.Where, ", ", r.Where) + ": " + r.Change.In(r.Unit) +
		" more"
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
	return result.Title(r.Metric) + " " + r.Base.Text() + " → " + r.Head.Text() +
		measure.Either(r.Unit != "per thread", " "+r.Unit, "")
}

type Memory struct{ Base, Head string }

func (r Memory) String() string { return "memory " + r.Base + " → " + r.Head }

// IsPageable reports whether the kinds of memory of a copy include pageable memory.
func IsPageable(kinds string) bool {
	return strings.Contains(strings.ToLower(kinds), model.Pageable.String())
}

type Geometry struct{ Base, Head string }

func (r Geometry) String() string { return "geometry " + r.Base + " → " + r.Head }

// Names are the kernels that were judged together.
type Names struct{ Base, Head []string }

func (r Names) String() string { return result.Few(r.Base) + " → " + result.Few(r.Head) }
