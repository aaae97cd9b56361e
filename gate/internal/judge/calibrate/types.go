package calibrate

import (
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/judge/recorded"
	"github.com/nsgate/nsgate/gate/internal/judge/stats"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
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

// Fingerprint says how the kernels of a workload on this host compare with those in the sessions of a baseline, board
// by board: another board differs like this, and so may another program. No verdict depends on it.
func Fingerprint(host model.Session, baseline []model.Session, share float64) []result.Remark {
	fits := slices.DeleteFunc(slices.Clone(baseline), func(s model.Session) bool {
		return s.GPU != host.GPU || s.Profiler() != host.Profiler() ||
			model.SameSession(s.Environment, host.Environment)
	})
	if len(fits) == 0 {
		return []result.Remark{result.Say(HostAlone{host.GPU})}
	}
	var out []result.Remark
	here := recorded.New([]model.Session{host}, measure.Total)
	judged := recorded.Kernels(here.Subjects())
	for _, board := range recorded.Boards(fits) {
		of := slices.DeleteFunc(slices.Clone(fits), func(s model.Session) bool { return s.Board != board })
		there := recorded.New(of, measure.Total)
		both, moved, most, kernel := 0, 0, 0.0, ""
		for _, s := range judged {
			was, is := there.Typical(s, measure.Time.Name), here.Typical(s, measure.Time.Name)
			change := is/was - 1
			if here.Share(s) >= share && was > 0 && is > 0 {
				both++
				if math.Abs(change) >= stats.LevelStep {
					moved++
				}
				if math.Abs(change) > math.Abs(most) {
					most, kernel = change, s.Short()
				}
			}
		}
		n := len(of)
		switch {
		case both == 0:
			out = append(out, result.Say(HostForeign{n, board}))
		case moved == 0:
			out = append(out, result.Say(HostAlike{Sessions: n, Kernels: both, Board: board, Least: stats.LevelStep}))
		default:
			out = append(out, result.Say(HostApart{Sessions: n, Moved: moved, Kernels: both, Board: board,
				Kernel: kernel, Change: result.Number(most), Least: stats.LevelStep}))
		}
	}
	return out
}

func (c *Calibration) warn(r result.Reason) {
	x := result.Say(r)
	c.Doubts, c.Warnings = append(c.Doubts, x), append(c.Warnings, x.Sentence)
}

var (
	_ = result.Keyed("last-session", LastSession{}, "Only the last of several sessions is used.")
	_ = result.Keyed("false-alarms", FalseAlarms{}, "Unchanged gates failed more often than the policy allows.")
	_ = result.Keyed("host-alone", HostAlone{}, "There is no other session to compare the host with.")
	_ = result.Keyed("host-foreign", HostForeign{}, "The host shares no kernel with other sessions.")
	_ = result.Keyed("host-alike", HostAlike{}, "No kernel differs from other sessions.")
	_ = result.Keyed("host-apart", HostApart{}, "Kernels differ from other sessions, as on another class of host.")
)

type LastSession struct{ Sessions int }

func (r LastSession) String() string {
	return "of " + measure.Count(r.Sessions, "session") +
		" only the last is used: a calibration is about one GPU at one time"
}

type FalseAlarms struct {
	Alarms, Gates int
	Alpha         result.Number
}

func (r FalseAlarms) String() string {
	return result.Number(r.Alarms).Text() + " of " + measure.Count(r.Gates, "unchanged gate") +
		" failed, more than the " + r.Alpha.Percent() +
		" that the policy allows: the runs are not alike; do not rely on this limit here"
}

type HostAlone struct{ GPU string }

func (r HostAlone) String() string {
	return "the baseline has no other session on " + r.GPU + " to compare this host with"
}

type HostForeign struct {
	Sessions int
	Board    string
}

func (r HostForeign) String() string {
	return "this host has no kernel in common with " + on(r.Sessions, r.Board)
}

func on(sessions int, board string) string {
	return measure.Count(sessions, "session") + result.Given(board, " on board ", board)
}

type HostAlike struct {
	Sessions, Kernels int
	Board             string
	Least             result.Number
}

func (r HostAlike) String() string {
	return "none of " + measure.Count(r.Kernels, "kernel") + " differs by " + r.Least.Percent() + " from " +
		on(r.Sessions, r.Board)
}

type HostApart struct {
	Sessions, Moved, Kernels int
	Board, Kernel            string
	Change, Least            result.Number
}

func (r HostApart) String() string {
	return r.Kernel + " is " + r.Change.Change() + " against " + on(r.Sessions, r.Board) + ", and " +
		result.Number(r.Moved).Text() + " of " + measure.Count(r.Kernels, "kernel") + " by " + r.Least.Percent() +
		" or more: this host may be of another class, or the program another one"
}
