package decide

import (
	"cmp"
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/reason"
	"github.com/nsgate/nsgate/gate/internal/recorded"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/stats"
	"github.com/nsgate/nsgate/gate/measure"
)

// commonShift names a change that several kernels share, which another host, clock or power limit makes rather than
// code: on H200 hosts all memory-bound kernels are 1.5 % apart between two kinds of host. Sides of one session must
// move as a whole to be named so, because there a change of code is the likelier cause. None where there is no such change.
func commonShift(t comparison, findings []result.Finding) []result.Remark {
	var moved []result.Finding
	kernels := 0
	for _, f := range findings {
		if f.Outcome == result.Added || f.Outcome == result.Removed || f.Metric != t.Time.Name || float64(f.Share) < recorded.KernelShare {
			continue
		}
		kernels++
		if math.Abs(float64(f.Change)) >= CommonSize {
			moved = append(moved, f)
		}
	}
	slices.SortStableFunc(moved, func(a, b result.Finding) int { return cmp.Compare(a.Change, b.Change) })
	var best []result.Finding
	for i := range moved {
		for j := i + 1; j <= len(moved); j++ {
			group := moved[i:j]
			first, last := float64(group[0].Change), float64(group[len(group)-1].Change)
			if last-first <= math.Min(math.Abs(first), math.Abs(last))/2 && len(group) > len(best) {
				best = group
			}
		}
	}
	least, hosts := max(commonLeast, int(math.Ceil(commonPart*float64(kernels)))), t.hosts()
	if len(t.shared) > 0 {
		least, hosts = max(3, kernels), "same"
	}
	if len(best) < least {
		return nil
	}
	best = slices.Clone(best)
	slices.SortStableFunc(best, func(a, b result.Finding) int { return cmp.Compare(b.Share, a.Share) })
	var names []string
	var changes []float64
	for _, f := range best {
		changes = append(changes, float64(f.Change))
		if !slices.Contains(names, f.Kernel) && len(names) < 4 {
			names = append(names, f.Kernel)
		}
	}
	return []result.Remark{result.Say(reason.CommonShift{Moved: len(best), Kernels: kernels, Change: result.Number(stats.Median(changes)),
		Names: names, Hosts: hosts})}
}

// outlier names the one run of a session that lies far from all others, which widens the interval by itself.
func outlier(p pair) []result.Remark {
	const distance, least = 8, 4 // robust standard deviations; runs
	for i, side := range p.asMeasured() {
		for _, session := range side {
			runs := stats.Known(session)
			centre, spread := stats.Median(runs), stats.MAD(runs)
			var far []float64
			for _, v := range runs {
				if d := math.Abs(v - centre); d > distance*spread && d > CommonSize*centre {
					far = append(far, v)
				}
			}
			if len(runs) >= least && len(far) == 1 {
				return []result.Remark{result.Say(reason.Outlier{Side: recorded.SideNames[i], Change: result.Number(far[0]/centre - 1)})}
			}
		}
	}
	return nil
}

// levels names samples that fall on two levels from run to run, which no number of runs turns into one value.
func levels(p pair) []result.Remark {
	for i, side := range p.asMeasured() {
		for _, session := range side {
			// Each session for itself: two sessions may well be two levels.
			values := stats.Known(session)
			if low, high, n, ok := stats.Levels(values); ok && low > 0 && high > low*(1+CommonSize) {
				const least = 4 // runs of the baseline that would have shown it
				base := stats.Pooled(p.asMeasured()[0])
				return []result.Remark{result.Say(reason.TwoLevels{Side: recorded.SideNames[i], Some: n, All: len(values), Low: result.Number(low), Unit: p.Metric.Unit,
					Above: result.Number(high/low - 1), New: i == 1 && len(base) >= least && slices.Max(base)-slices.Min(base) < (high-low)/2})}
			}
		}
	}
	return nil
}

// moved names kernels between which work moved, with the GPU time of the workload unchanged.
func moved(t comparison, findings []result.Finding) []result.Remark {
	var slower, faster []string
	var net, gross float64
	same := false
	for _, f := range findings {
		switch {
		case f.Scope == measure.ScopeWorkload && f.Name == "" && f.Metric == measure.GPUTime.Name:
			same = f.Outcome == result.Unchanged
		case f.Scope != measure.ScopeKernel || f.Metric != t.Total.Name:
		case f.Outcome == result.Regressed:
			slower = append(slower, f.Kernel)
		case f.Outcome == result.Improved:
			faster = append(faster, f.Kernel)
		default:
			continue
		}
		if f.Scope == measure.ScopeKernel && f.Metric == t.Total.Name {
			net += float64(f.Head - f.Base)
			gross += math.Abs(float64(f.Head - f.Base))
		}
	}
	const cancels = 0.25 // of the sum of all changes is left over at most
	return result.SayIf(same && len(slower) > 0 && len(faster) > 0 && math.Abs(net) <= cancels*gross, reason.Moved{Slower: slower, Faster: faster})
}
