package calibrate

import (
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// CalibrationSchema is the version of the JSON form of a Calibration. Fields are only ever added to it.
const CalibrationSchema = "nsgate.calibration/1"

// Calibration is the noise of one unchanged program on a machine, and what its gates can detect.
type Calibration struct {
	Schema string `json:"schema"`
	// Sound is false where the measurement says nothing about gates: Reason says why, Next what to do about it.
	Sound  bool   `json:"sound"`
	Reason string `json:"reason,omitempty"`
	// ReasonKey and ReasonArgs are the reason as a [Remark]: the kind of a refusal, or a reason.
	ReasonKey  string      `json:"reason_key,omitempty"`
	ReasonArgs result.Args `json:"reason_args,omitempty"`
	Next       []string    `json:"next,omitempty"`

	Workload string      `json:"workload,omitempty"`
	Measured result.Side `json:"measured"`
	// SecondsPerRun is the wall time of a run, its part of the profiler's time included; unknown for finished profiles.
	SecondsPerRun result.Number `json:"seconds_per_run"`
	Threshold     result.Number `json:"threshold"` // the policy's limit of times
	Rule          string        `json:"rule"`      // where it comes from
	Alpha         result.Number `json:"alpha"`     // the policy's chance of a false alarm a gate

	// the workload and its step, the outputs, then kernels of 0.5 % of GPU time and more, noisiest first
	Noise []Noise        `json:"noise"`
	Gates UnchangedGates `json:"gates"`
	MDE   []MDE          `json:"mde"`  // by runs
	Plan  []Plan         `json:"plan"` // by threshold
	// Host compares this host with those of the baseline's sessions, see [Fingerprint]; none unless asked.
	Host     []result.Remark `json:"host,omitempty"`
	Warnings []string        `json:"warnings,omitempty"`
	Doubts   []result.Remark `json:"doubts,omitempty"` // warnings from the calibration itself, as data
}

// Noise is the spread between and within runs of one metric of a kernel, of the workload's GPU time, or of an output.
type Noise struct {
	result.Named
	Scope    measure.Scope `json:"scope"`
	Role     string        `json:"role,omitempty"`
	Metric   string        `json:"metric"`
	Unit     string        `json:"unit"`
	Share    result.Number `json:"share"`    // of the workload's GPU time
	Launches result.Number `json:"launches"` // per step, or per run where there are no steps; the median run's
	Typical  result.Number `json:"typical"`  // the median run, in Unit
	SD       result.Number `json:"sd"`       // between runs, relative
	// Within is how much the launches of the median run differ, as a robust relative standard deviation; nil for the
	// workload, for kernels of few launches, and in sessions that were recorded without it.
	Within *result.Number `json:"within,omitempty"`
	MDE    result.Number  `json:"mde"` // relative, with as many runs a side as Gates has, whatever the limit
	// Detects is the same beyond the limit, as reports print it; null without a limit.
	Detects result.Number   `json:"detects"`
	Runs    []result.Number `json:"runs"` // in the order in which they ran; null where a run had none
	Levels  *Levels         `json:"levels,omitempty"`
}

// Levels are the two values of a bimodal kernel, see [stats.Levels].
type Levels struct {
	Low  result.Number `json:"low"`
	High result.Number `json:"high"`
	Runs int           `json:"runs"` // at Low
}

// UnchangedGates counts the verdicts of gates whose baseline and head are random runs of the same session, so that
// every regression is a false alarm. Gates share runs, so that the bounds hold for gates of these runs.
type UnchangedGates struct {
	Runs      int `json:"runs"`      // a side
	Gates     int `json:"gates"`     // different draws
	Alarms    int `json:"alarms"`    // that failed
	Undecided int `json:"undecided"` // that passed undecided or had no verdict
	// FixedAlarms is how many of the same draws fail where one run of each side is held against the limits alone.
	FixedAlarms int `json:"fixed_alarms"`
	// AlarmBound and UndecidedBound are the rates that are not exceeded with this confidence, 0.95 (Clopper-Pearson).
	AlarmBound     result.Number `json:"alarm_bound"`
	UndecidedBound result.Number `json:"undecided_bound"`
	Confidence     result.Number `json:"confidence,omitempty"`
}

// MDE is the smallest relative slowdown that is found in 80 % of cases with so many runs a side in one session.
type MDE struct {
	Runs     int           `json:"runs"`
	Workload result.Number `json:"workload"` // of the workload's GPU time, whatever the limit
	// of each kernel from 5 % of GPU time on, whatever the limit; unknown without any
	Kernels result.Number `json:"kernels"`
	Limited result.Number `json:"limited"` // of all these and the outputs, under the policy's limits
}

// Plan is the smallest number of runs a side that finds a slowdown of 1.5 limits in 80 % of cases. It covers the
// workload's GPU time, each kernel from 5 % of it and, with as many unprofiled runs, each output..
type Plan struct {
	Threshold result.Number `json:"threshold"`
	Runs      int           `json:"runs"`    // a side, 0 where more than 40 would be needed
	Seconds   result.Number `json:"seconds"` // to measure one side; unknown for finished profiles
	// Hardest is the subject that needs the most runs: a kernel's short name or "workload".
	Hardest string        `json:"hardest"`
	MDE     result.Number `json:"mde"` // of Hardest with so many runs, or with 40
}
