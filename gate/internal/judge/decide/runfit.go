package decide

import (
	"maps"
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/judge/recorded"
	"github.com/nsgate/nsgate/gate/internal/judge/stats"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
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
				times[run] = math.Log(v)
				if !(v > 0) {
					times[run] = math.NaN()
				}
			}
			logs = append(logs, times)
		}
		fits[i].moves, fits[i].effects = stats.MedianPolish(logs, fits[i].own)
	}
	return fits
}

// in are the changes of the kernels in a run.
func (f *runFit) in(run int) (moves []float64) {
	moves = measure.Map(f.moves, func(kernel []float64) float64 { return kernel[run] })
	return stats.Known(moves)
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
		moves := f.in(run)
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
		var moves []float64
		for _, kernel := range f.moves {
			if others := stats.Known(kernel[f.own:]); len(others) > 0 {
				moves = append(moves, stats.Median(others))
			}
		}
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
	by, with := stats.Median(moves), 0
	for _, v := range moves {
		if v/by > alike {
			with++
		}
	}
	if math.Abs(by) > least && float64(with) >= agree*float64(len(moves)) {
		return math.Expm1(by)
	}
	return 0
}

// onLevel reports whether one of the values lies nearer to a move than to no move.
func onLevel(by float64, values []float64) bool {
	return slices.ContainsFunc(values, func(v float64) bool { return math.Abs(v/by-1) < alike })
}
