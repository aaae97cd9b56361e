package decide

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/recorded"
	"github.com/nsgate/nsgate/gate/internal/stats"
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
	var sessions []modeSession
	at := 0
	for i, side := range []*recorded.Index{t.Base, t.Head} {
		for j := range side.Sessions {
			s := &side.Sessions[j]
			runs := s.Runs[:s.Profiled()]
			if e.Metric.Unprofiled() {
				runs = s.Runs[s.Profiled():]
			}
			sessions = append(sessions, modeSession{s, i == 1, runs, e.modes.members[at : at+len(runs)]})
			at += len(runs)
		}
	}
	kernel := ""
	if !e.Metric.Unprofiled() {
		kernel = t.chosen(e)
	}
	switch {
	case kernel != "":
		return "kernel " + kernel
	case afterPause(sessions):
		return "a pause before the run"
	case onLowClock(sessions):
		return "a lower clock"
	case onSomeHost(sessions):
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
	in, shortest, longest := 0, time.Duration(math.MaxInt64), time.Duration(0)
	for _, s := range sessions {
		for i, run := range s.runs {
			pause := time.Duration(math.MaxInt64)
			if i > 0 {
				pause = run.Start.Sub(s.runs[i-1].Start)
			}
			switch s.members[i] {
			case 'x':
				in, shortest = in+1, min(shortest, pause)
			case 'o':
				longest = max(longest, pause)
			}
		}
	}
	return in > 1 && longest > 0 && shortest > longest
}

// apart are the sessions with a run in the mode, and those without any.
func apart(sessions []modeSession) (with, without []modeSession) {
	for _, s := range sessions {
		if strings.Contains(s.members, "x") {
			with = append(with, s)
		} else {
			without = append(without, s)
		}
	}
	return with, without
}

// onLowClock reports whether the sessions with the mode ran at a lower clock than any other.
func onLowClock(sessions []modeSession) bool {
	with, without := apart(sessions)
	highest, lowest := 0, math.MaxInt
	for _, s := range with {
		highest = max(highest, s.ClockMHz)
	}
	for _, s := range without {
		lowest = min(lowest, s.ClockMHz)
	}
	return len(without) > 0 && highest > 0 && float64(highest) < float64(lowest)*(1-stats.LevelStep)
}

// onSomeHost reports whether some hosts of the head have the mode, and others do not.
func onSomeHost(sessions []modeSession) bool {
	with, without := apart(slices.DeleteFunc(sessions, func(s modeSession) bool { return !s.head || s.GPUHash == "" }))
	return len(with) > 0 && len(without) > 0 && !slices.ContainsFunc(with, func(x modeSession) bool {
		return slices.ContainsFunc(without, func(y modeSession) bool { return x.GPUHash == y.GPUHash })
	})
}
