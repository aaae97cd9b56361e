package decide

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate/internal/judge/recorded"
	"github.com/nsgate/nsgate/gate/internal/judge/stats"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// modeSession is a session with the members of a mode among its runs.
type modeSession struct {
	*model.Session
	head    bool
	runs    []model.Run
	members string
}

// follows says what the runs in a mode share and the others lack: a kernel, a pause before them, a lower clock, a host.
// It is "" where the runs show nothing.
func (t comparison) follows(e *estimate) string {
	var with, without []modeSession // any run in the mode
	members, unprofiled := e.modes.members, e.Metric.Unprofiled()
	for i, side := range []*recorded.Index{t.Base, t.Head} {
		for j := range side.Sessions {
			s := &side.Sessions[j]
			runs := s.Runs[:s.Profiled()]
			if unprofiled {
				runs = s.Runs[s.Profiled():]
			}
			x := modeSession{s, i == 1, runs, members[:len(runs)]}
			if strings.Contains(x.members, "x") {
				with = append(with, x)
			} else {
				without = append(without, x)
			}
			members = members[len(runs):]
		}
	}
	kernel := ""
	if !unprofiled {
		kernel = t.chosen(e)
	}
	switch {
	case kernel != "":
		return "kernel " + kernel
	case afterPause(slices.Concat(with, without)):
		return "a pause before the run"
	case onLowClock(with, without):
		return "a lower clock"
	case onSomeHost(with, without):
		return "the host"
	}
	return ""
}

// chosen is another kernel that the runs in the mode launch, and no other run does.
func (t comparison) chosen(e *estimate) string {
	for _, s := range recorded.Kernels(t.Head.Subjects()) {
		launches := slices.Concat(t.Base.Values(s, measure.Launches.Name)...)
		launches = append(launches, slices.Concat(t.Head.Values(s, measure.Launches.Name)...)...)
		differs := false
		for run, member := range e.modes.members {
			differs = differs || member != '-' && (launches[run] > 0) != (member == 'x')
		}
		if !differs && s != e.Subject {
			return s.Short()
		}
	}
	return ""
}

// afterPause reports whether two or more runs are in the mode, each of which began longer after the run before it than
// any other run. The first run of a session began after a pause.
func afterPause(sessions []modeSession) bool {
	pauses := map[byte][]time.Duration{} // by member
	for _, s := range sessions {
		for i, run := range s.runs {
			pause := time.Duration(math.MaxInt64)
			if i > 0 {
				pause = run.Start.Sub(s.runs[i-1].Start)
			}
			pauses[s.members[i]] = append(pauses[s.members[i]], pause)
		}
	}
	in, others := pauses['x'], pauses['o']
	return len(in) > 1 && len(others) > 0 && slices.Max(others) > 0 && slices.Min(in) > slices.Max(others)
}

// onLowClock reports whether the sessions with the mode ran at a lower clock than any other.
func onLowClock(with, without []modeSession) bool {
	clock := func(s modeSession) int { return s.ClockMHz }
	if len(with) == 0 || len(without) == 0 {
		return false
	}
	highest, lowest := slices.Max(measure.Map(with, clock)), slices.Min(measure.Map(without, clock))
	return highest > 0 && float64(highest) < float64(lowest)*(1-stats.LevelStep)
}

// onSomeHost reports whether some hosts of the head have the mode, and others do not.
func onSomeHost(with, without []modeSession) bool {
	hosts := func(sessions []modeSession) (out []string) {
		for _, s := range sessions {
			if s.head && s.GPUHash != "" {
				out = append(out, s.GPUHash)
			}
		}
		return out
	}
	some, others := hosts(with), hosts(without)
	return len(some) > 0 && len(others) > 0 &&
		!slices.ContainsFunc(some, func(host string) bool { return slices.Contains(others, host) })
}
