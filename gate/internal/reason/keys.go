package reason

import "github.com/nsgate/nsgate/gate/internal/result"

// The reasons of verdicts, of outcomes, what qualifies an outcome, facts, doubts, device code.
var (
	_ = result.Keyed("slower", Slower{}, "The gate fails: something is slower beyond its limit.")
	_ = result.Keyed(result.KeyUndecided, Undecided{}, "The gate passes with undecided comparisons.")
	_ = result.Keyed("none-slower", NoneSlower{}, "The gate passes: nothing is slower beyond its limit.")
	_ = result.Keyed("workloads", Workloads{}, "The verdict of several workloads.")
	_ = result.Keyed("drifting", Drifting{},
		"Changes since the oldest session add up to more than noise.")
	_ = result.Keyed("drifted", Drifted{}, "Changes since the anchor add up to more than the limit.")
	_ = result.Keyed(result.KeyOverDrift, OverDrift{},
		"Changes since the anchor add up to more than a rule allows.")

	_ = result.Keyed("beyond", Beyond{}, "The change is beyond the limit and certain.")
	_ = result.Keyed("within", Within{}, "The change is smaller than the limit, the floor or the timer's resolution.")
	_ = result.Keyed("better", Better{}, "The change is an improvement beyond the limit.")
	_ = result.Keyed("open", Open{}, "The interval of the change contains the limit.")
	_ = result.Keyed("uncertain", Uncertain{},
		"The change is beyond the limit and not certain.")
	_ = result.Keyed("like-hosts", LikeHosts{}, "Hosts of one kind differ as much as the change.")
	_ = result.Keyed("most-runs", MostRuns{},
		"Most head runs are beyond the limit and every baseline run.")
	_ = result.Keyed(result.KeyNotJudged, NotJudged{}, "Too few runs to judge the change.")
	_ = result.Keyed("few-samples", FewSamples{}, "Too few runs have the metric to know its spread.")
	_ = result.Keyed("outlier-as-a-whole", OutlierAsAWhole{},
		"The only run of a side is an outlier in nearly all kernels.")
	_ = result.Keyed("single-run", SingleRun{},
		"Only one run shows the change, which can be chance.")
	_ = result.Keyed(result.KeyHostDenied, HostDenied{},
		"The head's host withheld CPU time.")
	_ = result.Keyed("slow-runs", SlowRuns{},
		"Runs of the head are slower by different amounts.")
	_ = result.Keyed(result.KeyWithAll, WithAll{}, "All kernels moved by about as much.")
	_ = result.Keyed("unbounded", Unbounded{}, "The head lacks a metric that the policy bounds.")
	_ = result.Keyed("bounds-kept", BoundsKept{}, "The head's value is within the policy's bounds.")
	_ = result.Keyed("bounds-broken", BoundsBroken{}, "The head's value is outside the policy's bounds.")
	_ = result.Keyed("one-sided", OneSided{}, "A side lacks a metric that the policy limits.")
	_ = result.Keyed(result.KeyReplaced, Replaced{}, "Other kernels take the place of one that is gone.")
	_ = result.Keyed(result.KeyReplaces, Replaces{}, "A new kernel takes the place of others.")

	_ = result.Keyed("matched", Matched{},
		"How a kernel was matched, where not by name and geometry.")
	_ = result.Keyed("warn-only", WarnOnly{}, "A rule only warns of the change.")
	_ = result.Keyed("under-cost", UnderCost{}, "The change costs too little to fail the gate.")
	_ = result.Keyed("traded", Traded{}, "A whole that contains the slower part is not worse.")
	_ = result.Keyed("open-whole", OpenWhole{}, "A whole that would make up for the slower part is undecided.")
	_ = result.Keyed("excused", Excused{}, "The whole is within its limit without the parts that the policy allows.")
	_ = result.Keyed("two-levels", TwoLevels{}, "The runs of a side are bimodal.")
	_ = result.Keyed("outlier", Outlier{}, "One run of a side is an outlier.")
	_ = result.Keyed(result.KeyMoreRuns, MoreRuns{}, "The number of runs a side that would decide.")
	_ = result.Keyed("too-many-runs", TooManyRuns{}, "More runs would be needed than are sensible.")
	_ = result.Keyed("too-fine", TooFine{}, "The limit is smaller than what the data can detect.")
	_ = result.Keyed("other-batch", OtherBatch{}, "The sides were measured back to back.")
	_ = result.Keyed("not-replayed", NotReplayed{},
		"How much the step depends on the host is unknown.")
	_ = result.Keyed("other-host", OtherHost{},
		"The sides come from different hosts or times.")

	_ = result.Keyed("step-part", StepPart{}, "The part of the step that changed most.")
	_ = result.Keyed(result.KeyCalls, Calls{}, "How often a CUDA function is called.")
	_ = result.Keyed(result.KeyAttribute, Attribute{}, "A property of the launch or of the device code changed.")
	_ = result.Keyed(result.KeyMemory, Memory{}, "The kinds of memory of a copy changed.")
	_ = result.Keyed("geometry", Geometry{}, "The geometry of the launch changed.")
	_ = result.Keyed(result.KeyNames, Names{}, "The kernels that were judged together.")

	_ = result.Keyed("versions", Versions{}, "A driver, tool or other version differs.")
	_ = result.Keyed("old-base", OldBase{}, "The baseline is older than max_age.")
	_ = result.Keyed("other-command", OtherCommand{}, "The command differs.")
	_ = result.Keyed("steps", Steps{}, "The number of steps differs.")
	_ = result.Keyed("lost-launches", LostLaunches{}, "Records of launches are missing.")
	_ = result.Keyed("regrouped", Regrouped{}, "The head does the same launches in another number of steps.")
	_ = result.Keyed("repeats", Repeats{}, "The head repeats its kernels another number of times.")
	_ = result.Keyed("other-repeats", OtherRepeats{},
		"The head repeats its loop another number of times, and is not scaled.")
	_ = result.Keyed("common-shift", CommonShift{}, "Several kernels changed by about as much.")
	_ = result.Keyed("outlier-run", OutlierRun{}, "A run is an outlier in nearly all kernels and left out.")
	_ = result.Keyed("outlier-values", OutlierValues{}, "Runs of the head are outliers in some metrics or kernels.")
	_ = result.Keyed("compared-single", ComparedSingle{},
		"A single run is compared by the spread of the other side.")
	_ = result.Keyed("moved", Moved{}, "Work moved between kernels.")
	_ = result.Keyed("output-disagrees", OutputDisagrees{},
		"An output and the profiled step disagree.")
	_ = result.Keyed("steps-cover", StepsCover{}, "The share of the steps in the head's GPU time.")
	_ = result.Keyed("launch-rate", LaunchRate{}, "The step is launch-bound and not judged.")
	_ = result.Keyed("start-up", StartUp{}, "The share of GPU time before the first loop.")
	_ = result.Keyed("skips-more", SkipsMore{}, "The sides have different warm-up.")
	_ = result.Keyed("other-cycle", OtherCycle{},
		"The sides differ in the number of cycles: the step is not judged.")
	_ = result.Keyed("on-one-side", OnOneSide{}, "Only one side has this metric or output.")
	_ = result.Keyed(result.KeyOmitted, Omitted{}, "Numbers or rows that are not judged.")
	_ = result.Keyed(result.KeySomeRuns, SomeRuns{}, "Rows that some runs lack.")
	_ = result.Keyed("needs-profiler", NeedsProfiler{}, "A rule limits a metric that was not measured.")
	_ = result.Keyed("rule-idle", RuleIdle{}, "A rule limits nothing.")
	_ = result.Keyed("same-runs", SameRuns{}, "Runs of the head are runs of the baseline too.")
	_ = result.Keyed("looked", Looked{}, "The data was judged after a part of the planned runs.")
	_ = result.Keyed("on-board", OnBoard{}, "Only sessions on the head's board are compared.")
	_ = result.Keyed("other-board", OtherBoard{}, "The baseline was measured on another board.")
	_ = result.Keyed("unknown-gpu", UnknownGPU{}, "Only one side names its GPU.")

	_ = result.Keyed("code-limit", CodeLimit{}, "Device code is beyond a limit of the policy.")
	_ = result.Keyed("code-differs", CodeDiffers{},
		"How many kernels have other device code, beside a measurement.")
	_ = result.Keyed("code-changed", CodeChanged{},
		"How many kernels have other device code, where nothing was measured.")
	_ = result.Keyed("code-of-kernel", CodeOfKernel{}, "The device code of a kernel changed.")
	_ = result.Keyed("code-of-more", CodeOfMore{}, "The device code of more kernels changed.")
	_ = result.Keyed("code-changed-here", CodeChangedHere{}, "The device code of the judged kernel changed.")
	_ = result.Keyed("same-code", SameCode{}, "The time changed, the device code did not.")
	_ = result.Keyed("same-code-of-all", SameCodeOfAll{}, "No kernel's device code changed.")
)
