package result

import (
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/thresholds"
)

// Basis is what a judgement depends on beside the sessions of the head: with them and the files of the baseline it can
// be repeated.
type Basis struct {
	// Policy is the one that held, with the keys that flags and variables set.
	Policy *thresholds.Resolved `json:"policy,omitempty"`
	// Against is "baseline", or "build" for a base build that was measured beside the head; "" for other recordings.
	Against string `json:"against,omitempty"`
	// Root is the directory of all baselines, as Baseline of the report is one of them; Files are the names of those that
	// the baseline held, and Anchor is that from which drift was measured, "" for the oldest.
	Root   string   `json:"root,omitempty"`
	Files  []string `json:"files,omitempty"`
	Anchor string   `json:"anchor,omitempty"`
	// Kernels are the short names of those that are judged, none for all.
	Kernels []string `json:"kernels,omitempty"`
	// Looks are the numbers of runs after which to judge, and Look counts those that were taken.
	Looks []int `json:"looks,omitempty"`
	Look  int   `json:"look,omitempty"`
}

// Decision is the answer of a gate: the verdict with its reason, the findings, and the error that they spent.
// Fields that a [Report] has too are described there.
type Decision struct {
	Verdict    Verdict
	Reason     string
	ReasonKey  string
	ReasonArgs Args
	Remedy     string // what to do about a refusal
	Undecided  bool

	Alpha, Confidence       Number
	Family                  int
	Boards                  Boards
	Paired, Batches, OneGPU bool
	Apart                   Number
	Detects                 *Detects
	OutlierRuns             []OutlierRun
	Waterfall               *Waterfall
	Code                    *Code
	Findings                []Finding
	HeadSessions            []model.Session
	Basis                   *Basis
}

// Explanation holds the explanations of a decision. It changes none.
type Explanation struct {
	Base, Head  Side
	Unjudged    *Unjudged
	Ranks       *Ranks
	Utilization []Utilization
	Overview    []OverviewRow
	Drawn       *Drawn
	Measured    *Summary
	Patterns    []Remark
	// Facts, Causes and Origins are those of findings, by index.
	Facts   map[int][]Remark
	Causes  map[int]*Cause
	Origins map[int]*Origin
	// Doubts and Remarks are said as Warnings and Notes too, which hold others beside them.
	Doubts, Remarks []Remark
	Warnings, Notes []string
	Next            []string
}

// Warn adds doubts about the comparison.
func (x *Explanation) Warn(doubts ...Remark) {
	x.Doubts, x.Warnings = append(x.Doubts, doubts...), append(x.Warnings, sentences(doubts)...)
}

// Note adds remarks on how the verdict came about.
func (x *Explanation) Note(remarks ...Remark) {
	x.Remarks, x.Notes = append(x.Remarks, remarks...), append(x.Notes, sentences(remarks)...)
}

// State adds facts about a finding.
func (x *Explanation) State(finding int, facts ...Remark) {
	if x.Facts == nil {
		x.Facts = map[int][]Remark{}
	}
	x.Facts[finding] = append(x.Facts[finding], facts...)
}
