// Package result holds the results of a gate, as values for every renderer: reports, findings, and explanations.
package result

import (
	"cmp"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// Schema is the version of the JSON form of a Report. Fields are only ever added to it.
const Schema = "nsgate.report/2"

// Verdict is the answer of a gate.
type Verdict string

// The three answers. NoVerdict is never a pass: it means that the data cannot carry a decision.
const (
	Pass      Verdict = "pass"
	Fail      Verdict = "fail"
	NoVerdict Verdict = "no-verdict"
)

// Outcome is the answer of one comparison.
type Outcome string

// The outcomes of a comparison.
const (
	Slower      Outcome = "slower"       // worse beyond the limit, and certainly so; an increased count likewise
	Faster      Outcome = "faster"       // better beyond the limit, and certainly so
	WithinLimit Outcome = "within limit" // the interval of the change ends below the limit
	BelowFloor  Outcome = "below floor"  // the interval ends between the limit and the absolute floor
	Undecided   Outcome = "undecided"    // the runs do not tell
	New         Outcome = "new"          // only the head has it
	Gone        Outcome = "gone"         // only the baseline has it
)

// Kept reports whether the interval of the change ends below the limit or the floor.
func (o Outcome) Kept() bool { return o == WithinLimit || o == BelowFloor }

// Outcomes lists every outcome.
var Outcomes = []Outcome{Slower, Faster, WithinLimit, BelowFloor, Undecided, New, Gone}

// Finding is the result of comparing one metric of one subject.
type Finding struct {
	Kernel string `json:"kernel" of:"subject"` // short name
	Name   string `json:"name" of:"subject"`   // full name
	// Label is the shortest name that tells the kernel apart from every other in the report, "" where that is Kernel.
	Label  string        `json:"label,omitempty" of:"subject"`
	Scope  measure.Scope `json:"scope" of:"subject"`
	Grid   string        `json:"grid,omitempty" of:"subject"`  // of the head where it has the kernel, else of the base
	Block  string        `json:"block,omitempty" of:"subject"` // likewise
	Metric string        `json:"metric"`
	Unit   string        `json:"unit"`
	// Better is the direction that a rule gives to a metric without one: 1 where higher values are better, -1 where
	// lower.
	Better measure.Direction `json:"better,omitempty"`

	Outcome Outcome `json:"outcome"`
	// Gates is true where a regression of this finding fails the gate.
	Gates bool `json:"gates,omitempty"`
	// Undecided is true where the data cannot exclude a regression that would fail the gate and that is large enough
	// to matter: one that could cost a sixth of its limit in the workload's GPU time. Where a rule only warns, it is
	// true of probable harm.
	Undecided bool `json:"undecided,omitempty"`
	// Doubted is true where an undecided comparison says harm, and not surely enough to fail: the whole interval, or
	// most runs of the head, lie beyond the limit. Such a gate never passes.
	Doubted bool `json:"doubted,omitempty"`
	// Severity is the policy's severity of a regression here: "fail" or "warn". An ignored metric is no finding.
	Severity string `json:"severity" of:"subject"`

	// Base and Head are the values that are judged, in Unit: Change is Head/Base - 1. Without a judged change they are
	// medians.
	Base   Number `json:"base"`
	Head   Number `json:"head"`
	Change Number `json:"change"` // relative: 0.05 is +5 %
	Low    Number `json:"low"`    // interval of Change, at [Report.Confidence]
	High   Number `json:"high"`
	P      Number `json:"p"`                  // two-sided, corrected for every comparison judged in this gate (Holm)
	MDE    Number `json:"mde"`                // smallest relative change that this data would show in 80 % of cases
	Share  Number `json:"share" of:"subject"` // of the workload's GPU time, the larger of base and head
	// Cost is the part of a step or run that the change adds to it, or takes away.
	Cost  Number `json:"cost"`
	Limit Number `json:"limit"` // largest relative regression allowed
	Floor Number `json:"floor"` // largest absolute change, in Unit, that is no finding
	// AtMost and AtLeast bound the head's value itself, in Unit; nil where the policy does not.
	AtMost  *Number `json:"at_most,omitempty"`
	AtLeast *Number `json:"at_least,omitempty"`
	Rule    string  `json:"rule" of:"subject"` // where the limit comes from: "default", "--threshold", "nsgate.toml:12"
	Reason  string  `json:"reason,omitempty"`  // one sentence: why this outcome, and what would settle it
	// ReasonKey and ReasonArgs are the reason as a [Remark]; Also holds its qualifications and next steps. ReasonAt
	// stands for them in JSON: the place of the first finding that is kept for the same reason.
	ReasonKey  string   `json:"reason_key,omitempty"`
	ReasonArgs Args     `json:"reason_args,omitempty"`
	ReasonAt   *int     `json:"reason_at,omitempty"`
	Also       []Remark `json:"also,omitempty"`

	// Match is how base and head were put together: "exact", "geometry" (same name, other grid or block), "choice"
	// (with kernels that other runs launch in its place), "name" (same short name), "stem" (the same but for a code
	// generator's numbers), "place" (the only new kernel of its geometry in its range), "role" (same range), "rest"
	// (all kernels that are gone against all that are new), or "" for added and removed.
	Match string `json:"match" of:"subject"`
	// BaseNames are the full names of the base's kernels in this place, where they differ from Name.
	BaseNames []string `json:"base_names,omitempty" of:"subject"`
	// HeadNames are the full names of the head's kernels in it, where they are several.
	HeadNames []string `json:"head_names,omitempty" of:"subject"`
	// Recorded is the head's name as the profiler wrote it, where that differs from Name.
	Recorded string `json:"recorded_name,omitempty" of:"subject"`
	// Role is the path of NVTX ranges around most launches of the kernel.
	Role string `json:"role,omitempty" of:"subject"`
	// BaseRuns and HeadRuns are the samples, one per run that such a metric is measured in (profiled or not), sessions
	// one after the other; null where a run had none.
	BaseRuns []Number `json:"base_runs"`
	HeadRuns []Number `json:"head_runs"`
	// Evidence are facts that go with the change: other registers, shared memory, memory kinds.
	Evidence []string `json:"evidence,omitempty"`
	Facts    []Remark `json:"facts,omitempty"` // Evidence as data
	// Mode is the two levels that the runs fall on, nil where they are on one.
	Mode *Mode `json:"mode,omitempty"`
	// Origin says from where the program calls for it, nil where that is not known.
	Origin *Origin `json:"origin,omitempty"`
	// Cause says why the kernel got slower, nil without an explanation.
	Cause *Cause `json:"cause,omitempty"`
}

// Mode is the worse of two levels that the runs of a comparison fall on.
type Mode struct {
	// Kind is "appeared" where no baseline run is in the mode, "disappeared" where no head run is, "share" where all
	// runs of a side are, or so many more of one side as in 5 % of gates by chance, else "both".
	Kind     string `json:"kind"`
	At       Number `json:"at"`      // mean of the runs in the mode
	Others   Number `json:"others"`  // mean of the other runs
	BaseIn   int    `json:"base_in"` // runs in the mode
	BaseRuns int    `json:"base_runs"`
	HeadIn   int    `json:"head_in"`
	HeadRuns int    `json:"head_runs"`
	P        Number `json:"p"` // of Fisher's exact test, one-sided
	// Needed is how many runs a side find shares that differ so much, with a power of 90 %; 0 where too many would.
	Needed int `json:"needed,omitempty"`
	// Follows is what the runs in the mode share and the others lack, "" where the runs show nothing.
	Follows string `json:"follows,omitempty"`
}

// Subject is the subject of the finding.
func (f *Finding) Subject() measure.Subject {
	s := measure.Subject{Scope: f.Scope, Name: f.Name}
	s.Grid, _ = measure.ParseDim3(f.Grid)
	s.Block, _ = measure.ParseDim3(f.Block)
	return s
}

// Side describes one side of a comparison.
type Side struct {
	Sessions   int `json:"sessions"`
	Runs       int `json:"runs"`               // profiled ones
	Unprofiled int `json:"untraced,omitempty"` // runs without a profiler beside them
	// SessionRuns and SessionUnprofiled are how many of them each session has, in the order of a finding's runs; none
	// of a single one.
	SessionRuns       []int `json:"session_runs,omitempty"`
	SessionUnprofiled []int `json:"session_untraced,omitempty"`

	Environment model.Environment `json:"environment"` // of the newest session
	Commit      string            `json:"commit,omitempty"`
	Step        string            `json:"step,omitempty"`
	// Repeats is how often a run without steps repeats itself, 0 where it has steps or that is not known.
	Repeats Number `json:"repeats,omitempty"`
	Warmup  string `json:"warmup,omitempty"`
	// Skipped says what was taken for warm-up, in words: "3 of 60 steps in every run".
	Skipped string `json:"skipped,omitempty"`
	// Skip is Skipped as data, nil where nothing was measured.
	Skip *Remark `json:"skip,omitempty"`
}

// Drawn holds the drawings of both sides, nil for a side without a trace.
type Drawn struct {
	Base *model.Drawing `json:"base,omitempty"`
	Head *model.Drawing `json:"head,omitempty"`
}

// Counts is how many causes a report names. A cause is counted once, with all comparisons that it explains.
type Counts struct {
	Slower int `json:"slower"` // that fail the gate
	// slower without failing it: by severity, at too small a cost, or as parts of a whole that is not
	Warned    int `json:"warned"`
	Undecided int `json:"undecided"` // that could fail the gate
	Increased int `json:"increased"` // counts without a limit
	Faster    int `json:"faster"`
	New       int `json:"new"`
	Gone      int `json:"gone"`
	// Comparisons is the number of findings.
	Comparisons int `json:"comparisons"`
}

// Calls are commands that settle what is undecided, "" where there is none.
type Calls struct {
	// Runs takes more runs: [RunsHere] stands for their number.
	Runs string `json:"runs,omitempty"`
	// Paired measures the base build interleaved with the head. Needs is its precondition.
	Paired string `json:"paired,omitempty"`
	Needs  string `json:"needs,omitempty"`
	// With names what the commands lack: command lines, which may hold secrets.
	With string `json:"with,omitempty"`
}

// RunsHere stands for the number of runs a side in [Calls].
const RunsHere = "{runs}"

// Shown is a copy with the commands as a reader may see them.
func (c *Calls) Shown(as func(string) string) *Calls {
	if c == nil {
		return nil
	}
	return &Calls{as(c.Runs), as(c.Paired), c.Needs, c.With}
}

// Group is a cause of a change with the comparisons that it explains.
type Group struct {
	Outcome Outcome `json:"outcome"`
	Fails   bool    `json:"fails"`   // the gate
	Subject string  `json:"subject"` // a kernel, copy, rank, range or cause of idle time, or the whole program
	// added to a step, or to a run without steps, in ns; null where it is not a time
	Cost Number   `json:"cost"`
	Why  []string `json:"why,omitempty"` // one sentence each
	Do   string   `json:"do,omitempty"`  // advice on the code
	// Findings are the indices of the comparisons, first the one that names the cause.
	Findings []int `json:"findings"`
}

// Report is everything that a gate found. It is complete: every renderer works from it alone.
type Report struct {
	Schema  string  `json:"schema"`
	Verdict Verdict `json:"verdict"`
	// Reason is the verdict in one sentence.
	Reason string `json:"reason"`
	// ReasonKey and ReasonArgs are the reason as a [Remark]: "slower", "undecided", "none-slower", or the
	// kind of a refusal.
	ReasonKey  string `json:"reason_key,omitempty"`
	ReasonArgs Args   `json:"reason_args,omitempty"`
	// Next says what to do about it, one step a line.
	Next []string `json:"next,omitempty"`
	// Undecided is true where the data could not exclude a regression that would fail the gate.
	Undecided bool `json:"undecided"`
	// Gate is what the gate does about the verdict, see [Report.Gated]; Shadow is true where its way is [InShadow].
	Gate   Gate `json:"gate,omitempty,omitzero"`
	Shadow bool `json:"shadow,omitempty"`

	Workload string `json:"workload,omitempty"`
	Base     Side   `json:"base"`
	Head     Side   `json:"head"`
	// Paired is true where base and head were measured in one session and in turn, so that no session term applies.
	Paired bool `json:"paired"`
	// Boards is whether base and head were measured on boards of one revision.
	Boards Boards `json:"boards,omitempty"`
	// Batches is true where they were measured in one session, one after the other: a small term of its own applies.
	Batches bool `json:"batches,omitempty"`
	// OneGPU is true where all sessions of both sides are known to be of one GPU, and Apart how many seconds lie
	// between the beginnings of the nearest two of one GPU; 0 where that is not known.
	OneGPU bool   `json:"one_gpu,omitempty"`
	Apart  Number `json:"apart,omitempty"`
	// Alpha is the family-wise error of the gate, Family the number of comparisons it is spent on.
	Alpha      Number `json:"alpha"`
	Family     int    `json:"family"`
	Confidence Number `json:"confidence,omitempty"` // level of every finding's interval

	// Detects is the smallest change that this comparison finds, nil where nothing was judged.
	Detects *Detects `json:"detects,omitempty"`
	// Unjudged is the part of the head that no limit covers, nil where that is not known or the runs are too few.
	Unjudged *Unjudged `json:"unjudged,omitempty"`

	// OutlierRuns are outliers as a whole. They are left out, except for counts, and stay in the findings' samples.
	OutlierRuns []OutlierRun `json:"off,omitempty"`

	// Waterfall attributes the change of a step to its parts, nil where a side lacks the attribution of its steps.
	Waterfall *Waterfall `json:"waterfall,omitempty"`
	// Code is how the device code differs, nil where a side has none.
	Code *Code `json:"code,omitempty"`
	// Ranks is how the ranks of the head's jobs compare with one another, nil where there are not several.
	Ranks *Ranks `json:"ranks,omitempty"`
	// Utilization is how the GPU was used, where it was sampled: by the steps first, then by ranges.
	Utilization []Utilization `json:"utilization,omitempty"`

	// Overview is the numbers of both sides of a comparison without a verdict.
	Overview []OverviewRow `json:"overview,omitempty"`

	// Drawn holds the drawings of the pictures, nil unless requested.
	Drawn *Drawn `json:"drawn,omitempty"`

	// Patterns are those of the head that the baseline lacks. They judge nothing, and the Notes list them as well.
	Patterns []Remark `json:"patterns,omitempty"`

	// Counts and Causes are set where the report is written.
	Counts   Counts   `json:"counts"`
	Causes   []Group  `json:"causes,omitempty"` // failing ones first, then by cost
	Findings Findings `json:"subjects"`         // worst first
	// Warnings are doubts about the comparison, Notes say how it came about: how many looks it took, what the committed
	// baseline said before the base build was measured.
	Warnings []string `json:"warnings,omitempty"`
	Notes    []string `json:"notes,omitempty"`
	// Doubts and Remarks are those warnings and notes that the judgement itself made, as data.
	Doubts  []Remark `json:"doubts,omitempty"`
	Remarks []Remark `json:"remarks,omitempty"`

	// Baseline is where the base is kept, relative to the repository, outside of one to the working directory; "" where
	// there is none.
	Baseline string `json:"baseline,omitempty"`
	// Reproduce and Accept are the commands that repeat this judgement and that take the change, or what is faster in a
	// pass, as the new baseline.
	Reproduce string `json:"reproduce,omitempty"`
	Accept    string `json:"accept,omitempty"`
	// Calls are the commands that settle undecided findings, nil where nothing was measured.
	Calls *Calls `json:"calls,omitempty"`

	// Spent is the time of the measurement by its parts, nil where nothing was run.
	Spent *Spent `json:"spent,omitempty"`

	// Measured is the cost of the head, where there was nothing to compare it with; nil where there was.
	Measured *Summary `json:"measured,omitempty"`

	// Workloads are the reports of several workloads that were checked at once. This one then holds their verdict and
	// their counts, and no finding of its own.
	Workloads []*Report `json:"workloads,omitempty"`

	// HeadSessions holds the sessions of the head, so that accept can store them.
	HeadSessions model.SessionList `json:"head_sessions,omitempty"`
	// Basis is what the judgement depends on beside them.
	Basis *Basis `json:"basis,omitempty"`
}

// Add takes in the counts of another report.
func (c *Counts) Add(o Counts) {
	c.Slower += o.Slower
	c.Warned += o.Warned
	c.Undecided += o.Undecided
	c.Increased += o.Increased
	c.Faster += o.Faster
	c.New += o.New
	c.Gone += o.Gone
	c.Comparisons += o.Comparisons
}

// NotJudged reports whether a finding is a difference and no more, for the sides have too few runs to judge it.
func (f *Finding) NotJudged() bool { return f.ReasonKey == KeyNotJudged }

// Fails reports whether a finding fails the gate.
func (f *Finding) Fails() bool { return f.Outcome == Slower && f.Gates }

// Forgiven reports whether a slower part does not fail the gate because a whole that contains it is not slower.
func (f *Finding) Forgiven() bool {
	traded := slices.ContainsFunc(f.Also, func(x Remark) bool { return x.Key == KeyTraded })
	return traded && !(f.Harm() <= float64(f.Limit)) // NaN from zero
}

// Bounded reports whether the head's value is beyond an absolute bound, which no baseline changes.
func (f *Finding) Bounded() bool {
	return f.AtMost != nil && f.Head > *f.AtMost || f.AtLeast != nil && f.Head < *f.AtLeast
}

// OfSpeed reports whether the number of an output or a row is a time or a rate, not a success rate, a loss or a size.
func (f *Finding) OfSpeed() bool {
	switch f.Scope {
	case measure.ScopeBenchmark:
		return f.Unit == measure.Duration.Unit || strings.HasSuffix(f.Unit, "/s")
	case measure.ScopeOutput:
		return measure.KindOfOutput(f.Name, f.Direction()) != measure.OfOther
	}
	return true
}

// Condition reports whether the bound of a number that is no speed is broken, which comes before any change of speed.
func (f *Finding) Condition() bool {
	return f.Fails() && !f.OfSpeed() && f.Bounded()
}

// Increased reports whether a finding is an increased count that no rule limits. It never fails a gate.
func (f *Finding) Increased() bool {
	return f.ReasonKey == KeyIncreased || f.ReasonKey == KeyCountFromZero
}

// MoreRuns is the number of runs a side that would settle a finding, 0 where it is unknown.
func (f *Finding) MoreRuns() int {
	for _, x := range f.Also {
		if n, ok := x.Args["runs"].(Number); ok && x.Key == KeyMoreRuns {
			return int(n)
		}
	}
	return 0
}

// Harm is the change for the worse: positive where the head is slower, or puts out less.
func (f *Finding) Harm() float64 {
	return -float64(f.Direction()) * float64(f.Change)
}

// Direction is the way in which the finding's metric gets better.
func (f *Finding) Direction() measure.Direction {
	m, _ := measure.MetricByName(f.Metric)
	return cmp.Or(m.Better, f.Better)
}

// Confidence of the printed intervals. A change is within its limit where the interval ends below it: a one-sided test
// at 5 % of being worse by the limit (non-inferiority).
const Confidence = 0.9

// Power of the smallest change that a comparison detects, see [Finding.MDE].
const Power = 0.8
