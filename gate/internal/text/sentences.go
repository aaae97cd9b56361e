package text

// sentences puts every remark of package gate into words, as a template over its arguments. What refuses is in
// [gate.Reasons].
var sentences = map[string]string{
	// Verdicts.
	"regressed":           `{{.what}} regressed`,
	"undecided":           `nothing regressed for certain, but {{count .comparisons "comparison"}} could not be decided, first of all the {{metric .metric}} of {{.kernel}}, {{.reason}}`,
	"none-slower":         `{{count .comparisons "comparison"}}, none slower than its limit allows`,
	"workloads-failed":    `{{len .failed}} of {{count .all "workload"}} failed: {{join .failed ", "}}{{if .open}}; no verdict on {{join .open ", "}}{{end}}`,
	"workloads-open":      `no verdict on {{len .open}} of {{count .all "workload"}}: {{join .open ", "}}`,
	"workloads-undecided": `nothing regressed for certain, but {{len .undecided}} of {{count .all "workload"}} could not be decided: {{join .undecided ", "}}`,
	"workloads-pass":      `{{count .all "workload"}}, none slower than its limits allow`,

	// Outcomes.
	"beyond":        `beyond {{binding .by .size .unit}}`,
	"within":        `within {{binding .by .size .unit}}`,
	"faster":        `faster by more than {{percent .limit}}`,
	"open":          `between {{change .low}} and {{change .high}}: {{binding .by .size .unit}} lies inside`,
	"record-merged": `nobody measured the merge that it is held against: record the merged code`,
	"as-unmerged":   `between {{change .low}} and {{change .high}}: the merge that it is held against may differ by up to {{percent .most}}`,
	"open-faster":   `between {{change .low}} and {{change .high}}: {{binding .by .size .unit}} lies inside, on the faster side`,
	"slight": `between {{change .low}} and {{change .high}}, about {{percent .part}} of the workload's GPU time: ` +
		`single kernels differ between hosts by up to {{percent .impact}} of it`,
	"like-hosts": `between {{change .low}} and {{change .high}}, beyond {{binding .by .size .unit}}: ` +
		`hosts alone make single kernels differ by as much, this by up to {{percent .most}}`,
	"uncertain":  `between {{change .low}} and {{change .high}}, beyond {{binding .by .size .unit}}, but not certain for so many comparisons`,
	"most-runs":  `{{number .some}} of {{count .all "run"}} are about {{change .change}}, beyond {{binding .by .size .unit}} and beyond every run of the base`,
	"one-run":    `a side has one run: without the spread between runs no change can be told from noise`,
	"not-judged": `not judged: {{if eq .base .head}}one run a side{{else}}{{count .base "run"}} against {{number .head}}{{end}}`,
	"swerved":    `the one run of the {{.side}} is {{change .change}} off as a whole`,
	"lone-step": `one run of the {{.side}} says so: now and then a run of an unchanged program takes as much longer; ` +
		`a few runs would tell`,
	"lone-kernel": `one run of the {{.side}} says so: now and then a kernel of an unchanged program is off by as much in a run; a few runs would tell`,
	"lone-copies": `one run of the {{.side}} says so: by where a process gets its memory, unchanged copies differ by as much from run to run; ` +
		`a few runs would tell`,
	"few-samples": `too few runs have this {{.scope}} to know its spread`,
	"zero":        `zero on both sides`,
	"was-zero":    `was zero`,
	"from-zero":   `was zero: no relative change can be given`,

	"unbounded":          `the head has no {{metric .metric}}, of which the policy wants {{bounds .at_least .at_most .unit}}`,
	"bounds-kept":        `the policy wants {{bounds .at_least .at_most .unit}}`,
	"bounds-broken":      `{{quantity .head .unit}} where the policy wants {{bounds .at_least .at_most .unit}}`,
	"bounds-broken-once": `{{quantity .head .unit}} where the policy wants {{bounds .at_least .at_most .unit}}, in one run only; two would settle it`,
	"bounds-broken-in":   `{{number .some}} of {{count .all "run"}} break the bound: the policy wants {{bounds .at_least .at_most .unit}}`,
	"neither-side":       `neither side has {{metric .metric}}, which the policy limits`,
	"one-side":           `the {{.without}} has no {{metric .metric}} and the {{.with}} has: measure both with the same metrics`,

	"replaced": `its place in range {{.range}} is taken by {{few .by}}`,
	"replaces": `it takes the place of {{few .what}} in range {{.range}}`,
	"gone":     `nothing in the head has its name or its place`,
	"new":      `nothing in the base has its name or its place`,

	// What goes with an outcome.
	"by-role":         `judged by its place in range {{.range}}`,
	"by-rest":         `all kernels that are gone held against all that are new`,
	"by-name":         `judged with all kernels of this short name`,
	"by-stem":         `judged with all kernels of this name, whatever number the code generator gave them`,
	"by-total":        `launched with another geometry, so judged by its total time`,
	"warn-only":       `the policy only warns of it ({{.rule}})`,
	"total-not-worse": `the {{metric .metric}} is not worse ({{change .change}}), so it does not fail the gate`,
	"under-impact":    `{{percent .share}} of GPU time is under the impact floor of {{percent .impact}}, so it does not fail the gate`,

	"two-levels": `runs of the {{.side}} fall on two levels, {{number .some}} of {{number .all}} near {{quantity .low .unit}} and the others {{percent .above}} above`,
	"levels-new": `which the base does not`,
	"outlier":    `one run of the {{.side}} is {{change .change}} off the others`,

	"more-runs":     `{{count .runs "run"}} a side would settle it`,
	"too-many-runs": `more than {{count .most "run"}} a side would be needed`,
	"too-fine":      `the limit is under what this data can show (MDE {{percent .mde}})`,
	"other-batch": `the sides were measured one after the other, and such batches may differ by {{percent .spread}}: ` +
		`measure the base build beside the head`,
	"other-host": `{{hosts .hosts}}, which differ by about {{percent .spread}}: ` +
		`{{if ne .hosts "times"}}record the baseline on a second host, or {{end}}measure the base build beside the head`,

	"counts-differ": `the base's sessions differ in this count, so it is not held against the head`,
	"better":        `better by more than {{percent .limit}}`,
	"grew-count":    `grew beyond {{binding .by .size .unit}}; a count fails a gate only where a rule names it`,
	"under-step":    `{{quantity .change .unit}} is less than {{percent .impact}} of the step, the impact floor, so it does not fail the gate`,
	"in-graphs":     `one side launches as CUDA graphs, and the step is no slower: it does not fail the gate`,
	"step-open": `the step's period changed by {{change .change}}, between {{change .low}} and {{change .high}}, which is not decided: ` +
		`under a profiler, and from host to host, an unchanged program may; an output of untraced runs would tell`,
	"held-up": `the step got longer by time in which its operations were issued and nothing of the program ran: ` +
		`the GPU worked for another program, or waited for something that is not in the recording; measure again on an idle GPU`,

	// Facts.
	"step-part":      `mostly {{.class}}{{if .where}}, {{.where}}{{end}}: {{quantity .change .unit}} more`,
	"calls":          `{{.call}} {{number .base}} → {{number .head}}{{if .range}}, in {{.range}}{{end}}`,
	"output-decides": `untraced runs decide about the program's speed; under a profiler the step explains`,
	"attribute":      `{{metric .metric}} {{number .base}} → {{number .head}}{{if ne .unit "per thread"}} {{.unit}}{{end}}`,
	"memory":         `memory {{.base}} → {{.head}}`,
	"peak-at":        `it peaks in range {{.head}}{{if .base}}; in the base it did in {{.base}}{{end}}`,
	"grew": `requested {{if .range}}in range {{.range}}{{else}}outside these ranges{{end}} and held until then: ` +
		`{{quantity .base .unit}} → {{quantity .head .unit}}`,
	"geometry": `geometry {{.base}} → {{.head}}`,
	"names":    `{{few .base}} → {{few .head}}`,

	// Ranks.
	"straggler": `{{.rank}} is {{percent .slower}} slower than the others{{if .range}} in {{.range}}{{end}}` +
		`{{if .kernels}} ({{.kernel}}{{if ne .launches .others}} {{number .others}} → {{number .launches}} launches,{{end}} {{quantity .more .unit}} more` +
		`{{if gt .kernels 1.0}}, and {{count .kernels "kernel"}} in all{{end}}){{end}}` +
		`{{if .too}}; the base had it too, {{change .base}}{{else if known .base}}; in the base {{change .base}}{{end}}`,
	"late-rank": `{{.rank}} computes no longer than the others, and takes {{percent .slower}} longer between collectives: {{quantity .more .unit}} a {{.per}}` +
		`{{if known .copies}}{{if gt .copies 0.0}}; its copies take {{quantity .copies .unit}} longer{{else}}; its copies take no longer{{end}}{{end}}` +
		`{{if .too}}; the base had it too, {{change .base}}{{else if known .base}}; in the base {{change .base}}{{end}}`,
	"straggler-wait": `{{.who}} {{quantity .wait .unit}} a {{.per}} for it{{if .in}} in {{.in}}{{end}}{{if known .base}}, in the base {{quantity .base .unit}}{{end}}`,
	"unmatched":      `{{number .some}} of {{number .all}} collectives a rank are not the same in every rank: their time holds the waiting for one another`,

	// Sides.
	"skipped":  `{{number .least}}{{if ne .least .most}} to {{number .most}}{{end}} of {{number .of}} {{if .step}}steps{{else}}launches{{end}} in every run`,
	"profiled": `{{count .launches "launch" "launches"}} profiled in every run`,

	// Doubts and notes.
	"versions": `{{if ne .what "CUDA"}}the {{end}}{{.what}} differs: {{.base}} in the base, {{.head}} in the head`,
	"old-base": `the base was measured {{count .days "day"}} before the head, more than the {{count .most "day"}} of max_age: record it anew`,
	"unmerged": `nobody measured the merge of {{join .sessions " and "}}, both of which replace what stood before for {{few .names}}: ` +
		`what is held against them may differ by up to {{percent .most}} more; record the merged code on the default branch`,
	"steps": `the number of steps differs: {{number .base}} in the base, {{number .head}} in the head`,
	"common-shift": `{{number .moved}} of {{count .kernels "kernel"}} moved together by about {{change .change}} ({{join .names ", "}}): ` +
		`{{if or (eq .hosts "same") (eq .hosts "times")}}another clock, power limit or neighbour does that more often than code` +
		`{{else}}{{hosts .hosts}}, and hosts of one model differ like this, above all in memory-bound kernels{{end}}`,
	"off": `run {{number .run}} of the {{.side}} is {{change .change}} off as a whole, with nearly all of its kernels: it is left out, ` +
		`and the chance of a false alarm halved`,
	"held":  `1 run of the {{.side}}: held against the spread of the {{.other}}'s {{count .runs "run"}}`,
	"moved": `work moved between kernels: {{few .slower}} slower, {{few .faster}} faster by about as much, and the workload's GPU time within its limit`,
	"only-traced": `the traced step changed by {{change .traced}}, and {{.output}} of untraced runs did not get worse ({{change .untraced}}): ` +
		`tracing slows the CPU, so the untraced runs decide`,
	"only-untraced": `{{.output}} of untraced runs got worse ({{change .untraced}}), and the traced step did not ({{change .traced}}): ` +
		`what got slower lies outside the steps, or tracing hides it`,
	"other-cycle": `step time: not judged, for what repeats {{count .base "time"}} a run in the base repeats {{count .head "time"}} in the head; ` +
		`an NVTX range around the step tells what a step is`,
	"output-unheld": `{{join .names ", "}}: not judged, for the {{.without}} has no untraced run that says it and the {{.with}} has; ` +
		`{{if eq .without "base"}}record the baseline again, or measure the base build beside the head{{else}}see the outputs of the policy, and how many untraced runs are made{{end}}`,
	"metric-unheld": `{{join .names ", "}}: not judged, for only the {{.with}} was measured with that; ` +
		`{{if eq .without "base"}}record the baseline again in the same way{{else}}measure the head in the same way{{end}}`,
	"needs-ncu":      `{{.rule}} limits {{metric .metric}}, which only Nsight Compute measures: a check of its counters judges it`,
	"needs-sampling": `{{.rule}} limits {{metric .metric}}, which is sampled only on request`,
	"too-short": `ranges shorter than the sampling period of {{quantity .period .unit}}, without a value of the GPU's metrics: ` +
		`{{few .ranges}}`,
	"rule-idle":      `{{.rule}}: the rule has nothing to judge: nothing by that name was measured`,
	"rule-idle-here": `{{.rule}}: the rule has nothing to judge in this workload`,
	"same-runs": `{{number .same}} of {{count .runs "run"}} of the head are runs of the base too: ` +
		`the same recordings stand on both sides, and that they agree says nothing`,
	"look": `judged at look {{number .look}} of at most {{number .looks}}, after {{number .runs}} of at most {{number .most}} runs; ` +
		`the chance of a false alarm is shared out among the looks`,
	"screened":     `the committed baseline said {{.answer}} ({{.because}}); the base build, measured beside the head, decides`,
	"last-session": `of {{count .sessions "session"}} the last alone is used: a calibration is about one GPU at one time`,
	"false-alarms": `{{number .alarms}} of {{count .gates "unchanged gate"}} failed, more than the {{percent .alpha}} that the policy allows: ` +
		`the runs are not alike; do not rely on this limit here`,
	"on-board": `{{number .kept}} of {{count .all "base session"}} {{if eq (number .kept) "1"}}was{{else}}were{{end}} measured on the board revision of the head ` +
		`and {{if eq (number .kept) "1"}}is{{else}}are{{end}} held against it; the others are left out`,
	"other-board": `the base was measured on another board revision ({{join .base ", "}}, here {{join .head ", "}}); ` +
		`revisions of one model are known to differ by 1.5 % in memory-bound kernels: record here, or measure the base build beside the head`,
	"host-alone":   `the baseline has no other session on {{.gpu}} to hold this host against`,
	"host-foreign": `this host has no kernel in common with {{count .sessions "session"}}{{if .board}} on board {{.board}}{{end}}`,
	"host-alike": `none of {{count .kernels "kernel"}} differs by {{percent .least}} from {{count .sessions "session"}}` +
		`{{if .board}} on board {{.board}}{{end}}`,
	"host-apart": `{{.kernel}} is {{change .change}} against {{count .sessions "session"}}{{if .board}} on board {{.board}}{{end}}, ` +
		`and {{number .moved}} of {{count .kernels "kernel"}} by {{percent .least}} or more: this host may be of another class, or the program another one`,
	"crept": `{{.kernel}} {{metric .metric}} crept {{change .change}} (between {{change .low}} and {{change .high}}) ` +
		`since {{or .since "the oldest session"}}{{if .commit}} at {{.commit}}{{end}} over {{trodden .accepted .sessions}}, ` +
		`beyond the limit of {{percent .limit}}{{if .also}}; so did {{few .also}}{{end}}: ` +
		`accept it as a new anchor, or look for it in what was merged since`,
	"over-creep": `{{.kernel}} {{metric .metric}} crept {{change .change}} (between {{change .low}} and {{change .high}}) ` +
		`since {{or .since "the oldest session"}}{{if .commit}} at {{.commit}}{{end}} over {{trodden .accepted .sessions}}, ` +
		`more than the {{percent .limit}} that {{.rule}} allows{{if .also}}; so did {{few .also}}{{end}}`,
	"creeping": `{{.kernel}} {{metric .metric}} creeps: {{change .change}} (between {{change .low}} and {{change .high}}) ` +
		`since {{or .since "the oldest session"}}{{if .commit}} at {{.commit}}{{end}} over {{count .sessions "session"}}, ` +
		`in steps that add up to more than those of unchanged code do{{if .also}}; {{few .also}} as well{{end}}`,

	// Summaries.
	"unlike-sessions": `{{number .shown}} of {{count .sessions "session"}} {{if eq (number .shown) "1"}}is{{else}}are{{end}} shown: ` +
		`the others have another GPU, profiler or step than the newest`,
	"restless": `no steady state in {{number .some}} of {{count .runs "run"}}: what is shown of them may hold warm-up`,

	// Patterns.
	"low-utilisation":     `the GPU is busy for {{percent .share}} of the step only`,
	"gpu-idle":            `the GPU is idle for {{percent .share}} of the step, mostly {{.class}}{{if .where}}: {{.where}}{{end}}`,
	"launch-starved":      `the host issues work too late for {{percent .share}} of the step{{if .where}}, mostly {{.where}}{{end}}`,
	"synchronising":       `the host waits for the GPU and then the GPU for the host, {{percent .share}} of the step, mostly {{.where}}`,
	"synchronising-calls": `{{.kind}} is called {{if eq (number .calls) "1"}}once{{else}}{{number .calls}} times{{end}} a step{{if .range}}, mostly in {{.range}}{{end}}`,
	"synchronous-copies":  `{{.kind}} is called {{if eq (number .calls) "1"}}once{{else}}{{number .calls}} times{{end}} a step{{if .range}}, mostly in {{.range}}{{end}}: it is not asynchronous`,
	"copy-bottleneck":     `{{.kind}} takes {{percent .share}} of {{if .step}}the step{{else}}the GPU's work{{end}}, at {{quantity .rate "B/s"}}`,
	"many-copies":         `{{number .copies}} times {{.kind}} a step, which may be one`,
	"exposed-copies":      `{{percent .hidden}} of {{quantity .time .unit}} of copies a step are hidden behind kernels`,
	"pageable-copies": `{{quantity .bytes .unit}} a {{if .step}}step{{else}}run{{end}} are copied from or to pageable memory` +
		`{{if .kinds}} ({{few .kinds}}){{end}}: such copies are staged and keep the host`,
	"small-kernels": `{{number .launches}} of {{number .of}} launches a step are of kernels under 10 µs, ` +
		`{{percent .share}} of GPU time`,
	"exposed-communication": `communication that nothing hides takes {{percent .share}} of the step; {{percent .overlap}} of it is overlapped`,
}

// details puts those details of [gate.Reasons] into words that are no words yet, by key and name.
var details = map[string]string{
	"other-gpu.models":        `{{range $i, $m := .models}}{{if $i}}, {{end}}{{or $m "one that the profile does not name"}}{{end}}`,
	"other-gpu.model":         `{{or .model "the GPU of the head"}}`,
	"other-mode.base":         `{{or .base "not known"}}`,
	"other-mode.head":         `{{or .head "not known"}}`,
	"other-graph-trace.base":  `{{graphs .base}}`,
	"other-graph-trace.head":  `{{graphs .head}}`,
	"other-devices.base":      `{{count .base "GPU"}}`,
	"other-devices.head":      `{{count .head "GPU"}}`,
	"other-processes.base":    `{{count .base "process" "processes"}}`,
	"other-processes.head":    `{{count .head "process" "processes"}}`,
	"other-step.base":         `{{if .base}}{{printf "%q" .base}}{{else}}none{{end}}`,
	"other-step.head":         `{{if .head}}{{printf "%q" .head}}{{else}}none{{end}}`,
	"other-work.base":         `{{number .base}}`,
	"other-work.head":         `{{number .head}}`,
	"other-workload.base":     `{{count .base "kernel"}}`,
	"other-workload.head":     `{{count .head "kernel"}}`,
	"few-runs.base":           `{{count .base "run"}}`,
	"few-runs.head":           `{{number .head}}`,
	"swerves.change":          `{{change .change}}`,
	"unsteady.some":           `{{number .some}}`,
	"unsteady.all":            `{{number .all}}`,
	"unsettled.some":          `{{number .some}}`,
	"unsettled.all":           `{{number .all}}`,
	"unsplittable.runs":       `{{count .runs "run"}}`,
	"zero-time.time":          `{{quantity .time "ns"}}`,
	"not-sampled.metric":      `{{metric .metric}}`,
	"metric-missing.metric":   `{{metric .metric}}`,
	"time-unjudged.metric":    `{{metric .metric}}`,
	"counter-unjudged.metric": `{{metric .metric}}`,
	"doubted.metric":          `{{metric .metric}}`,
	"drift.change":            `{{change .change}}`,
	"drift.p":                 `{{printf "%.2g" .p}}`,
}
