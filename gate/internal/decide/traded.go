package decide

import (
	"math"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/reason"
	"github.com/nsgate/nsgate/gate/internal/recorded"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/measure"
)

// trade takes the verdict from findings that are parts of something which certainly did not get worse. A rule that names the
// metric, and a bound of its value, still judge.
func trade(t comparison, estimates []estimate, findings []result.Finding) {
	relaunched(t, estimates, findings)
	rehomed(t, findings)
	fused(t, estimates, findings)
	evened(t, estimates, findings)
	program, graphs := programGain(t, findings), false
	if program == nil {
		program, graphs = regraphed(t, findings), true
	}
	if program != nil {
		var because result.Reason = reason.Traded{Metric: program.Metric, Kernel: program.Title(), Change: program.Change, High: program.High}
		if graphs {
			because = reason.InGraphs
		}
		for i, e := range estimates {
			f := &findings[i]
			if f != program && tradable[f.Metric] && t.worsened(e.pair, f) {
				waive(f, because)
			}
		}
	}
}

// tradable are the metrics of parts of the program that a gain of the whole pays for.
var tradable = map[string]bool{
	measure.Time.Name: true, measure.Total.Name: true, measure.GPUTime.Name: true, measure.CopyTime.Name: true,
	measure.Launches.Name: true, measure.Copies.Name: true,
}

// worsened reports whether a finding that looks worse is judged as a part of something larger.
func (t comparison) worsened(p pair, f *result.Finding) bool {
	return f.Gates && p.compared() && (f.Outcome == result.Regressed || f.Outcome == result.Inconclusive) && !p.limit.Bounded() && !t.named(p)
}

// waive keeps a finding from failing the gate and says why.
func waive(f *result.Finding, because result.Reason) {
	f.Gates, f.Undecided, f.Doubted = false, false, false
	f.Qualify(result.Say(because))
}

// programGain is the measure of the whole program that certainly got better, nil where none did: an output where none got worse, else
// the step, or the GPU time where the step does not contradict it, because less overlap shortens GPU time and not the program.
func programGain(t comparison, findings []result.Finding) *result.Finding {
	var output *result.Finding
	for i := range findings {
		f := &findings[i]
		if f.Scope != measure.ScopeOutput || !f.Low.Known() {
			continue
		}
		if !notWorse(f, float64(f.Limit)) {
			return nil
		}
		if output == nil || t.better(f) {
			output = f
		}
	}
	step, mean, gpu := whole(findings, measure.StepTime), whole(findings, measure.MeanStep), whole(findings, measure.GPUTime)
	switch {
	case output != nil && t.better(output):
		return output
	case output != nil, mean != nil && mean.Change > 0: // steps that stall are longer on the whole
		return nil
	case t.better(step):
		return step
	case t.better(gpu) && (step == nil || step.Change <= 0):
		return gpu
	}
	return nil
}

func (t comparison) better(f *result.Finding) bool {
	return f != nil && notWorse(f, 0) && float64(f.P) < t.policy.Alpha
}

// whole is the finding on a metric of the whole workload, nil where it has no interval.
func whole(findings []result.Finding, m measure.Metric) *result.Finding {
	i := slices.IndexFunc(findings, func(f result.Finding) bool {
		return f.Scope == measure.ScopeWorkload && f.Name == "" && f.Metric == m.Name && f.High.Known()
	})
	if i < 0 {
		return nil
	}
	return &findings[i]
}

// regraphed is the step where one side launches its kernels as CUDA graphs and the other one by one, and the step is as long up to
// the impact floor: a kernel takes another time inside a graph. Nil otherwise.
func regraphed(t comparison, findings []result.Finding) *result.Finding {
	graphs := func(s *recorded.Index) string { return s.Sessions[len(s.Sessions)-1].GraphTrace }
	step := whole(findings, measure.StepTime)
	if step == nil || !notWorse(step, t.policy.Impact) || graphs(t.base) == graphs(t.head) || t.outputs() {
		return nil
	}
	return step
}

// notWorse reports whether the interval excludes harm beyond a limit (one-sided).
func notWorse(f *result.Finding, limit float64) bool {
	if m, _ := measure.MetricByName(f.Metric); m.Better == measure.Higher {
		return float64(f.Low) >= -limit
	}
	return float64(f.High) <= limit
}

// relaunched judges counts, and times of a launch, of kernels and copies by their total: fewer and longer launches, or
// more and shorter ones, are no loss.
func relaunched(t comparison, estimates []estimate, findings []result.Finding) {
	totals, recounted := map[measure.Subject]*result.Finding{}, map[measure.Subject]bool{}
	for i, e := range estimates {
		switch f := &findings[i]; {
		case !e.compared() || e.match != "exact":
		case f.Metric == t.total.Name, f.Metric == measure.GPUTime.Name, f.Metric == measure.CopyTime.Name:
			totals[e.subject] = f
		case counts(e.metric):
			recounted[e.subject] = f.Change != 0
		}
	}
	for i, e := range estimates {
		f, total := &findings[i], totals[e.subject]
		part := counts(e.metric) || f.Metric == measure.Time.Name
		if part && total != nil && recounted[e.subject] && t.worsened(e.pair, f) && total.High.Known() && notWorse(total, float64(total.Limit)) {
			waive(f, reason.TotalNotWorse{Metric: total.Metric, Change: total.Change})
		}
	}
}

// takenOver is the work in a range whose kernels changed: what was done by those that are gone and those that got longer, and is done by
// those that are new and those that got longer.
type takenOver struct {
	before, after, limit float64
	gone                 []string
}

// replacedWork sums the removed and the new kernels of each range that lost some.
func replacedWork(t comparison, findings []result.Finding) map[string]*takenOver {
	out := map[string]*takenOver{}
	kernels := func(outcome result.Outcome, add func(*result.Finding)) {
		for i := range findings {
			if f := &findings[i]; f.Outcome == outcome && f.Scope == measure.ScopeKernel && f.Metric == t.total.Name {
				add(f)
			}
		}
	}
	kernels(result.Removed, func(f *result.Finding) {
		if out[f.Role] == nil {
			out[f.Role] = &takenOver{limit: math.Inf(1)}
		}
		in := out[f.Role]
		in.before, in.gone = in.before+float64(f.Base), append(in.gone, f.Title())
	})
	kernels(result.Added, func(f *result.Finding) {
		if in := out[f.Role]; in != nil {
			in.after += float64(f.Head)
		}
	})
	return out
}

// fused judges the kernels of a range that got longer together with those that are gone from it and those that are new in it: a kernel
// that took over the work of others is longer, and their sum is not.
func fused(t comparison, estimates []estimate, findings []result.Finding) {
	work := replacedWork(t, findings)
	longer := func(i int, metrics ...string) (*result.Finding, *takenOver) {
		f := &findings[i]
		if f.Scope != measure.ScopeKernel || !slices.Contains(metrics, f.Metric) || !t.worsened(estimates[i].pair, f) {
			return f, nil
		}
		return f, work[f.Role]
	}
	for i := range estimates {
		if f, in := longer(i, t.total.Name); in != nil {
			in.before += float64(f.Base)
			in.after += float64(f.Base) * (1 + float64(f.High))
			in.limit = math.Min(in.limit, float64(f.Limit))
		}
	}
	for i := range estimates {
		if f, in := longer(i, t.total.Name, measure.Time.Name); in != nil && in.after > 0 && in.after <= in.before*(1+in.limit) {
			waive(f, reason.Fused{Gone: in.gone, Change: result.Number(in.after/in.before - 1)})
		}
	}
}

// evened waives stalls of steps where the mean step certainly got shorter: then the typical one gained more than it.
func evened(t comparison, estimates []estimate, findings []result.Finding) {
	mean := whole(findings, measure.MeanStep)
	if !t.better(mean) {
		return
	}
	for i, e := range estimates {
		if f := &findings[i]; f.Metric == measure.MeanToTypical.Name && t.worsened(e.pair, f) {
			waive(f, reason.Traded{Metric: mean.Metric, Kernel: mean.Title(), Change: mean.Change, High: mean.High})
		}
	}
}

// counts reports whether a metric is how often something is done that has a total time as well.
func counts(m measure.Metric) bool { return m == measure.Launches || m == measure.Copies }

// rehomed judges a range by the kernels that both sides have in it: one whose kernels moved in or out is no slower.
func rehomed(t comparison, findings []result.Finding) {
	within := func(role, name string) bool { return slices.Contains(strings.Split(role, "/"), name) }
	for i := range findings {
		f := &findings[i]
		if f.Scope != measure.ScopeRange || !f.Gates || f.Outcome != result.Regressed && f.Outcome != result.Inconclusive {
			continue
		}
		moved, slower := false, false
		for _, s := range slices.Concat(t.base.Subjects(), t.head.Subjects()) {
			before, after := within(t.base.Role(s), f.Name), within(t.head.Role(s), f.Name)
			moved = moved || before != after && t.base.Has(s) && t.head.Has(s)
			slower = slower || before && after && !(t.head.Typical(s, t.total.Name) <= t.base.Typical(s, t.total.Name)*(1+math.Max(0, float64(f.Limit))))
		}
		if moved && !slower {
			waive(f, reason.Rehomed{Range: f.Name})
		}
	}
}
