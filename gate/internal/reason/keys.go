package reason

import "github.com/nsgate/nsgate/gate/internal/result"

// The reasons of verdicts, of outcomes, what qualifies an outcome, facts, doubts, device code.
var (
	_ = result.Keyed("slower", Slower{}, "The gate fails: subjects are slower than their limits allow.")
	_ = result.Keyed(result.KeyUndecided, Undecided{}, "The gate passes with undecided comparisons.")
	_ = result.Keyed("none-slower", NoneSlower{}, "The gate passes: no subject is slower than its limit allows.")
	_ = result.Keyed("workloads", Workloads{}, "The verdict of several workloads together.")
	_ = result.Keyed("drifting", Drifting{},
		"Changes since the oldest session add up to more than those of unchanged code.")
	_ = result.Keyed("drifted", Drifted{}, "Changes since the anchor add up to more than the limit.")
	_ = result.Keyed(result.KeyOverDrift, OverDrift{},
		"Changes since the anchor add up to more than a rule allows, which fails the gate.")

	_ = result.Keyed("beyond", Beyond{}, "The change is beyond the limit and certain.")
	_ = result.Keyed("within", Within{}, "The change is smaller than the limit, the floor or the timer's resolution.")
	_ = result.Keyed("better", Better{}, "The change is an improvement beyond the limit.")
	_ = result.Keyed("open", Open{}, "The interval of the change contains the limit.")
	_ = result.Keyed("uncertain", Uncertain{},
		"The change is beyond the limit, and not certain among all comparisons of the gate.")
	_ = result.Keyed("like-hosts", LikeHosts{}, "The change is beyond the limit, and hosts of one kind differ as much.")
	_ = result.Keyed("most-runs", MostRuns{},
		"Most runs of the head are beyond the limit and every baseline run, the others are not.")
	_ = result.Keyed(result.KeyNotJudged, NotJudged{}, "Too few runs to judge the change.")
	_ = result.Keyed("few-samples", FewSamples{}, "Too few runs have the subject to know its spread.")
	_ = result.Keyed("outlier-as-a-whole", OutlierAsAWhole{},
		"The only run of a side is an outlier in nearly all kernels.")
	_ = result.Keyed("single-run", SingleRun{},
		"Only one run shows the change, and single runs of unchanged programs vary as much.")
	_ = result.Keyed(result.KeyHostDenied, HostDenied{},
		"The head's host withheld CPU time, which explains the change.")
	_ = result.Keyed("slow-runs", SlowRuns{},
		"Runs of the head are slower by different amounts, as delays of the CPU make them.")
	_ = result.Keyed(result.KeyWithAll, WithAll{}, "All kernels moved by about as much, as with another clock.")
	_ = result.Keyed("unbounded", Unbounded{}, "The head has no value for a metric that the policy bounds.")
	_ = result.Keyed("bounds-kept", BoundsKept{}, "The head's value is within the bounds of the policy.")
	_ = result.Keyed("bounds-broken", BoundsBroken{}, "The head's value is outside the bounds of the policy.")
	_ = result.Keyed("one-sided", OneSided{}, "A side has no value for a metric that the policy limits.")
	_ = result.Keyed(result.KeyReplaced, Replaced{}, "A kernel of the baseline is gone, and others take its place.")
	_ = result.Keyed(result.KeyReplaces, Replaces{}, "A kernel of the head is new, and takes the place of others.")

	_ = result.Keyed("matched", Matched{},
		"How a kernel was matched with those of the baseline, where not by its name and geometry.")
	_ = result.Keyed("warn-only", WarnOnly{}, "A rule of the policy only warns of the change.")
	_ = result.Keyed("under-cost", UnderCost{}, "The change costs too little of the step or run to fail the gate.")
	_ = result.Keyed("traded", Traded{}, "A whole that contains the slower part is not worse.")
	_ = result.Keyed("excused", Excused{}, "Without the parts that the policy allows the whole is within its limit.")
	_ = result.Keyed("two-levels", TwoLevels{}, "The runs of a side are bimodal.")
	_ = result.Keyed("outlier", Outlier{}, "One run of a side is an outlier.")
	_ = result.Keyed(result.KeyMoreRuns, MoreRuns{}, "The number of runs a side that would decide.")
	_ = result.Keyed("too-many-runs", TooManyRuns{}, "More runs would be needed than are sensible.")
	_ = result.Keyed("too-fine", TooFine{}, "The limit is smaller than what the data can detect.")
	_ = result.Keyed("other-batch", OtherBatch{}, "The sides were measured back to back, and batches differ.")
	_ = result.Keyed("not-replayed", NotReplayed{},
		"The step's dependence on the host is unknown, because its replay is missing or wrong.")
	_ = result.Keyed("other-host", OtherHost{},
		"The sides come from different hosts or times, and such sessions differ.")

	_ = result.Keyed("step-part", StepPart{}, "The part of the step that most of its change is.")
	_ = result.Keyed(result.KeyCalls, Calls{}, "How often a CUDA function is called.")
	_ = result.Keyed(result.KeyAttribute, Attribute{}, "A launch attribute or a property of the device code changed.")
	_ = result.Keyed(result.KeyMemory, Memory{}, "The kinds of memory of a copy changed.")
	_ = result.Keyed("geometry", Geometry{}, "The geometry of the launch changed.")
	_ = result.Keyed(result.KeyNames, Names{}, "The kernels of both sides that were judged together.")

	_ = result.Keyed("versions", Versions{}, "A driver, tool or other version differs.")
	_ = result.Keyed("old-base", OldBase{}, "The baseline is older than max_age.")
	_ = result.Keyed("steps", Steps{}, "The number of steps differs.")
	_ = result.Keyed("lost-launches", LostLaunches{}, "Records of launches are missing.")
	_ = result.Keyed("regrouped", Regrouped{}, "The head does the same launches in another number of steps.")
	_ = result.Keyed("repeats", Repeats{}, "The head repeats its kernels another number of times.")
	_ = result.Keyed("other-repeats", OtherRepeats{},
		"The head repeats its loop another number of times, and is not scaled.")
	_ = result.Keyed("common-shift", CommonShift{}, "Several kernels changed by about as much.")
	_ = result.Keyed("outlier-run", OutlierRun{}, "A run that is an outlier in nearly all kernels is left out.")
	_ = result.Keyed("outlier-values", OutlierValues{}, "Runs of the head are outliers in some metrics or kernels.")
	_ = result.Keyed("compared-single", ComparedSingle{},
		"The only run of a side is compared by the spread of the other side.")
	_ = result.Keyed("moved", Moved{}, "Work moved between kernels.")
	_ = result.Keyed("output-disagrees", OutputDisagrees{},
		"An output of unprofiled runs and the profiled step disagree.")
	_ = result.Keyed("steps-cover", StepsCover{}, "The part of the head's GPU time that its steps are.")
	_ = result.Keyed("launch-rate", LaunchRate{}, "The step is as short as the launches of its kernels: it is not judged.")
	_ = result.Keyed("start-up", StartUp{}, "The part of the head's GPU time before its first loop.")
	_ = result.Keyed("skips-more", SkipsMore{}, "The sides have different warm-up.")
	_ = result.Keyed("other-cycle", OtherCycle{},
		"The sides repeat their cycle in different numbers, so the step time is not judged.")
	_ = result.Keyed("on-one-side", OnOneSide{}, "Only one side was measured with this metric or output.")
	_ = result.Keyed("needs-profiler", NeedsProfiler{}, "A rule limits a metric that this measurement does not have.")
	_ = result.Keyed("rule-idle", RuleIdle{}, "A rule limits nothing.")
	_ = result.Keyed("same-runs", SameRuns{}, "Runs of the head are runs of the baseline too.")
	_ = result.Keyed("looked", Looked{}, "The data was judged after a part of the planned runs.")
	_ = result.Keyed("on-board", OnBoard{}, "Only the baseline's sessions on the head's board are compared.")
	_ = result.Keyed("other-board", OtherBoard{}, "The baseline was measured on another board.")
	_ = result.Keyed("unknown-gpu", UnknownGPU{}, "Only one side names its GPU.")

	_ = result.Keyed("code-limit", CodeLimit{}, "Device code is beyond a limit of the policy.")
	_ = result.Keyed("code-differs", CodeDiffers{},
		"The numbers of kernels whose device code changed, beside a measurement.")
	_ = result.Keyed("code-changed", CodeChanged{},
		"The numbers of kernels whose device code changed, where no time was measured.")
	_ = result.Keyed("code-of-kernel", CodeOfKernel{}, "The device code of a kernel changed.")
	_ = result.Keyed("code-of-more", CodeOfMore{}, "The device code of more kernels changed.")
	_ = result.Keyed("code-changed-here", CodeChangedHere{}, "The device code of the kernel that is judged changed.")
	_ = result.Keyed("same-code", SameCode{}, "The time changed, the device code did not.")
	_ = result.Keyed("same-code-of-all", SameCodeOfAll{}, "No kernel has other device code than in the baseline.")
)
