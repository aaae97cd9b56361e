package reason

import (
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/result"
)

type Versions struct{ What, Base, Head string }

func (r Versions) String() string {
	return measure.Either(r.What == "CUDA", "", "the ") + r.What + " differs: " + r.Base +
		" in the baseline, " + r.Head + " in the head"
}

type OldBase struct{ Days, Most int }

func (r OldBase) String() string {
	return "the baseline was measured " + measure.Count(r.Days, "day") + " before the head, more than the " +
		measure.Count(r.Most, "day") + " of max_age: record it anew"
}

type OtherCommand struct{}

func (r OtherCommand) String() string {
	return "the command differs from the baseline's: if it does other work, record the baseline anew, or give each " +
		"command a workload"
}

type Steps struct{ Base, Head int }

func (r Steps) String() string {
	return "the number of steps differs: " + result.Number(r.Base).Text() + " in the baseline, " +
		result.Number(r.Head).Text() + " in the head, in the shortest run of each"
}

// LostLaunches is launches of a side, in a step or run, without a record of the profiler or a row of a table; Share is
// the largest part of the GPU time that they can have taken.
type LostLaunches struct {
	Side            string
	Launches, Share result.Number
	Rows            bool
}

func (r LostLaunches) String() string {
	launches := r.Launches.Text() + measure.Either(r.Launches == 1, " launch", " launches")
	lost := "the profiler lost the record of " + launches + " of the " + r.Side + ", up to "
	if r.Rows {
		lost = "rows of " + launches + " are missing in the tables of the " + r.Side +
			", whose CorrId leaves out their numbers: up to "
	}
	return lost + measure.Share(float64(r.Share)) + " of the GPU time"
}

// Regrouped is a head whose runs do the same launches in Ratio times as many steps.
type Regrouped struct{ Ratio result.Number }

func (r Regrouped) String() string {
	return "the head does the same launches in " + r.Ratio.Text() +
		" times as many steps: its values are for as much work as a step of the baseline"
}

type Repeats struct {
	Base, Head int
	Ratio      result.Number // that the sums of the head are multiplied by
}

func (r Repeats) String() string {
	if r.Base == r.Head && r.Ratio > 0 {
		return "a run repeats its kernels " + measure.Count(r.Base, "time") + " on both sides, and a part of others: " +
			"sums of the head are multiplied by " + r.Ratio.Text() + ", for as much as in the baseline"
	}
	return "a run repeats its kernels " + measure.Count(r.Base, "time") + " in the baseline, " +
		measure.Count(r.Head, "time") + " in the head: sums of the head are for as many as in the baseline"
}

// OtherRepeats is a loop that runs of baseline and head repeat in other numbers, without a proportion between their
// sums.
type OtherRepeats struct{ Base, Head result.Number }

func (r OtherRepeats) String() string {
	return "the loop runs " + measure.Count(int(r.Base), "time") + " a run in the baseline and " + r.Head.Text() +
		" in the head: sums of a run are for different amounts of work; run the same number of iterations"
}

// CommonShift is a change that several kernels share. Hosts is "same", or as in [OtherHost].
type CommonShift struct {
	Moved, Kernels int
	Change         result.Number
	Names          []string
	Hosts          string
}

func (r CommonShift) String() string {
	s := result.Number(r.Moved).Text() + " of " + measure.Count(r.Kernels, "kernel") + " moved together by about " +
		r.Change.Change() + " (" + strings.Join(r.Names, ", ") + "): "
	if r.Hosts == "same" || r.Hosts == "times" {
		return s + "another clock, power limit or neighbour does that more often than code"
	}
	return s + hosts(r.Hosts) + ", and hosts of one model differ like this, above all in memory-bound kernels"
}

type OutlierRun struct {
	Run    int
	Side   string
	Change result.Number
}

func (r OutlierRun) String() string {
	return "run " + result.Number(r.Run).Text() + " of the " + side(r.Side) + " is " + r.Change.Change() +
		" off in nearly all of its kernels: it is left out, and the chance of a false alarm halved"
}

// OutlierValues are runs of the head that are outliers in some metrics or kernels, by at most so much.
type OutlierValues struct {
	Runs, Of []string
	Change   result.Number
}

func (r OutlierValues) String() string {
	several := len(r.Runs) > 1
	return measure.Either(several, "runs ", "run ") + strings.Join(r.Runs, ", ") + " of the head" +
		measure.Either(several, " are outliers in ", " is an outlier in ") + result.Few(r.Of) + " (up to " +
		r.Change.Change() + "): the comparison limits it to the range of the other runs"
}

type ComparedSingle struct {
	Side, Other string
	Runs        int
}

func (r ComparedSingle) String() string {
	return "1 run of the " + side(r.Side) + ": compared by the spread of the " + side(r.Other) + "'s " +
		measure.Count(r.Runs, "run")
}

type Moved struct{ Slower, Faster []string }

func (r Moved) String() string {
	return "work moved between kernels: " + result.Few(r.Slower) + " slower, " + result.Few(r.Faster) +
		" faster by about as much, and the workload's GPU time is within its limit"
}

type OutputDisagrees struct {
	Output     string
	Unprofiled result.Number // change of the output
	Profiled   result.Number // change of the step
	StepWorse  bool
}

func (r OutputDisagrees) String() string {
	if r.StepWorse {
		return "the profiled step changed by " + r.Profiled.Change() + ", and unprofiled " + r.Output +
			" is no worse than its limit allows (" + r.Unprofiled.Change() +
			"): profiling slows the CPU, so the unprofiled runs decide"
	}
	return "unprofiled " + r.Output + " got worse (" + r.Unprofiled.Change() +
		"), and the profiled step is no worse than its limit allows (" + r.Profiled.Change() +
		"): what got slower lies outside the steps, or profiling hides it"
}

type StepsCover struct {
	Range string
	Share result.Number
}

func (r StepsCover) String() string {
	return "the steps (" + r.Range + ") are " + r.Share.Percent() +
		" of the head's GPU time; the rest is judged by the limits of its sections"
}

// LaunchRate is the period in ns below which a step is the time of its launches.
type LaunchRate struct{ Least result.Number }

func (r LaunchRate) String() string {
	return "launch-bound: a step under " + measure.Quantity(float64(r.Least), "ns") +
		" takes what the CPU takes to launch it, which differs between processes; kernels and GPU time decide"
}

// StartUp is the part of the GPU time of a run without ranges that is before its first loop.
type StartUp struct{ Share result.Number }

func (r StartUp) String() string {
	return r.Share.Percent() + " of the head's GPU time is start-up, before the first loop: it is judged as one sum, " +
		"and no kernel of it alone"
}

type SkipsMore struct{ Base, Head result.Number }

func (r SkipsMore) String() string {
	return measure.Count(int(r.Head), "step of the head is", "steps of the head are") + " warm-up, " +
		r.Base.Text() + " of the baseline: the warm-up is not compared"
}

type OtherCycle struct{ Base, Head result.Number }

func (r OtherCycle) String() string {
	return "step time: not judged, because the cycle repeats " + measure.Count(int(r.Base), "time") +
		" a run in the baseline and " + r.Head.Text() + " in the head: mark the step with an NVTX range"
}

// OneStep is a step that the side Without lacks and the other one has.
type OneStep struct{ Without string }

func (r OneStep) String() string {
	return "no step was found in the " + r.Without + ", and the other side has one: GPU time and run time of whole " +
		"runs are judged, kernels and steps are not; mark the step with an NVTX range"
}

// OnOneSide names metrics that only one side has. Outputs is true where the names are outputs.
type OnOneSide struct {
	Names         []string
	With, Without string
	Outputs       bool
}

func (r OnOneSide) String() string {
	s := strings.Join(r.Names, ", ") + ": not judged, because only the " + side(r.With) + " has " +
		measure.Either(len(r.Names) == 1, "it", "them") + "; "
	switch {
	case r.Without == "base" && r.Outputs:
		return s + "record the baseline again, or " + BesideHead
	case r.Without == "base":
		return s + "record the baseline again in the same way"
	case r.Outputs:
		return s + "check the policy's outputs and the number of unprofiled runs"
	}
	return s + "measure the head in the same way"
}

// Omitted are numbers and rows of files that were not judged.
type Omitted struct {
	Why   string
	Names []string
}

func (r Omitted) String() string {
	const most = 20
	left := len(r.Names) - most
	return "left out, " + r.Why + ": " + strings.Join(r.Names[:min(len(r.Names), most)], ", ") +
		measure.Either(left > 0, ", "+strconv.Itoa(left)+" more", "")
}

// SomeRuns are rows of benchmark files that only some runs of a side have.
type SomeRuns struct {
	Side  string
	Names []string
}

func (r SomeRuns) String() string {
	return "only some runs of the " + side(r.Side) + " have " + result.Few(r.Names)
}

type NeedsProfiler struct {
	Metric, Rule string
	Sampled      bool
}

func (r NeedsProfiler) String() string {
	m, _ := measure.MetricByName(r.Metric)
	return r.Rule + " limits " + m.Title() + ", which was not measured: " + m.HowTo()
}

// RuleIdle is a rule or ratio that limits nothing. Here is true where another of the Of workloads of the policy may
// have its subject. Unmet is true where a gate does not pass without it. First is the rule that decides in its place,
// Kind that of a subject of another kind with the name, Floor one that is in no unit of what the rule is about. Nearest
// is the name of its kind that it was meant for, "" where none is near.
type RuleIdle struct {
	Rule, First, Kind, Floor, Nearest string
	Here, Unmet                       bool
	Drift                             bool // it limits drift, which has too few sessions: of Names, nil for all
	Names                             []string
	Of                                int
}

func (r RuleIdle) String() string {
	switch {
	case r.Drift && r.Names == nil:
		return r.Rule + " limits drift, which is not judged: that takes two sessions of other times since an anchor"
	case r.Drift:
		return r.Rule + " limits the drift of " + result.Few(r.Names) +
			", which is not judged: that takes three sessions that have it, with the head, and two runs in one"
	case r.Floor != "":
		return r.Rule + ": nothing that it is about has the unit of its floor of " + r.Floor
	case r.Here:
		return r.Rule + " has nothing to judge here; another workload may have it"
	case r.First != "":
		return r.Rule + " has nothing to judge: " + r.First + " comes first and is about the same"
	case r.Kind != "":
		return r.Rule + " has nothing to judge: only the " + r.Kind + " of that name was measured; select it with " +
			r.Kind
	}
	return r.Rule + " has nothing to judge: nothing " +
		measure.Either(strings.HasPrefix(r.Rule, "--"), "that it limits", "by that name") + " was measured" +
		result.Given(r.Nearest, `; the nearest is "`, r.Nearest, `"`)
}

// RuleOfSteps is rules on kernels and steps where only one side has a step.
type RuleOfSteps struct{ Rules []string }

func (r RuleOfSteps) String() string {
	return strings.Join(r.Rules, ", ") +
		": not judged, because kernels and steps are not compared where only one side has a step"
}

type SameRuns struct{ Same, Runs int }

func (r SameRuns) String() string {
	return part(r.Same, r.Runs, "of the head is a run", "of the head are runs") +
		" of the baseline too: that they agree proves nothing"
}

type Looked struct{ Look, Looks, Runs, Most int }

func (r Looked) String() string {
	n := func(n int) string { return result.Number(n).Text() }
	return "judged at look " + n(r.Look) + " of at most " + n(r.Looks) + ", after " + n(r.Runs) + " of at most " +
		n(r.Most) + " runs; the chance of a false alarm is shared out among the looks"
}

type OnBoard struct{ Kept, All int }

func (r OnBoard) String() string {
	return result.Number(r.Kept).Text() + " of " + measure.Count(r.All, "baseline session") +
		measure.Either(r.Kept == 1, " was", " were") + " measured on the head's board and " +
		measure.Either(r.Kept == 1, "is", "are") + " compared with it; the others are left out"
}

type OtherBoard struct{ Base, Head []string }

func (r OtherBoard) String() string {
	return "the baseline was measured on another board (" + strings.Join(r.Base, ", ") + ", here " +
		strings.Join(r.Head, ", ") +
		"); boards of one model differ by 1.5 % in memory-bound kernels: record here, or " + BesideHead
}

type UnknownGPU struct{ Model string }

func (r UnknownGPU) String() string {
	return "only one side names its GPU (" + r.Model + "): whether the other was measured on the same model is unknown"
}
