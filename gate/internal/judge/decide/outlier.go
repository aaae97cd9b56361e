package decide

import (
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/nsgate/nsgate/gate/internal/explain/reason"
	"github.com/nsgate/nsgate/gate/internal/judge/match"
	"github.com/nsgate/nsgate/gate/internal/judge/recorded"
	"github.com/nsgate/nsgate/gate/internal/judge/stats"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// runFit is the fit of the kernel times of one session, log time = kernel + run. Behind the runs of the session stand
// those of the other side. Outlier runs, the trend and the common shift are read from it.
type runFit struct {
	own     int         // profiled runs of the session
	moves   [][]float64 // by kernel and run: from the kernel's effect, NaN where it was not measured
	effects []float64   // of the runs: the median of the kernels' moves
}

// newRunFits fits every session of a side.
func newRunFits(s, other *recorded.Index, time measure.Metric) []runFit {
	fits := make([]runFit, len(s.Sessions))
	for i := range fits {
		session := &s.Sessions[i]
		fits[i].own = session.Profiled()
		var logs [][]float64
		for _, subject := range recorded.Kernels(s.Subjects()) {
			x := s.Entries[subject].In(i, time.Name)
			if x == nil || s.Share(subject) < recorded.KernelShare {
				continue
			}
			times := slices.Concat(append([][]float64{session.Of(x)}, other.Values(subject, time.Name)...)...)
			for run, v := range times {
				times[run] = measure.Either(v > 0, math.Log(v), math.NaN())
			}
			logs = append(logs, times)
		}
		fits[i].moves, fits[i].effects = stats.MedianPolish(logs, fits[i].own)
	}
	return fits
}

// outliers are the runs of the session that are outliers as a whole, with their relative change: nearly every kernel
// differs by more than 1 %, and far more than between the other runs. There are none where more than a few differ,
// because that is how the program runs. Nor is a run one at whose level the other side has runs, because then both
// are bimodal.
func (f *runFit) outliers() map[int]float64 {
	if len(f.moves) < 2 {
		return nil
	}
	own, others := f.effects[:f.own], f.effects[f.own:]
	spread := math.Max(stats.MAD(stats.Known(own)), math.Sqrt(stats.RunPrior.S2))
	outliers := map[int]float64{}
	for run := range own {
		moves := stats.Known(measure.Map(f.moves, func(kernel []float64) float64 { return kernel[run] }))
		if by := asOne(moves, math.Max(stats.LevelStep, outlierRunFrom*spread)); by != 0 && len(moves) > 1 {
			outliers[run] = by
		}
	}
	if len(outliers) > int(outlierRunsMost*float64(f.own)) {
		return nil
	}
	maps.DeleteFunc(outliers, func(run int, _ float64) bool { return onLevel(own[run], others) })
	return outliers
}

// OutlierRuns are the profiled runs of one session that are outliers as a whole, by index, each with its relative
// change.
func OutlierRuns(s model.Session, policy *thresholds.Resolved) map[int]float64 {
	return newComparison([]model.Session{s}, nil, policy).fits[0][0].outliers()
}

// shiftFrom is the common shift of nearly all kernels between the other side and the typical session of a side. It is 0
// without one, or with fewer kernels than the given number.
func shiftFrom(fits []runFit, kernels int, least float64) float64 {
	var shifts []float64
	for _, f := range fits {
		moves := stats.Known(measure.Map(f.moves, func(kernel []float64) float64 {
			return stats.Median(stats.Known(kernel[f.own:])) // NaN where the other side lacks it
		}))
		if len(moves) >= kernels {
			shifts = append(shifts, asOne(moves, least))
		}
	}
	if len(shifts) == 0 {
		return 0
	}
	return stats.Median(shifts)
}

// trends reports whether the kernels of both sides get slower, or faster, from run to run of batches, as on a GPU
// that warms up. The product of the p-values of both trends is that of Fisher's method (1932) at 1 %.
func (t comparison) trends() bool {
	if !t.batches || len(t.Base.Sessions) != 1 || len(t.Head.Sessions) != 1 {
		return false
	}
	chance, direction := 1.0, 1.0
	for _, fits := range t.fits {
		if len(fits[0].moves) == 0 {
			return false
		}
		change, p := stats.Trend(fits[0].effects[:fits[0].own])
		chance, direction = chance*p, direction*change
	}
	return chance < trendP && direction > 0
}

// agree is the part of the kernels of a run, or of the rows of a file, that counts as nearly all.
const agree = 1 - 1.0/fewRuns

// asOne is the median of changes by kernel (log scale in, relative out), where it is larger than least and nearly every
// kernel moves with it; else 0.
func asOne(moves []float64, least float64) float64 {
	by := stats.Median(moves)
	with := measure.HowMany(moves, func(v float64) bool { return v/by > alike })
	return measure.Either(math.Abs(by) > least && float64(with) >= agree*float64(len(moves)), math.Expm1(by), 0)
}

// onLevel reports whether one of the values lies nearer to a move than to no move.
func onLevel(by float64, values []float64) bool {
	return slices.ContainsFunc(values, func(v float64) bool { return math.Abs(v/by-1) < alike })
}

// leaveOut finds the runs of either side that are outliers as a whole. Judging with or without them would be two looks
// at the data, so this one may spend half of the gate's error (Bonferroni).
func (t comparison) leaveOut() comparison {
	for i, side := range []*recorded.Index{t.Base, t.Head} {
		for j := range side.Sessions {
			outliers := t.fits[i][j].outliers()
			for _, run := range slices.Sorted(maps.Keys(outliers)) {
				t.outlierRuns = append(t.outlierRuns, result.OutlierRun{Side: recorded.SideNames[i], Session: j,
					Run: run, Change: result.Number(outliers[run])})
			}
		}
	}
	if len(t.outlierRuns) > 0 {
		policy := *t.Policy
		policy.Alpha /= 2
		t.Policy = &policy
	}
	return t
}

// judged is a pair without the samples of outlier runs, except for counts. Kernels say nothing of unprofiled runs.
func (t comparison) judged(x match.Pair) pair {
	p := pair{Pair: x, shown: [2][][]float64{x.Base, x.Head}}
	switch {
	case p.Metric.Exact, !p.Compared():
		return p
	case p.Metric.Unprofiled():
		return winsoriseStep(p)
	}
	for _, x := range t.outlierRuns {
		samples := measure.Either(x.Side == recorded.SideNames[0], &p.Base, &p.Head)
		*samples = slices.Clone(*samples)
		(*samples)[x.Session] = slices.Clone((*samples)[x.Session])
		(*samples)[x.Session][x.Run] = math.NaN()
	}
	if p.Metric.OnHost() {
		return winsoriseStep(p)
	}
	return p
}

// leftOutOfHead is why a gate has no verdict where two or more runs of the head were left out as slower, and fewer of
// the baseline: the program may be slower in some of its runs. Nil elsewhere.
func (t comparison) leftOutOfHead() *result.Remark {
	var slower [2]int
	most := 0.0
	for _, x := range t.outlierRuns {
		if x.Change > 0 {
			slower[slices.Index(recorded.SideNames[:], x.Side)]++
			most = math.Max(most, float64(x.Change))
		}
	}
	if slower[1] < 2 || slower[1] <= slower[0] {
		return nil
	}
	return result.Refuse(model.OutlierRun, "measure again with more runs, with the base build beside the head",
		"%d of %s of the head are slower in nearly all kernels, by up to %s, and %d of the baseline: "+
			"a neighbour or a clock does that as well as code",
		slower[1], measure.Count(t.Head.Runs(), "run"), result.Number(most).Change(), slower[0])
}

// movedRuns names the runs of the head that are outliers in something which can fail the gate, where the comparison
// does, is undecided, or the mean with the run in full would pass its limit. A run in a mode that both sides have is
// none.
func movedRuns(estimates []estimate, findings []result.Finding) []result.Remark {
	var says reason.OutlierValues
	for i, e := range estimates {
		f := &findings[i]
		// Start-up times vary, and have wide limits.
		section := e.Metric.OutsideSteps() || e.Subject.Scope == measure.ScopeSection
		if section || !f.Gates || e.small || e.modes.onBoth() {
			continue
		}
		raw, centre, name := slices.Concat(e.shown[1]...), stats.Median(stats.Pooled(e.Head)), f.Kernel
		if e.Subject == measure.Workload { // of the step the mean is another view
			name = result.Title(measure.Either(e.Metric.OnHost(), measure.StepTime, e.Metric).Name)
		}
		open := f.Outcome == result.Slower || f.Outcome == result.Undecided
		for _, run := range e.movedRuns {
			by := result.Number(raw[run]/centre - 1)
			if !open && !(f.Change+by/result.Number(len(raw)) > f.Limit) {
				continue
			}
			says.Runs, says.Of = measure.Once(says.Runs, runName(e.Metric, run)), measure.Once(says.Of, name)
			if math.Abs(float64(by)) > math.Abs(float64(says.Change)) {
				says.Change = by
			}
		}
	}
	return result.SayIf(says.Runs != nil, says)
}

// runName is the number of a run among those that have a metric, over all sessions, given its index there.
func runName(m measure.Metric, run int) string {
	kind := measure.Either(m.Unprofiled(), "unprofiled ", "")
	return kind + strconv.Itoa(run+1)
}

// winsoriseTime moves the outlier runs of a kernel's or a sum's time towards the others of their session, as those of
// steps are, and reports whether there is one: one run neither makes a finding nor hides one. A run at whose level the
// other side has runs is no outlier.
func winsoriseTime(t comparison, e *estimate, run stats.Variance) bool {
	m := e.Metric
	if m.Exact || m.Unprofiled() || m.Unit != measure.Time.Unit || m.OnHost() || !e.relative {
		return false
	}
	p, base, head := e.pair, stats.Pooled(e.Base), stats.Pooled(e.Head)
	near := func(other []float64) func([]float64) []float64 {
		return func(session []float64) []float64 { return winsorise(session, other, math.Sqrt(run.S2)) }
	}
	p.Base, p.Head = measure.Map(e.Base, near(head)), measure.Map(e.Head, near(base))
	p.movedRuns = differing(e.Head, p.Head)
	if len(p.movedRuns)+len(differing(e.Base, p.Base)) == 0 {
		return false
	}
	moved := newEstimate(t, p)
	moved.winsorised = true
	if e.modes.onBoth() {
		moved.modes = e.modes
	}
	*e = moved
	return true
}

// winsorise moves the outliers of one session to the edge of the others, at most a fifth of the runs. sd is the
// expected standard deviation between runs.
func winsorise(session, other []float64, sd float64) []float64 {
	values := stats.Known(session)
	logs := stats.Transform([][]float64{values, other}, math.Log)
	centre := stats.Median(logs[0])
	residuals := measure.Map(logs[0], func(v float64) float64 { return math.Abs(v - centre) })
	sd = math.Max(sd, stats.Median(residuals)/stats.NormalQuartile)
	for i := range logs[1] {
		logs[1][i] -= centre
	}
	var far []int
	beyond := 0
	for run, v := range session {
		by := math.Log(v) - centre
		if math.Abs(by) > math.Max(stats.LevelStep, outlierFrom*sd) {
			if beyond++; !onLevel(by, logs[1]) {
				far = append(far, run)
			}
		}
	}
	if len(far) == 0 || beyond > len(values)/fewRuns {
		return session
	}
	out := slices.Clone(session)
	for _, run := range far {
		by := math.Log(session[run]) - centre
		out[run] = math.Exp(centre + math.Copysign(math.Min(math.Abs(by), outlierTo*sd), by))
	}
	return out
}

// outlierValue names the one run of a session that lies far from all others, which widens the interval by itself.
func outlierValue(sides [2][][]float64) []result.Remark {
	const least = 4 // runs
	for i, side := range sides {
		for _, session := range side {
			runs := stats.Known(session)
			centre, spread := stats.Median(runs), stats.MAD(runs)
			far := slices.DeleteFunc(slices.Clone(runs), func(v float64) bool {
				return !(math.Abs(v-centre) > outlierRunFrom*spread && math.Abs(v-centre) > stats.LevelStep*centre)
			})
			if len(runs) >= least && len(far) == 1 {
				by := result.Number(far[0]/centre - 1)
				return []result.Remark{result.Say(reason.Outlier{Side: recorded.SideNames[i], Change: by})}
			}
		}
	}
	return nil
}
