package text

import "strings"

// sentences puts every remark of package gate into words. What refuses is in [gate.Reasons].
var sentences = map[string]saying{
	// Verdicts.
	"regressed": says(`{what} regressed`),
	"undecided": says(`nothing regressed for certain, but {count comparisons comparison} could not be decided, first of all the {metric metric} of {kernel}, {reason}`),
	"code-limit": func(a *args) string {
		said := a.say(`device code of {kernel} ({arch}): {metric metric} `)
		if a.number("base").Known() {
			said += a.say(`{number base} → `)
		}
		return said + a.say(`{number head}, beyond {rule}`)
	},
	"same-code":         says(`same code: the input, a clock, memory, the driver or a neighbour makes the difference`),
	"code-changed-here": says(`code changed ({arch}): {what}`),
	"code-differs": func(a *args) string {
		return a.say(`device code: {number changed} changed, {number added} added, {number removed} removed, {number same} the same`)
	},
	"code-changed": func(a *args) string {
		same, changed := a.number("same"), a.number("changed")+a.number("added")+a.number("removed")
		if changed == 0 {
			return a.say(`device code unchanged ({count same kernel}); no time was measured`)
		}
		said := a.say(`device code: {count changed kernel} changed`)
		if a.number("added") > 0 {
			said += a.say(`, {number added} added`)
		}
		if a.number("removed") > 0 {
			said += a.say(`, {number removed} removed`)
		}
		if same > 0 {
			said += a.say(`, {number same} the same`)
		}
		return said + `; no time was measured: measure it on a GPU`
	},
	"none-slower": says(`{count comparisons comparison}, none slower than its limit allows`),
	"workloads-failed": func(a *args) string {
		return a.len("failed") + a.say(` of {count all workload} failed: {join failed}`) + a.given("open", `; no verdict on {join open}`)
	},
	"workloads-open": func(a *args) string {
		return `no verdict on ` + a.len("open") + a.say(` of {count all workload}: {join open}`)
	},
	"workloads-undecided": func(a *args) string {
		return `nothing regressed for certain, but ` + a.len("undecided") + a.say(` of {count all workload} could not be decided: {join undecided}`)
	},
	"workloads-pass": says(`{count all workload}, none slower than its limits allow`),

	// Outcomes.
	"beyond":        says(`beyond {binding by size unit}`),
	"within":        says(`within {binding by size unit}`),
	"faster":        says(`faster by more than {percent limit}`),
	"open":          says(`between {change low} and {change high}: {binding by size unit} lies inside`),
	"record-merged": says(`nobody measured the merge that it is held against: record the merged code`),
	"as-unmerged":   says(`between {change low} and {change high}: the merge that it is held against may differ by up to {percent most}`),
	"open-faster":   says(`between {change low} and {change high}: {binding by size unit} lies inside, on the faster side`),
	"slight": says(`between {change low} and {change high}, about {percent part} of the workload's GPU time: ` +
		`single kernels differ between hosts by up to {percent impact} of it`),
	"like-hosts": says(`between {change low} and {change high}, beyond {binding by size unit}: ` +
		`hosts alone make single kernels differ by as much, this by up to {percent most}`),
	"uncertain": says(`between {change low} and {change high}, beyond {binding by size unit}, but not certain for so many comparisons`),
	"most-runs": says(`{number some} of {count all run} are about {change change}, beyond {binding by size unit} and beyond every run of the base`),
	"one-run":   says(`a side has one run: without the spread between runs no change can be told from noise`),
	"not-judged": func(a *args) string {
		if a.number("base") == a.number("head") {
			return `not judged: one run a side`
		}
		return a.say(`not judged: {count base run} against {number head}`)
	},
	"swerved": says(`the one run of the {side} is {change change} off as a whole`),
	"lone-step": says(`one run of the {side} says so: now and then a run of an unchanged program takes as much longer; ` +
		`a few runs would tell`),
	"lone-kernel": says(`one run of the {side} says so: now and then a kernel of an unchanged program is off by as much in a run; a few runs would tell`),
	"lone-copies": says(`one run of the {side} says so: by where a process gets its memory, unchanged copies differ by as much from run to run; ` +
		`a few runs would tell`),
	"few-samples": says(`too few runs have this {scope} to know its spread`),
	"zero":        says(`zero on both sides`),
	"was-zero":    says(`was zero`),
	"zero-floor":  says(`was zero, and is less than matters`),
	"from-zero":   says(`was zero: no relative change can be given`),

	"unbounded":          says(`the head has no {metric metric}, of which the policy wants {bounds at_least at_most unit}`),
	"bounds-kept":        says(`the policy wants {bounds at_least at_most unit}`),
	"bounds-broken":      says(`{quantity head unit} where the policy wants {bounds at_least at_most unit}`),
	"bounds-broken-once": says(`{quantity head unit} where the policy wants {bounds at_least at_most unit}, in one run only; two would settle it`),
	"bounds-broken-in":   says(`{number some} of {count all run} break the bound: the policy wants {bounds at_least at_most unit}`),
	"neither-side":       says(`neither side has {metric metric}, which the policy limits`),
	"one-side":           says(`the {without} has no {metric metric} and the {with} has: measure both with the same metrics`),

	"replaced": says(`its place in range {range} is taken by {few by}`),
	"replaces": says(`it takes the place of {few what} in range {range}`),
	"gone":     says(`nothing in the head has its name or its place`),
	"new":      says(`nothing in the base has its name or its place`),

	// What goes with an outcome.
	"by-role":         says(`judged by its place in range {range}`),
	"by-rest":         says(`all kernels that are gone held against all that are new`),
	"by-name":         says(`judged with all kernels of this short name`),
	"by-stem":         says(`judged with all kernels of this name, whatever number the code generator gave them`),
	"by-total":        says(`launched with another geometry, so judged by its total time`),
	"warn-only":       says(`the policy only warns of it ({rule})`),
	"total-not-worse": says(`the {metric metric} is not worse ({change change}), so it does not fail the gate`),
	"under-impact":    says(`{percent share} of GPU time is under the impact floor of {percent impact}, so it does not fail the gate`),

	"two-levels": says(`runs of the {side} fall on two levels, {number some} of {number all} near {quantity low unit} and the others {percent above} above`),
	"levels-new": says(`which the base does not`),
	"outlier":    says(`one run of the {side} is {change change} off the others`),

	"more-runs":     says(`{count runs run} a side would settle it`),
	"too-many-runs": says(`more than {count most run} a side would be needed`),
	"too-fine":      says(`the limit is under what this data can show (MDE {percent mde})`),
	"other-batch": says(`the sides were measured one after the other, and such batches may differ by {percent spread}: ` +
		`measure the base build beside the head`),
	"other-host": func(a *args) string {
		apart := a.say(`{hosts hosts}, which differ by about {percent spread}: `)
		if a.text("hosts") != "times" {
			apart += `record the baseline on a second host, or `
		}
		return apart + `measure the base build beside the head`
	},

	"counts-differ": says(`the base's sessions differ in this count, so it is not held against the head`),
	"better":        says(`better by more than {percent limit}`),
	"grew-count":    says(`grew beyond {binding by size unit}; a count fails a gate only where a rule names it`),
	"under-step":    says(`{quantity change unit} is less than {percent impact} of the step, the impact floor, so it does not fail the gate`),
	"traded":        says(`traded: the {metric metric} of {kernel} got better ({change change}, at most {change high}), so it does not fail the gate`),
	"in-graphs":     says(`one side launches as CUDA graphs, and the step is no slower: it does not fail the gate`),
	"rehomed":       says(`kernels moved in or out of range {range}, and none that stayed got slower, so it does not fail the gate`),
	"with-all": says(`beyond {binding by size unit}, and all kernels moved by about {change shift}: the clock, a power limit or the host does that ` +
		`as well as code; measure the base build beside the head`),
	"host-denied": says(`the head's host gave CPU time to others or hit its CPU limit, which explains up to {percent most}; measure on a quiet host, ` +
		`or the base build beside the head`),
	"held-up": says(`the step got longer by time in which its operations were issued and nothing of the program ran: ` +
		`the GPU worked for another program, or waited for something that is not in the recording; measure again on an idle GPU`),

	// Facts.
	"step-part": func(a *args) string {
		return a.say(`mostly {class}`) + a.given("where", `, {where}`) + a.say(`: {quantity change unit} more`)
	},
	"calls": func(a *args) string {
		return a.say(`{call} {number base} → {number head}`) + a.given("range", `, in {range}`)
	},
	"output-decides": says(`untraced runs decide about the program's speed; under a profiler the step explains`),
	"attribute": func(a *args) string {
		said := a.say(`{metric metric} {number base} → {number head}`)
		if a.text("unit") != "per thread" {
			said += a.say(` {unit}`)
		}
		return said
	},
	"memory": says(`memory {base} → {head}`),
	"peak-at": func(a *args) string {
		return a.say(`it peaks in range {head}`) + a.given("base", `; in the base it did in {base}`)
	},
	"grew": func(a *args) string {
		return `requested ` + a.given("range", `in range {range}`, `outside these ranges`) + a.say(` and held until then: {quantity base unit} → {quantity head unit}`)
	},
	"geometry": says(`geometry {base} → {head}`),
	"names":    says(`{few base} → {few head}`),

	// Ranks.
	"straggler": func(a *args) string {
		said := a.say(`{rank} is {percent slower} slower than the others`) + a.given("range", ` in {range}`)
		if kernels := a.number("kernels"); kernels > 0 {
			said += a.say(` ({kernel}`)
			if a.number("launches") != a.number("others") {
				said += a.say(` {number others} → {number launches} launches,`)
			}
			said += a.say(` {quantity more unit} more`)
			if kernels > 1 {
				said += a.say(`, and {count kernels kernel} in all`)
			}
			said += `)`
		}
		return said + a.before()
	},
	"late-rank": func(a *args) string {
		said := a.say(`{rank} computes no longer than the others, and takes {percent slower} longer between collectives: {quantity more unit} a {per}`)
		switch copies := a.number("copies"); {
		case copies > 0:
			said += a.say(`; its copies take {quantity copies unit} longer`)
		case copies.Known():
			said += `; its copies take no longer`
		}
		return said + a.before()
	},
	"straggler-wait": func(a *args) string {
		said := a.say(`{who} {quantity wait unit} a {per} for it`) + a.given("in", ` in {in}`)
		if a.number("base").Known() {
			said += a.say(`, in the base {quantity base unit}`)
		}
		return said
	},
	"unmatched": says(`{number some} of {number all} collectives a rank are not the same in every rank: their time holds the waiting for one another`),

	// Sides.
	"skipped": func(a *args) string {
		said := a.say(`{number least}`)
		if a.number("least") != a.number("most") {
			said += a.say(` to {number most}`)
		}
		return said + a.say(` of {number of} `) + a.given("step", `steps`, `launches`) + ` in every run`
	},
	"profiled": says(`{count launches launch|launches} profiled in every run`),

	// Doubts and notes.
	"versions": func(a *args) string {
		the := `the `
		if a.text("what") == "CUDA" {
			the = ``
		}
		return the + a.say(`{what} differs: {base} in the base, {head} in the head`)
	},
	"old-base": says(`the base was measured {count days day} before the head, more than the {count most day} of max_age: record it anew`),
	"unmerged": func(a *args) string {
		return `nobody measured the merge of ` + strings.Join(a.list("sessions"), ` and `) + a.say(`, both of which replace what stood before for {few names}: `) +
			a.say(`what is held against them may differ by up to {percent most} more; record the merged code on the default branch`)
	},
	"steps": says(`the number of steps differs: {number base} in the base, {number head} in the head`),
	"common-shift": func(a *args) string {
		said := a.say(`{number moved} of {count kernels kernel} moved together by about {change change} ({join names}): `)
		switch a.text("hosts") {
		case "same", "times":
			return said + `another clock, power limit or neighbour does that more often than code`
		}
		return said + a.say(`{hosts hosts}, and hosts of one model differ like this, above all in memory-bound kernels`)
	},
	"off": says(`run {number run} of the {side} is {change change} off as a whole, with nearly all of its kernels: it is left out, ` +
		`and the chance of a false alarm halved`),
	"held":  says(`1 run of the {side}: held against the spread of the {other}'s {count runs run}`),
	"moved": says(`work moved between kernels: {few slower} slower, {few faster} faster by about as much, and the workload's GPU time within its limit`),
	"only-traced": says(`the traced step changed by {change traced}, and {output} of untraced runs did not get worse ({change untraced}): ` +
		`tracing slows the CPU, so the untraced runs decide`),
	"only-untraced": says(`{output} of untraced runs got worse ({change untraced}), and the traced step did not ({change traced}): ` +
		`what got slower lies outside the steps, or tracing hides it`),
	"steps-cover": says(`the steps ({range}) are {percent share} of the head's GPU time; the rest is judged by the limits of its sections`),
	"skips-more":  says(`{count head step} of the head are warm-up, {number base} of the base: the warm-up is not compared`),
	"other-cycle": says(`step time: not judged, for what repeats {count base time} a run in the base repeats {count head time} in the head; ` +
		`an NVTX range around the step tells what a step is`),
	"output-unheld": func(a *args) string {
		said := a.say(`{join names}: not judged, for the {without} has no untraced run that says it and the {with} has; `)
		if a.text("without") == "base" {
			return said + `record the baseline again, or measure the base build beside the head`
		}
		return said + `see the outputs of the policy, and how many untraced runs are made`
	},
	"metric-unheld": func(a *args) string {
		said := a.say(`{join names}: not judged, for only the {with} was measured with that; `)
		if a.text("without") == "base" {
			return said + `record the baseline again in the same way`
		}
		return said + `measure the head in the same way`
	},
	"needs-ncu":      says(`{rule} limits {metric metric}, which only Nsight Compute measures: a check of its counters judges it`),
	"needs-sampling": says(`{rule} limits {metric metric}, which is sampled only on request`),
	"too-short": says(`ranges shorter than the sampling period of {quantity period unit}, without a value of the GPU's metrics: ` +
		`{few ranges}`),
	"rule-idle":      says(`{rule}: the rule has nothing to judge: nothing by that name was measured`),
	"rule-idle-here": says(`{rule}: the rule has nothing to judge in this workload`),
	"same-runs": says(`{number same} of {count runs run} of the head are runs of the base too: ` +
		`the same recordings stand on both sides, and that they agree says nothing`),
	"look": says(`judged at look {number look} of at most {number looks}, after {number runs} of at most {number most} runs; ` +
		`the chance of a false alarm is shared out among the looks`),
	"screened":     says(`the committed baseline said {answer} ({because}); the base build, measured beside the head, decides`),
	"last-session": says(`of {count sessions session} the last alone is used: a calibration is about one GPU at one time`),
	"false-alarms": says(`{number alarms} of {count gates unchanged gate} failed, more than the {percent alpha} that the policy allows: ` +
		`the runs are not alike; do not rely on this limit here`),
	"on-board": func(a *args) string {
		were, are := `were`, `are`
		if a.number("kept") == 1 {
			were, are = `was`, `is`
		}
		return a.say(`{number kept} of {count all base session} `) + were + ` measured on the board revision of the head and ` + are +
			` held against it; the others are left out`
	},
	"other-board": says(`the base was measured on another board revision ({join base}, here {join head}); ` +
		`revisions of one model are known to differ by 1.5 % in memory-bound kernels: record here, or measure the base build beside the head`),
	"unknown-gpu": says(`only one side names its GPU ({model}): whether the other was measured on the same model is not known`),
	"host-alone":  says(`the baseline has no other session on {gpu} to hold this host against`),
	"host-foreign": func(a *args) string {
		return a.say(`this host has no kernel in common with {count sessions session}`) + a.board()
	},
	"host-alike": func(a *args) string {
		return a.say(`none of {count kernels kernel} differs by {percent least} from {count sessions session}`) + a.board()
	},
	"host-apart": func(a *args) string {
		return a.say(`{kernel} is {change change} against {count sessions session}`) + a.board() +
			a.say(`, and {number moved} of {count kernels kernel} by {percent least} or more: this host may be of another class, or the program another one`)
	},
	"crept": func(a *args) string {
		return a.say(`{kernel} {metric metric} crept {change change} (between {change low} and {change high}) since `) + a.anchor() +
			a.say(` over {trodden accepted sessions}, beyond the limit of {percent limit}`) + a.given("also", `; so did {few also}`) +
			`: accept it as a new anchor, or look for it in what was merged since`
	},
	"over-creep": func(a *args) string {
		return a.say(`{kernel} {metric metric} crept {change change} (between {change low} and {change high}) since `) + a.anchor() +
			a.say(` over {trodden accepted sessions}, more than the {percent limit} that {rule} allows`) + a.given("also", `; so did {few also}`)
	},
	"creeping": func(a *args) string {
		return a.say(`{kernel} {metric metric} creeps: {change change} (between {change low} and {change high}) since `) + a.anchor() +
			a.say(` over {count sessions session}, in steps that add up to more than those of unchanged code do`) + a.given("also", `; {few also} as well`)
	},

	// Summaries.
	"unlike-sessions": func(a *args) string {
		are := `are`
		if a.number("shown") == 1 {
			are = `is`
		}
		return a.say(`{number shown} of {count sessions session} `) + are + ` shown: the others have another GPU, profiler or step than the newest`
	},
	"restless": says(`no steady state in {number some} of {count runs run}: what is shown of them may hold warm-up`),

	// Patterns.
	"low-utilisation": says(`the GPU is busy for {percent share} of the step only`),
	"gpu-idle": func(a *args) string {
		return a.say(`the GPU is idle for {percent share} of the step, mostly {class}`) + a.given("where", `: {where}`)
	},
	"launch-starved": func(a *args) string {
		return a.say(`the host issues work too late for {percent share} of the step`) + a.given("where", `, mostly {where}`)
	},
	"synchronising":       says(`the host waits for the GPU and then the GPU for the host, {percent share} of the step, mostly {where}`),
	"synchronising-calls": func(a *args) string { return a.called() },
	"synchronous-copies":  func(a *args) string { return a.called() + `: it is not asynchronous` },
	"copy-bottleneck": func(a *args) string {
		return a.say(`{kind} takes {percent share} of `) + a.given("step", `the step`, `the GPU's work`) + `, at ` + quantity(a.number("rate"), "B/s")
	},
	"many-copies":    says(`{number copies} times {kind} a step, which may be one`),
	"exposed-copies": says(`{percent hidden} of {quantity time unit} of copies a step are hidden behind kernels`),
	"pageable-copies": func(a *args) string {
		return a.say(`{quantity bytes unit} a `) + a.given("step", `step`, `run`) + ` are copied from or to pageable memory` +
			a.given("kinds", ` ({few kinds})`) + `: such copies are staged and keep the host`
	},
	"small-kernels": says(`{number launches} of {number of} launches a step are of kernels under 10 µs, ` +
		`{percent share} of GPU time`),
	"exposed-communication": says(`communication that nothing hides takes {percent share} of the step; {percent overlap} of it is overlapped`),
}
