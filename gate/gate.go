// Package gate compares recorded runs of a GPU program with a baseline and returns a verdict, as nsgate compare does.
//
// A [Recording] is one side of a comparison: [ReadBaseline] reads committed sessions, [ReadProfile] what a profiler
// wrote, and [NewSession] takes values that were measured elsewhere. [Compare] judges a head by a baseline under a
// policy of package thresholds. The command line is package command.
package gate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/explain/insight"
	"github.com/nsgate/nsgate/gate/internal/judge/decide"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/baseline"
	"github.com/nsgate/nsgate/gate/internal/read/profile"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// Verdict is the answer of a gate.
type Verdict string

// The verdicts. NoVerdict is never a pass: the data cannot carry a decision.
const (
	Pass      Verdict = "pass"
	Fail      Verdict = "fail"
	NoVerdict Verdict = "no-verdict"
)

// Outcome is the answer of the comparison of one metric of one subject.
type Outcome string

// The outcomes of a comparison.
const (
	Slower      Outcome = "slower"       // worse beyond the limit, and certainly so; an increased count likewise
	Faster      Outcome = "faster"       // better beyond the limit, and certainly so
	WithinLimit Outcome = "within limit" // the interval of the change ends below the limit
	BelowFloor  Outcome = "below floor"  // the interval lies beyond the limit in part, and within the absolute floor
	Undecided   Outcome = "undecided"    // the runs do not tell
	New         Outcome = "new"          // only the head has it
	Gone        Outcome = "gone"         // only the baseline has it
)

// Decision is the result of a comparison.
type Decision struct {
	Verdict   Verdict
	Undecided bool      // the data does not exclude a regression that would fail the gate
	Reason    string    // the verdict in one sentence
	Next      []string  // what to do about it, one step each
	Findings  []Finding // worst first
	Warnings  []string  // doubts about the comparison
}

// Finding is the comparison of one metric of one subject.
type Finding struct {
	Subject Subject
	Metric  string // "time", "total", "step_time"
	Unit    string // of Baseline and Head: "ns", "B", "count"
	// Baseline and Head are the values that are judged, NaN where a side has none.
	Baseline, Head float64
	// Change is Head/Baseline - 1, Low and High are the ends of its 90 % interval; NaN where there is none.
	Change, Low, High float64
	Outcome           Outcome
	// Fails is true where the finding fails the gate: it is Slower, and neither policy nor cost excuses it.
	Fails  bool
	Reason string // why it has this outcome, and what would decide an undecided one
}

// String is the finding in one line, without its reason.
func (f Finding) String() string {
	interval := measure.ChangeInterval(f.Change, f.Low, f.High)
	change := measure.Change(f.Change) + result.Given(interval, " (", interval, ")")
	return fmt.Sprintf("%s %s %s → %s %s: %s", f.Subject, f.Metric, measure.Quantity(f.Baseline, f.Unit),
		measure.Quantity(f.Head, f.Unit), change, f.Outcome)
}

// Refusal is the error of a recording that must not be judged: damaged, lossy, or of a kind that is not read.
type Refusal struct {
	Kind   string // as the manual's page on refusals lists them: "truncated"
	Reason string // one sentence
	Next   string // what to do about it, "" where that is not known
}

func (r *Refusal) Error() string { return (&model.Refusal{Reason: r.Reason, Next: r.Next}).Error() }

// refused turns a refusal of a reader into a [Refusal].
func refused(err error) error {
	if r := (*model.Refusal)(nil); errors.As(err, &r) {
		return &Refusal{Kind: string(r.Kind), Reason: r.Reason, Next: r.Next}
	}
	return err
}

// Compare judges the head by the baseline under a [thresholds.Policy], or under what that holds for one workload.
// Sides that cannot be compared have [NoVerdict] and the reason; the error is that of ctx, of a nil policy or
// recording, or of a policy that was not made by package thresholds.
func Compare(ctx context.Context, policy interface {
	For(workload string) *thresholds.Resolved
}, baseline, head *Recording) (*Decision, error) {
	if policy == nil || baseline == nil || head == nil {
		return nil, errors.New("a comparison takes a policy, a baseline and a head, none of them nil")
	}
	resolved := policy.For("")
	if !(resolved.Alpha > 0 && resolved.Alpha < 1) {
		return nil, fmt.Errorf("the policy has the error %v; make it with thresholds.Default or Parse", resolved.Alpha)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	b, h, err := profile.Sides(profile.Rule{}, &baseline.recorded, &head.recorded)
	if r := (*model.Refusal)(nil); errors.As(err, &r) {
		return decision(insight.Refuse(decide.Input{Policy: resolved}, r)), nil
	}
	if err = cmp.Or(err, ctx.Err()); err != nil {
		return nil, err
	}
	d := decision(insight.Judge(decide.Input{Baseline: b, Head: h, Policy: resolved}))
	d.Warnings = slices.Concat(d.Warnings, baseline.recorded.Warnings, head.recorded.Warnings)
	return d, nil
}

func decision(r *result.Report) *Decision {
	d := &Decision{Verdict: Verdict(r.Verdict), Undecided: r.Undecided, Reason: r.Reason, Next: r.Next,
		Warnings: slices.Clone(r.Warnings)}
	for i := range r.Findings {
		f := &r.Findings[i]
		d.Findings = append(d.Findings, Finding{
			Subject: Subject{Scope: Scope(f.Scope), Name: f.Name, Grid: f.Grid, Block: f.Block},
			Metric:  f.Metric, Unit: f.Unit, Baseline: float64(f.Base), Head: float64(f.Head),
			Change: float64(f.Change), Low: float64(f.Low), High: float64(f.High),
			Outcome: Outcome(f.Outcome), Fails: f.Outcome == result.Slower && f.Gates, Reason: f.Reason,
		})
	}
	return d
}

// Recording is the recorded runs of one workload, in one or more sessions. A comparison does not change it.
type Recording struct{ recorded profile.Recording }

// Add adds the runs of another recording of the same workload.
func (r *Recording) Add(o *Recording) { r.recorded.Add(&o.recorded) }

// ReadBaseline reads the sessions in effect of a baseline, whose files are in dir, such as ".nsgate/WORKLOAD/GPU".
// Where there are none the error is [io/fs.ErrNotExist]; every other error names the line of a file.
func ReadBaseline(dir string) (*Recording, error) {
	sessions, err := baseline.Read(dir)
	if err != nil {
		return nil, refused(err)
	}
	return &Recording{profile.Recording{Source: dir, Finished: sessions}}, nil
}

// ReadProfile reads a recording: a profiler's file, a directory with a file a run, a baseline, or a JSON report of
// nsgate. Reports that only their profiler reads take it on the PATH. metrics are further counters of single launches
// to read, see [thresholds.Policy.RawMetrics]. A recording that must not be judged is a [*Refusal].
func ReadProfile(ctx context.Context, path string, metrics ...string) (*Recording, error) {
	r, err := profile.Tools{Metrics: metrics}.Open(ctx, path)
	if err != nil {
		return nil, refused(err)
	}
	return &Recording{*r}, nil
}
