package decide

import (
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/recorded"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/stats"
	"github.com/nsgate/nsgate/gate/measure"
)

// offMost is the part of a session's runs, rounded down, that may be left out for being off as a whole.
const offMost = 0.25

// asOne is the relative change of a run of which these are the kernels' changes on the log scale, where it is more than least and
// nearly every kernel moves with it; else 0.
func asOne(moves []float64, least float64) float64 {
	const agree = 0.8
	by, with := stats.Median(moves), 0
	for _, v := range moves {
		if v/by > 0.5 {
			with++
		}
	}
	if math.Abs(by) > least && float64(with) >= agree*float64(len(moves)) {
		return math.Expm1(by)
	}
	return 0
}

// leaveOut finds the runs of either side that are off as a whole. What was decided without them might have been decided with
// them: those are two looks at the data, so each may spend half of the gate's error (Bonferroni).
func (t trial) leaveOut() trial {
	for i, side := range []*recorded.Index{t.base, t.head} {
		for j := range side.Sessions {
			off := offRuns(side, j, t)
			for run := range side.Sessions[j].Profiled() {
				if by, ok := off[run]; ok {
					t.off = append(t.off, result.Off{Side: sideNames[i], Session: j, Run: run, Change: result.Number(by)})
				}
			}
		}
	}
	if len(t.off) > 0 {
		policy := *t.policy
		policy.Alpha /= 2
		t.policy = &policy
	}
	return t
}

// judged is a pair without the samples of runs that are left out, but for what is counted. Kernels say nothing of untraced runs.
func (t trial) judged(p pair) pair {
	p.shown = [2][][]float64{p.base, p.head}
	if p.metric.Exact || p.metric.Unprofiled() || !p.compared() {
		return p
	}
	for _, off := range t.off {
		samples := &p.base
		if off.Side != sideNames[0] {
			samples = &p.head
		}
		*samples = slices.Clone(*samples)
		(*samples)[off.Session] = slices.Clone((*samples)[off.Session])
		(*samples)[off.Session][off.Run] = math.NaN()
	}
	if p.isStep() {
		return steadied(p)
	}
	return p
}

// leftOut says which runs were left out.
func leftOut(t trial) []result.Remark {
	var out []result.Remark
	for _, off := range t.off {
		out = append(out, result.NewRemark("off", result.Args{"run": result.Number(off.Run + 1), "side": off.Side, "change": off.Change}))
	}
	return out
}

// offRuns finds the runs of a session that are off as a whole: by more than 1 % and far more than the others differ, and so that
// nearly every kernel moves with it. None where there are more than a few: then that is how the program runs.
func offRuns(s *recorded.Index, session int, t trial) map[int]float64 {
	const far = 8
	n := s.Sessions[session].Profiled() // which come first
	moves := make([][]float64, n)       // by run, one a kernel, on the log scale
	for _, subject := range s.Subjects() {
		x := s.Held[subject].In(session, t.time.Name)
		if subject.Scope != measure.ScopeKernel || x == nil || s.Share(subject) < t.policy.Impact {
			continue
		}
		times := s.Sessions[session].Of(x)
		centre := stats.Median(stats.Known(times))
		for run, v := range times {
			if v > 0 {
				moves[run] = append(moves[run], math.Log(v/centre))
			}
		}
	}
	shifts := make([]float64, n)
	for run := range shifts {
		shifts[run] = stats.Median(moves[run])
	}
	least := math.Max(CommonSize, far*math.Max(stats.MAD(stats.Known(shifts)), math.Sqrt(stats.RunPrior.S2)))
	off := map[int]float64{}
	for run := range moves {
		if by := asOne(moves[run], least); by != 0 && len(moves[run]) >= commonLeast {
			off[run] = by
		}
	}
	if len(off) > int(offMost*float64(n)) {
		return nil
	}
	return off
}
