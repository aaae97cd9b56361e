package decide

import (
	"maps"
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/reason"
	"github.com/nsgate/nsgate/gate/internal/recorded"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/stats"
	"github.com/nsgate/nsgate/gate/measure"
)

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
func (t comparison) leaveOut() comparison {
	for i, side := range []*recorded.Index{t.base, t.head} {
		for j := range side.Sessions {
			off := offRuns(side, []*recorded.Index{t.head, t.base}[i], j, t)
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
func (t comparison) judged(p pair) pair {
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
		return winsorised(p)
	}
	return p
}

// leftOut says which runs were left out.
func leftOut(t comparison) []result.Remark {
	var out []result.Remark
	for _, off := range t.off {
		out = append(out, result.Say(reason.OutlierRun{Run: off.Run + 1, Side: off.Side, Change: off.Change}))
	}
	return out
}

// offRuns finds the runs of a session that are off as a whole: by more than 1 % and far more than the others differ, and so that
// nearly every kernel moves with it. None where there are more than a few: then that is how the program runs. Nor is a run
// off at whose level runs of the other side are: then both have two levels.
func offRuns(s, other *recorded.Index, session int, t comparison) map[int]float64 {
	const far = 8
	moves := moves(s, other, session, t)
	shifts := make([]float64, len(moves))
	for run := range shifts {
		shifts[run] = stats.Median(moves[run])
	}
	n := s.Sessions[session].Profiled()
	least := math.Max(CommonSize, far*math.Max(stats.MAD(stats.Known(shifts[:n])), math.Sqrt(stats.RunPrior.S2)))
	off := map[int]float64{}
	for run := range n {
		if by := asOne(moves[run], least); by != 0 && len(moves[run]) >= commonLeast {
			off[run] = by
		}
	}
	if len(off) > int(offMost*float64(n)) {
		return nil
	}
	maps.DeleteFunc(off, func(run int, _ float64) bool { return onLevel(shifts[run], shifts[n:]) })
	return off
}

// onLevel reports whether one of the values lies nearer to a move than to no move.
func onLevel(by float64, values []float64) bool {
	return slices.ContainsFunc(values, func(v float64) bool { return v/by > 0.5 && v/by < 1.5 })
}

// moves are the changes of kernels in each run of a session, and then in each run of the other side, from the median run of
// that session, on the log scale.
func moves(s, other *recorded.Index, session int, t comparison) [][]float64 {
	n := s.Sessions[session].Profiled() // which come first
	out := make([][]float64, n+other.Runs())
	for _, subject := range s.Subjects() {
		x := s.Entries[subject].In(session, t.time.Name)
		if subject.Scope != measure.ScopeKernel || x == nil || s.Share(subject) < t.policy.Impact {
			continue
		}
		times := s.Sessions[session].Of(x)
		centre := stats.Median(stats.Known(times))
		for run, v := range slices.Concat(times, slices.Concat(other.Values(subject, t.time.Name)...)) {
			if v > 0 && run < len(out) {
				out[run] = append(out[run], math.Log(v/centre))
			}
		}
	}
	return out
}

// drawn is an estimate of a kernel's or a sum's time whose outlier runs are drawn to where the others of their session lie
// (winsorizing, as steps are): one run neither makes a finding nor hides one. A run at whose level the other side has runs is none.
func drawn(t comparison, e estimate, run stats.Variance) (estimate, bool) {
	if e.metric.Exact || e.metric.Unprofiled() || e.metric.Unit != measure.Time.Unit || e.isStep() || !e.relative {
		return e, false
	}
	p, any := e.pair, false
	for i, side := range []*[][]float64{&p.base, &p.head} {
		other := stats.Pooled([][][]float64{e.head, e.base}[i])
		sessions := slices.Clone(*side)
		for j := range sessions {
			var some bool
			sessions[j], some = drawIn(sessions[j], other, math.Sqrt(run.S2))
			any = any || some
		}
		*side = sessions
	}
	if !any {
		return e, false
	}
	out := contrast(t, p)
	out.drawn = true
	return out, true
}

// drawIn draws the outliers of one session to the edge of the others, at most a fifth of the runs. sd is what
// runs are expected to differ by.
func drawIn(session, other []float64, sd float64) ([]float64, bool) {
	values := stats.Known(session)
	logs := stats.Transform([][]float64{values, other}, math.Log)
	centre := stats.Median(logs[0])
	var residuals []float64
	for _, v := range logs[0] {
		residuals = append(residuals, math.Abs(v-centre))
	}
	sd = math.Max(sd, stats.Median(residuals)/stats.NormalQuartile)
	for i := range logs[1] {
		logs[1][i] -= centre
	}
	var far []int
	for run, v := range session {
		by := math.Log(v) - centre
		if math.Abs(by) > math.Max(CommonSize, outlierFrom*sd) && !onLevel(by, logs[1]) {
			far = append(far, run)
		}
	}
	if len(far) == 0 || len(far) > int(drawnMost*float64(len(values))) {
		return session, false
	}
	out := slices.Clone(session)
	for _, run := range far {
		by := math.Log(session[run]) - centre
		out[run] = math.Exp(centre + math.Copysign(math.Min(math.Abs(by), outlierTo*sd), by))
	}
	return out, true
}
