package decide

import (
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/nsgate/nsgate/gate/internal/match"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/reason"
	"github.com/nsgate/nsgate/gate/internal/recorded"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// A part of the program that got slower does not fail the gate where a whole that contains it is certainly not worse,
// and no larger whole is probably worse. A rule that names the metric of the part, and a bound of its value, still
// judge it.

// whole is a part of the program that contains others.
type whole struct {
	metric, title     string
	change, low, high float64 // in the direction of harm
	allowed           float64 // largest change that is not worse
	sameWork          bool    // it stands for the work of the part, which its limit judges
}

func (w whole) notWorse() bool {
	return w.change+certainly*(w.high-w.change) <= w.allowed
}

// probablyWorse reports whether harm is more likely than not by far: one-sided with 80 % confidence of an interval of
// 90 %.
func (w whole) probablyWorse() bool { return w.change > probably*(w.high-w.change) }

func wholeOf(f *result.Finding, allowed float64) whole {
	w := whole{f.Metric, f.Title(), float64(f.Change), float64(f.Low), float64(f.High), allowed, false}
	if f.Direction() == measure.Higher {
		w.change, w.low, w.high = -w.change, -w.high, -w.low
	}
	return w
}

// judgeWholes takes the verdict from findings that are parts of a whole which did not get worse.
func judgeWholes(t comparison, estimates []estimate, findings []result.Finding) {
	excuse(t, estimates, findings)
	own, program := ownWholes(t, estimates, findings), programWholes(t, findings)
	for i, e := range estimates {
		f := &findings[i]
		if !t.worsened(e.pair, f) {
			continue
		}
		wholes := append(own(e, f), program(f)...)
		for k, w := range wholes {
			if w.notWorse() && (w.sameWork || !slices.ContainsFunc(wholes[k+1:], whole.probablyWorse)) {
				waive(f, reason.Traded{Metric: w.metric, Kernel: w.title, Change: result.Number(w.change), High: result.Number(w.high)})
				break
			}
		}
	}
}

// ownWholes gives the wholes below the GPU time that contain a finding, the smallest first.
func ownWholes(t comparison, estimates []estimate, findings []result.Finding) func(estimate, *result.Finding) []whole {
	totals, work := ownTotals(t, estimates, findings), replacedWork(t, estimates, findings)
	stayed := sync.OnceValue(t.stayed)
	ranges := map[string]*result.Finding{}
	for i := range findings {
		if f := &findings[i]; f.Scope == measure.ScopeRange && f.High.Known() {
			ranges[f.Name] = f
		}
	}
	return func(e estimate, f *result.Finding) (wholes []whole) {
		if total := totals[e.Subject]; total != nil && total != f {
			w := wholeOf(total, float64(total.Limit))
			w.sameWork = true
			wholes = append(wholes, w)
		}
		switch f.Scope {
		case measure.ScopeKernel:
			if w := work[f.Role]; w != nil && (f.Metric == t.Total.Name || f.Metric == t.Time.Name) {
				wholes = append(wholes, *w)
			}
			for _, name := range strings.Split(f.Role, "/") {
				if r := ranges[name]; r != nil {
					wholes = append(wholes, wholeOf(r, 0))
				}
			}
		case measure.ScopeRange:
			wholes = append(wholes, t.stayedIn(f, stayed()[f.Name])...)
		case measure.ScopeSection:
			wholes = append(wholes, t.allSections(e)...)
		}
		return wholes
	}
}

// worsened reports whether a finding that looks worse is judged as a part of something larger.
func (t comparison) worsened(p pair, f *result.Finding) bool {
	return f.Gates && p.Compared() && (f.Outcome == result.Slower || f.Outcome == result.Undecided) &&
		!p.Limit.Bounded() && !t.Named(p.Pair)
}

// waive keeps a finding from failing the gate and says why.
func waive(f *result.Finding, because result.Reason) {
	f.Gates, f.Undecided, f.Doubted = false, false, false
	f.Qualify(result.Say(because))
}

// programWholes gives the wholes of the program that contain a finding, from the GPU time to the outputs.
func programWholes(t comparison, findings []result.Finding) func(*result.Finding) []whole {
	graphs := func(s *recorded.Index) string { return s.Sessions[len(s.Sessions)-1].GraphTrace }
	type row struct {
		of *result.Finding
		whole
	}
	var rows []row
	for _, m := range []measure.Metric{measure.GPUTime, measure.RunTime, measure.StepTime, measure.MeanStep} {
		if f := wholeFinding(findings, m); f != nil {
			rows = append(rows, row{f, wholeOf(f, 0)})
			if m == measure.StepTime && graphs(t.Base) != graphs(t.Head) {
				rows[len(rows)-1].allowed = recorded.KernelShare // kernels take another time inside CUDA graphs
			}
		}
	}
	for i := range findings {
		if f := &findings[i]; f.Scope == measure.ScopeOutput && f.High.Known() {
			rows = append(rows, row{f, wholeOf(f, 0)})
		}
	}
	return func(f *result.Finding) (out []whole) {
		contained := partOf(f)
		for _, r := range rows {
			if r.of != f && contained(r.of) {
				out = append(out, r.whole)
			}
		}
		return out
	}
}

// partOf gives the wholes of the program that a finding is a part of.
func partOf(f *result.Finding) func(*result.Finding) bool {
	none := func(*result.Finding) bool { return false }
	isOutput := func(w *result.Finding) bool { return w.Scope == measure.ScopeOutput }
	switch m := f.Metric; {
	case f.Scope == measure.ScopeOutput:
		return none
	case f.Scope == measure.ScopeSection && f.Name == measure.Warmup.Name && m == measure.GPUTime.Name: // the first steps
		return func(w *result.Finding) bool { return w.Metric != measure.GPUTime.Name }
	case f.Scope == measure.ScopeSection:
		return isOutput
	case m == measure.MeanToTypical.Name:
		return func(w *result.Finding) bool { return w.Metric == measure.MeanStep.Name || isOutput(w) }
	case m == measure.MeanStep.Name:
		return isOutput
	case m == measure.StepTime.Name, m == measure.RunTime.Name:
		return func(w *result.Finding) bool { return w.Metric == measure.MeanStep.Name || isOutput(w) }
	case m == measure.CopyTime.Name, m == measure.Copies.Name, m == measure.GPUTime.Name && f.Subject() == measure.Workload:
		return func(w *result.Finding) bool { return w.Metric != measure.GPUTime.Name }
	case m == measure.Time.Name, m == measure.Total.Name, m == measure.GPUTime.Name, m == measure.Launches.Name:
		return func(*result.Finding) bool { return true }
	}
	return none
}

// wholeFinding is the finding on a metric of the whole workload, nil where it has no interval.
func wholeFinding(findings []result.Finding, m measure.Metric) *result.Finding {
	i := slices.IndexFunc(findings, func(f result.Finding) bool {
		return f.Scope == measure.ScopeWorkload && f.Name == "" && f.Metric == m.Name && f.High.Known() &&
			f.ReasonKey != result.KeyUnmeasured
	})
	if i < 0 {
		return nil
	}
	return &findings[i]
}

// ownTotals are the findings on the total time of kernels and copies whose count changed: fewer and longer launches,
// or more and shorter ones, are no loss.
func ownTotals(t comparison, estimates []estimate, findings []result.Finding) map[measure.Subject]*result.Finding {
	totals, recounted := map[measure.Subject]*result.Finding{}, map[measure.Subject]bool{}
	for i, e := range estimates {
		switch f := &findings[i]; {
		case !e.Compared() || e.Match != "exact":
		case match.Counted(e.Metric):
			recounted[e.Subject] = f.Change != 0
		case f.High.Known() && (f.Metric == t.Total.Name || f.Metric == measure.CopyTime.Name):
			totals[e.Subject] = f
		}
	}
	for s := range totals {
		if !recounted[s] {
			delete(totals, s)
		}
	}
	return totals
}

// replacedWork is the work in each range that lost kernels: the sum of its gone, new and longer kernels.
func replacedWork(t comparison, estimates []estimate, findings []result.Finding) map[string]*whole {
	before, after, limit := map[string]float64{}, map[string]float64{}, map[string]float64{}
	gone := map[string][]string{}
	for i := range findings {
		f := &findings[i]
		if f.Scope != measure.ScopeKernel || f.Metric != t.Total.Name {
			continue
		}
		switch {
		case f.Outcome == result.Gone:
			before[f.Role] += float64(f.Base)
			gone[f.Role] = append(gone[f.Role], f.Title())
		case f.Outcome == result.New:
			after[f.Role] += float64(f.Head)
		case t.worsened(estimates[i].pair, f):
			before[f.Role] += float64(f.Base)
			after[f.Role] += float64(f.Base) * (1 + float64(f.High))
			limit[f.Role] = float64(f.Limit)
		}
	}
	out := map[string]*whole{}
	for role := range gone {
		if after[role] > 0 {
			change := after[role]/before[role] - 1
			out[role] = &whole{t.Total.Name, strings.Join(gone[role], ", ") + " and what replaces it", change, change, change,
				limit[role], true}
		}
	}
	return out
}

// staying is the work of the kernels that both sides have in a range. moved says whether others moved in or out.
type staying struct {
	moved         bool
	before, after float64
}

// stayed is the work of the kernels that stayed in each range.
func (t comparison) stayed() map[string]*staying {
	out := map[string]*staying{}
	for _, s := range recorded.Kernels(t.Base.Subjects()) {
		if !t.Head.Has(s) {
			continue
		}
		was, is := strings.Split(t.Base.Role(s), "/"), strings.Split(t.Head.Role(s), "/")
		before, after := t.Base.Typical(s, t.Total.Name), t.Head.Typical(s, t.Total.Name)
		names := slices.Concat(was, is)
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			x := out[name]
			if x == nil {
				x = &staying{}
				out[name] = x
			}
			if slices.Contains(was, name) && slices.Contains(is, name) {
				x.before, x.after = x.before+before, x.after+after
			} else {
				x.moved = true
			}
		}
	}
	return out
}

// stayedIn is the whole of the kernels that stayed in the range of a finding, where others moved in or out.
func (t comparison) stayedIn(f *result.Finding, x *staying) []whole {
	if x == nil || !x.moved {
		return nil
	}
	change := x.after/x.before - 1
	if math.IsNaN(change) {
		return nil
	}
	return []whole{{t.Total.Name, "the kernels that stayed in " + f.Name, change, change, change, float64(f.Limit), true}}
}

// allSections is the time of the sections of a run together; start-up counts only for itself. A section that
// takes the time that the others no longer take is not slower.
func (t comparison) allSections(e estimate) []whole {
	sum := func(side *recorded.Index) (all float64) {
		for _, s := range side.Subjects() {
			if s.Scope == measure.ScopeSection && side.HasMetric(s, e.Metric.Name) &&
				(s != measure.Before || e.Subject == measure.Before) {
				all += side.Typical(s, e.Metric.Name)
			}
		}
		return all
	}
	base, head := sum(t.Base), sum(t.Head)
	grown := recorded.Typical(e.Head) - recorded.Typical(e.Base)
	if change := head/base - 1; 2*(head-base) < grown {
		return []whole{{e.Metric.Name, "all sections of the run", change, change, change, math.Inf(1), true}}
	}
	return nil
}

// excusedPart is a kernel that the policy allows more than its default.
type excusedPart struct {
	name, role string
	more       float64 // ns a step that it takes longer
}

// excuse takes parts that a rule excuses out of the wholes that contain them: kernels that the policy ignores, warns
// of, or allows more than others.
func excuse(t comparison, estimates []estimate, findings []result.Finding) {
	parts := excusedParts(t, estimates, findings)
	for i, e := range estimates {
		f := &findings[i]
		isTime := f.Metric == measure.GPUTime.Name || f.Metric == measure.StepTime.Name || f.Metric == measure.MeanStep.Name
		if len(parts) == 0 || !isTime || f.Scope == measure.ScopeSection && e.Subject != measure.Warmup ||
			!t.worsened(e.pair, f) {
			continue
		}
		more, base := 0.0, float64(f.Base)
		if e.Subject == measure.Warmup { // steps as well
			base = t.Base.Typical(measure.Workload, measure.GPUTime.Name)
		}
		var names []string
		for _, p := range parts {
			if f.Scope != measure.ScopeRange || slices.Contains(strings.Split(p.role, "/"), f.Name) {
				more += p.more / base
				names = append(names, p.name)
			}
		}
		if rest := float64(f.Change) - more; more > 0 && rest <= float64(f.Limit) && float64(f.Low)-more <= float64(f.Limit) {
			waive(f, reason.Excused{Names: names, Change: result.Number(rest)})
		}
	}
}

// excusedParts lists the excused kernels that got slower and do not fail the gate by themselves.
func excusedParts(t comparison, estimates []estimate, findings []result.Finding) (parts []excusedPart) {
	failing := map[measure.Subject]bool{}
	for i, e := range estimates {
		failing[e.Subject] = failing[e.Subject] || findings[i].Gates && findings[i].Outcome == result.Slower
	}
	for _, s := range recorded.Kernels(t.Head.Subjects()) {
		more := t.Head.Typical(s, t.Total.Name) - t.Base.Typical(s, t.Total.Name)
		if more > 0 && !failing[s] && t.excused(s) {
			parts = append(parts, excusedPart{s.Short(), t.Head.Role(s), more})
		}
	}
	return parts
}

// excused reports whether the policy allows a kernel more than its default.
func (t comparison) excused(s measure.Subject) bool {
	return slices.ContainsFunc([]measure.Metric{t.Time, t.Total}, func(m measure.Metric) bool {
		l := t.Policy.Limit(s, m)
		return l.Severity != thresholds.Fail || l.Max > t.Policy.Threshold || l.Floor > 0
	})
}
