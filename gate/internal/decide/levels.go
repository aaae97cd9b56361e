package decide

import (
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/reason"
	"github.com/nsgate/nsgate/gate/internal/recorded"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/stats"
)

// outlierValue names the one run of a session that lies far from all others, which widens the interval by itself.
func outlierValue(sides [2][][]float64) []result.Remark {
	const least = 4 // runs
	for i, side := range sides {
		for _, session := range side {
			runs := stats.Known(session)
			centre, spread := stats.Median(runs), stats.MAD(runs)
			var far []float64
			for _, v := range runs {
				if d := math.Abs(v - centre); d > outlierRunFrom*spread && d > stats.LevelStep*centre {
					far = append(far, v)
				}
			}
			if len(runs) >= least && len(far) == 1 {
				by := result.Number(far[0]/centre - 1)
				return []result.Remark{result.Say(reason.Outlier{Side: recorded.SideNames[i], Change: by})}
			}
		}
	}
	return nil
}

// levels names samples that fall on two levels from run to run, which no number of runs turns into one value.
func levels(sides [2][][]float64, unit string) []result.Remark {
	for i, side := range sides {
		for _, session := range side {
			// Each session for itself: two sessions may well be two levels.
			values := stats.Known(session)
			if low, high, n, ok := stats.Levels(values); ok && low > 0 && high > low*(1+stats.LevelStep) {
				const least = 4 // runs of the baseline that would have shown it
				base := stats.Pooled(sides[0])
				isNew := i == 1 && len(base) >= least && slices.Max(base)-slices.Min(base) < (high-low)/2
				return []result.Remark{result.Say(reason.TwoLevels{Side: recorded.SideNames[i], Some: n, All: len(values),
					Low: result.Number(low), Unit: unit, Above: result.Number(high/low - 1), New: isNew})}
			}
		}
	}
	return nil
}
