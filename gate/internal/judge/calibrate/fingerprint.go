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
