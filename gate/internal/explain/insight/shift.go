package insight

import (
	"cmp"
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/explain/reason"
	"github.com/nsgate/nsgate/gate/internal/judge/decide"
	"github.com/nsgate/nsgate/gate/internal/judge/recorded"
	"github.com/nsgate/nsgate/gate/internal/judge/stats"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// shifts names changes that findings share, and work that moved between them.
func shifts(d *decide.Decision, x *result.Report) {
	t := d.Matching
	x.Warn(commonShift(d.Unranked, t.Time, d.Hosts())...)
	x.Warn(movedWork(d.Unranked, t.Total)...)
	x.Warn(disagreement(d.Unranked)...)
}

// commonShift names a change that several kernels share, which another host, clock or power limit makes rather than
// code: on H200 hosts all memory-bound kernels are 1.5 % apart between two kinds of host. Kernels of one session
// ("same" hosts) must move as a whole, because there code is the likelier cause. time is the metric of kernels, hosts
// that of [reason.CommonShift].
func commonShift(findings []result.Finding, time measure.Metric, hosts string) []result.Remark {
	// commonPart is the part of the kernels that a common shift has to move between sessions: a third of them, nearly.
	const commonPart = 0.3
	var moved []result.Finding
	kernels := 0
	for _, f := range findings {
		oneSided := f.Outcome == result.New || f.Outcome == result.Gone
		if oneSided || f.Metric != time.Name || float64(f.Share) < recorded.KernelShare {
			continue
		}
		kernels++
		if math.Abs(float64(f.Change)) >= stats.LevelStep {
			moved = append(moved, f)
		}
	}
	measure.Sort(moved, func(a, b result.Finding) int { return cmp.Compare(a.Change, b.Change) })
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
	some := max(2, int(math.Ceil(commonPart*float64(kernels))))
	if len(best) < measure.Either(hosts == "same", max(3, kernels), some) {
		return nil
	}
	best = slices.Clone(best)
	measure.Sort(best, func(a, b result.Finding) int { return cmp.Compare(b.Share, a.Share) })
	var names []string
	var changes []float64
	for _, f := range best {
		changes = append(changes, float64(f.Change))
		if !slices.Contains(names, f.Kernel) && len(names) < 4 {
			names = append(names, f.Kernel)
		}
	}
	return []result.Remark{result.Say(reason.CommonShift{Moved: len(best), Kernels: kernels,
		Change: result.Number(stats.Median(changes)), Names: names, Hosts: hosts})}
}

// movedWork names kernels that exchanged work, with the GPU time of the workload unchanged.
func movedWork(findings []result.Finding, total measure.Metric) []result.Remark {
	var slower, faster []string
	var net, gross float64
	same := false
	for _, f := range findings {
		switch {
		case f.Scope == measure.ScopeWorkload && f.Name == "" && f.Metric == measure.GPUTime.Name:
			same = f.Outcome.Kept()
		case f.Scope != measure.ScopeKernel || f.Metric != total.Name:
		case f.Outcome == result.Slower:
			slower = append(slower, f.Kernel)
		case f.Outcome == result.Faster:
			faster = append(faster, f.Kernel)
		default:
			continue
		}
		if f.Scope == measure.ScopeKernel && f.Metric == total.Name {
			net += float64(f.Head - f.Base)
			gross += math.Abs(float64(f.Head - f.Base))
		}
	}
	const cancels = 0.25 // of the sum of all changes is left over at most
	return result.SayIf(same && len(slower) > 0 && len(faster) > 0 && math.Abs(net) <= cancels*gross,
		reason.Moved{Slower: slower, Faster: faster})
}

// disagreement names an output and the step where only one of the two got slower. Profiling slows the CPU, and the
// steps are not all that a program does.
func disagreement(findings []result.Finding) []result.Remark {
	var step, output *result.Finding
	for i := range findings {
		f := &findings[i]
		switch {
		case f.Metric == measure.StepTime.Name && f.Scope == measure.ScopeWorkload:
			step = f
		case f.Scope != measure.ScopeOutput || !f.OfSpeed():
		case output == nil || f.Outcome == result.Slower && output.Outcome != result.Slower:
			output = f
		}
	}
	if step == nil || output == nil {
		return nil
	}
	kept := func(f *result.Finding) bool { return f.Outcome.Kept() || f.Outcome == result.Faster }
	stepWorse := step.Outcome == result.Slower && kept(output)
	return result.SayIf(stepWorse || output.Outcome == result.Slower && kept(step),
		reason.OutputDisagrees{Output: output.Kernel, Unprofiled: output.Change, Profiled: step.Change,
			StepWorse: stepWorse})
}
