// Package gate compares recorded runs of a GPU program with a baseline and returns a verdict.
//
// A [Session] holds the values that were measured in the runs of one host; [Compare] judges the sessions of a head by those of a
// baseline under a policy of package thresholds. The command line is package command.
package gate

import (
	"github.com/nsgate/nsgate/gate/internal/decide"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// The types of a comparison.
type (
	// Session is the measured values of the runs that one host took close together in time.
	Session = model.Session
	// Report is the result of a comparison; it is not changed after it is returned.
	Report = result.Report
	// Finding is the comparison of one metric of one subject.
	Finding = result.Finding
	// Verdict is the answer of a gate: pass, fail or no verdict.
	Verdict = result.Verdict
	// Outcome is the answer of one finding.
	Outcome = result.Outcome
)

// The verdicts.
const (
	Pass      = result.Pass
	Fail      = result.Fail
	NoVerdict = result.NoVerdict
)

// Compare judges the head by the baseline. Input that cannot be judged is a report with [NoVerdict] and the reason.
func Compare(baseline, head []Session, policy *thresholds.Policy) *Report {
	return decide.Judge(decide.Input{Baseline: baseline, Head: head, Policy: policy})
}
