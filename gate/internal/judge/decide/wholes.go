package decide

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/explain/reason"
	"github.com/nsgate/nsgate/gate/internal/judge/match"
	"github.com/nsgate/nsgate/gate/internal/judge/recorded"
	"github.com/nsgate/nsgate/gate/internal/judge/terms"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// A part of the program that got slower does not fail the gate where a whole that contains it is certainly not worse,
// and no larger whole is probably worse. A rule that names the metric of the part, and a bound of its value, still
// judge it. [forgivers] is the list of all that may take a slower part out of the gate.

// whole is a part of the program that contains others.
type whole struct {
	metric, title     string
	change, low, high float64 // in the direction of harm
	allowed           float64 // largest change that is not worse
	sameWork          bool    // it stands for the work of the part, which its limit judges
	undecided         bool    // an undecided whole forgives nothing; a part that it would forgive is in doubt
	ofDevices         bool    // ranks or GPUs may exchange their times, and the job waits for it
}

// notWorse is the certainty with which a whole forgives: one-sided, 99 % of an interval of 90 %.
func (w whole) notWorse() bool { return w.change+certainly*(w.high-w.change) <= w.allowed }

// probablyWorse reports whether harm is more likely than not by far: one-sided with 80 % confidence of an interval of
// 90 %.
func (w whole) probablyWorse() bool { return w.change > probably*(w.high-w.change) }

// worse reports whether a whole is worse by more than a part of it, with the certainty of notWorse.
func (w whole) worse(by float64) bool { return w.change-certainly*(w.change-w.low) > by }

func wholeOf(f *result.Finding, allowed float64) whole {
	w := whole{metric: f.Metric, title: f.Title(), change: float64(f.Change), low: float64(f.Low),
		high: float64(f.High), allowed: allowed, undecided: f.Outcome == result.Undecided}
	if f.Direction() == measure.Higher {
		w.change, w.low, w.high = -w.change, -w.high, -w.low
	}
	return w
}

// ofSameWork is the whole that stands for the work of a part, by its change, and the least and the most that it may be.
// The answer is undecided where only the upper end exceeds the allowance; an unknown change forgives nothing.
func ofSameWork(metric, title string, change, least, most, allowed float64) []whole {
	if least <= allowed && allowed < most {
		return []whole{{metric, title, change, change, change, math.Inf(1), true, true, false}}
	}
	return []whole{{metric, title, most, most, most, allowed, true, false, false}}
}

// forgiver is a row of the list of what may take a certain finding out of the gate.
type forgiver struct {
	name string
	// forgives reports whether a finding is a part of the whole by what both measure.
	forgives func(*result.Finding) bool
	// wholes are the wholes of this kind that contain a finding, the smallest first.
	wholes func(*forgiveness, estimate, *result.Finding) []whole
}

// forgivers are the wholes that may forgive, the smallest first. Rules that excuse a part of the GPU time are the only
// other way, see [excuse]; the step and the outputs are never excused.
var forgivers = []forgiver{
	{"total time of the same launches, or of an exchange of launches", anything, (*forgiveness).ownTotal},
	{"what replaces a kernel", times, (*forgiveness).replacement},
	{"range of a kernel", inScope(measure.ScopeKernel), (*forgiveness).ranges},
	{"kernels that stayed in a range", inScope(measure.ScopeRange), (*forgiveness).stayedIn},
	{"all sections", inScope(measure.ScopeSection), (*forgiveness).allSections},
	{"slowest rank or GPU", func(f *result.Finding) bool { // the times of all, and how far it is above their mean
		return f.Scope == measure.ScopeDevice || isOf(f, measure.Imbalance)
	}, (*forgiveness).slowestDevice},
	{"GPU time", inGPUTime, ofWorkload(measure.GPUTime)},
	{"GPU time and copies", isCopies, func(g *forgiveness, _ estimate, _ *result.Finding) []whole { return g.copied }},
	{"run time", inStep, ofWorkload(measure.RunTime)},
	{"step", inStep, ofWorkload(measure.StepTime)},
	{"mean step", inMeanStep, ofWorkload(measure.MeanStep)},
	{"output of the steps", inOutput, outputs(measure.OfSteps)},
	{"output of the run", inRun, outputs(measure.OfRun)},
}

func anything(*result.Finding) bool { return true }

func isOf(f *result.Finding, metrics ...measure.Metric) bool {
	return slices.ContainsFunc(metrics, func(m measure.Metric) bool { return m.Name == f.Metric })
}

func inScope(scope measure.Scope) func(*result.Finding) bool {
	return func(f *result.Finding) bool { return f.Scope == scope }
}

// times are the metrics of a kernel's time.
func times(f *result.Finding) bool {
	return f.Scope == measure.ScopeKernel && isOf(f, measure.Time, measure.ReplayTime, measure.Total)
}

func isCopies(f *result.Finding) bool { return isOf(f, measure.CopyTime) }

// inGPUTime are the parts of the GPU time of the workload.
func inGPUTime(f *result.Finding) bool {
	return f.Scope != measure.ScopeSection && f.Subject() != measure.Workload &&
		isOf(f, measure.Time, measure.Total, measure.GPUTime, measure.Launches)
}

// inStep are the parts of a step's typical period: GPU time and its parts, copies, what ranks wait for one another.
func inStep(f *result.Finding) bool {
	return inGPUTime(f) || isOf(f, measure.CopyTime, measure.Copies, measure.Imbalance) ||
		isOf(f, measure.GPUTime) && f.Scope != measure.ScopeSection
}

// inMeanStep are the parts of the mean step: those of the typical one, and that.
func inMeanStep(f *result.Finding) bool {
	return inStep(f) || isOf(f, measure.StepTime, measure.RunTime, measure.MeanToTypical)
}

// inOutput are the parts of a time or rate that the program prints of its steps.
func inOutput(f *result.Finding) bool { return inMeanStep(f) || isOf(f, measure.MeanStep) }

// inRun are the parts of a time or rate that the program prints of the whole run.
func inRun(f *result.Finding) bool { return inOutput(f) || f.Scope == measure.ScopeSection }

// forgiveness is what the wholes of a gate are made of.
type forgiveness struct {
	comparison
	findings []result.Finding
	program  map[string]*result.Finding // on the whole workload, those with an interval, by metric
	printed  []*result.Finding          // outputs
	slowest  [2]result.Number           // GPU time of the slowest device of base and head
	totals   map[measure.Subject]*result.Finding
	work     map[measure.Subject][]whole
	copied   []whole               // of [forgiveness.withCopies]
	ranged   map[string][]int      // places of findings on the GPU time of ranges, by name
	stayed   map[string][3]float64 // of [stays]
	gpuWorse bool                  // the GPU time is longer, if only probably and within its limit
}

// judgeWholes takes the verdict from findings that are parts of a whole which did not get worse.
func judgeWholes(t comparison, estimates []estimate, findings []result.Finding) {
	excuse(t, estimates, findings)
	g := &forgiveness{comparison: t, findings: findings, program: map[string]*result.Finding{},
		ranged: map[string][]int{}, stayed: stays(t)}
	for i := range findings {
		switch f := &findings[i]; {
		case f.Scope == measure.ScopeDevice && isOf(f, measure.GPUTime):
			g.slowest = [2]result.Number{max(g.slowest[0], f.Base), max(g.slowest[1], f.Head)}
		case !f.High.Known():
		case f.Scope == measure.ScopeOutput:
			g.printed = append(g.printed, f)
		case f.Scope == measure.ScopeRange && isOf(f, measure.GPUTime):
			g.ranged[f.Name] = append(g.ranged[f.Name], i)
		case f.Scope == measure.ScopeWorkload && f.Name == "" && f.ReasonKey != result.KeyUnmeasured:
			g.program[f.Metric] = cmp.Or(g.program[f.Metric], f)
		}
	}
	// More small kernels, and as many launches as before: kernels got shorter.
	small, launches := g.program[measure.SmallKernels.Name], g.program[measure.Launches.Name]
	if small != nil && launches != nil && small.Increased() && !launches.Increased() {
		*small = answered(*small, result.WithinLimit, reason.Shorter)
	}
	g.totals, g.work, g.copied = ownTotals(t, estimates, findings), replacedWork(t, findings), g.withCopies()
	if f := g.program[measure.GPUTime.Name]; f != nil {
		g.gpuWorse = wholeOf(f, 0).probablyWorse()
	}
	for i, e := range estimates {
		if f := &findings[i]; t.worsened(e.pair, f) {
			g.forgive(f, g.containing(e, f))
		}
	}
}

// forgive waives a finding by the first of the wholes that is not worse, where no larger one is probably worse. A
// finding that only an undecided whole would forgive is in doubt; that of a rank is undecided without doubt where the
// slowest rank is not certainly worse, or not beyond the limit either, and that of the imbalance, which alone costs
// nothing, where the slowest rank is not certainly beyond the limit.
func (g *forgiveness) forgive(f *result.Finding, wholes []whole) {
	var doubtful, open *whole
	for k, w := range wholes {
		if w.ofDevices && (!w.worse(0) || f.Doubted && w.low <= w.allowed ||
			isOf(f, measure.Imbalance) && !w.worse(w.allowed)) {
			open = &w
		}
		if !w.notWorse() {
			continue
		}
		if larger := measure.Where(wholes[k+1:], whole.probablyWorse); len(larger) > 0 && !w.sameWork {
			if !slices.ContainsFunc(larger, func(x whole) bool { return !x.undecided }) {
				doubtful = &larger[0]
			}
			continue
		}
		if !w.undecided {
			waive(f, reason.Traded{Metric: w.metric, Kernel: w.title, Change: result.Number(w.change),
				High: result.Number(w.high)})
			return
		}
		doubtful = &w
	}
	switch {
	case open != nil && (f.Doubted || f.Outcome == result.Slower):
		doubtful = open
	case doubtful == nil || f.Outcome != result.Slower:
		return
	}
	f.Outcome, f.Undecided, f.Doubted = result.Undecided, true, open == nil
	f.Because(result.Say(reason.OpenWhole{Metric: doubtful.metric, Kernel: doubtful.title,
		Change: result.Number(doubtful.change)}))
}

// containing are the wholes that contain a finding, the smallest first. The steps of the warm-up are steps as well, as
// far as their GPU time is longer by what that of the others is.
func (g *forgiveness) containing(e estimate, f *result.Finding) (wholes []whole) {
	if f.Scope == measure.ScopeOutput {
		return nil
	}
	steps := g.program[measure.GPUTime.Name]
	alike := e.Subject == measure.Warmup && e.Metric == measure.GPUTime && steps != nil &&
		!(f.Low-steps.High > f.Limit) // nor from zero, of another number of steps
	for _, x := range forgivers {
		if x.forgives(f) || alike && x.forgives(steps) {
			wholes = append(wholes, x.wholes(g, e, f)...)
		}
	}
	return wholes
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

// ofWorkload gives a metric of the whole program. Time that the host makes forgives no part of a GPU time that is
// worse.
func ofWorkload(m measure.Metric) func(*forgiveness, estimate, *result.Finding) []whole {
	return func(g *forgiveness, _ estimate, f *result.Finding) []whole {
		of := g.program[m.Name]
		if of == nil || of == f {
			return nil
		}
		w := wholeOf(of, 0)
		if m == measure.StepTime && graphTrace(g.Base) != graphTrace(g.Head) {
			w.allowed = recorded.KernelShare // kernels take another time inside CUDA graphs
		}
		onGPU := inGPUTime(f) || f.Metric == measure.GPUTime.Name
		// The CPU, and not the GPU, sets the run time, and the period of a step whose GPU waits for the CPU.
		hostMade := m.OnHost() && onGPU && (m == measure.RunTime || terms.HostBound(g.Base, g.Head))
		if hostMade && g.gpuWorse {
			return nil
		}
		w.undecided = w.undecided || hostMade && of.Outcome == result.Undecided
		return []whole{w}
	}
}

func graphTrace(s *recorded.Index) string { return s.Sessions[len(s.Sessions)-1].GraphTrace }

// outputs gives the numbers of a kind that the program prints.
func outputs(kind measure.OutputKind) func(*forgiveness, estimate, *result.Finding) []whole {
	return func(g *forgiveness, _ estimate, _ *result.Finding) (wholes []whole) {
		for _, f := range g.printed {
			if m, _ := measure.MetricByName(f.Metric); g.Policy.OutputKind(f.Name, m) == kind {
				wholes = append(wholes, wholeOf(f, 0))
			}
		}
		return wholes
	}
}

// slowestDevice is the GPU time of the slowest rank, the mean over ranks times their imbalance, or of the slowest GPU
// of a process. Which one it is may change from run to run: of sharded ranks the first one computes beside collectives
// that wait for the others. What one takes longer has to be what others take less: their sum is not worse.
func (g *forgiveness) slowestDevice(_ estimate, f *result.Finding) []whole {
	sum, imbalance := g.program[measure.GPUTime.Name], g.program[measure.Imbalance.Name]
	if sum == nil || wholeOf(sum, 0).worse(0) {
		return nil
	}
	w := whole{metric: measure.GPUTime.Name, title: "the slowest rank", allowed: float64(f.Limit), sameWork: true,
		ofDevices: true}
	half := float64(f.High - f.Change)
	if imbalance != nil {
		a, b := wholeOf(sum, 0), wholeOf(imbalance, 0)
		w.change, half = (1+a.change)*(1+b.change)-1, math.Hypot(a.high-a.change, b.high-b.change)
	} else {
		w.title, w.change = "the slowest GPU", float64(g.slowest[1]/g.slowest[0]-1)
	}
	w.low, w.high = w.change-half, w.change+half
	return []whole{w}
}

func (g *forgiveness) ownTotal(e estimate, f *result.Finding) []whole {
	total := g.totals[e.Subject]
	if total == nil || total == f {
		return nil
	}
	w := wholeOf(total, float64(total.Limit))
	w.sameWork = true
	if total.Match == "choice" && f.Outcome == result.Slower { // a part of the sum, not all of it
		w.allowed, w.sameWork = 0, false
	}
	return []whole{w}
}

func (g *forgiveness) replacement(e estimate, _ *result.Finding) []whole { return g.work[e.Subject] }

// withCopies is the GPU time and the exposed time of copies in a step, empty where the period of the step is not known.
// Its change is unknown where that of a copy is.
func (g *forgiveness) withCopies() []whole {
	kernels, step := g.program[measure.GPUTime.Name], g.program[measure.StepTime.Name]
	if kernels == nil || cmp.Or(step, g.program[measure.RunTime.Name]) == nil {
		return nil
	}
	w, half := wholeOf(kernels, 0), float64(kernels.High-kernels.Change)
	for i := range g.findings {
		if x := &g.findings[i]; isCopies(x) && x.Outcome != result.Gone {
			more := g.Head.Exposed(x.Subject()) - g.Base.Exposed(x.Subject())
			if math.IsNaN(more) {
				more = max(0, float64(x.Change*x.Base))
			}
			w.change += more / float64(kernels.Base)
			half = math.Hypot(half, float64((x.High-x.Change)*x.Base/kernels.Base))
		}
	}
	w.metric, w.title, w.low, w.high = g.Total.Name, "kernels and copies", w.change-half, w.change+half
	return []whole{w}
}

func (g *forgiveness) ranges(_ estimate, f *result.Finding) []whole {
	var at []int
	for name := range strings.SplitSeq(f.Role, "/") {
		at = append(at, g.ranged[name]...)
	}
	slices.Sort(at)
	return measure.Map(slices.Compact(at), func(i int) whole { return wholeOf(&g.findings[i], 0) })
}

// ownTotals are the findings on the total time of kernels and copies whose count changed: fewer and longer launches,
// or more and shorter ones, are no loss. Kernels that exchange launches have the total of their sum.
func ownTotals(t comparison, estimates []estimate, findings []result.Finding) map[measure.Subject]*result.Finding {
	totals, recounted := map[measure.Subject]*result.Finding{}, map[measure.Subject]bool{}
	for i, e := range estimates {
		for _, s := range e.Exchanged() {
			totals[s], recounted[s] = &findings[i], true
		}
		switch f := &findings[i]; {
		case !e.Compared() || e.Match != "exact":
		case match.Counted(e.Metric):
			recounted[e.Subject] = f.Change != 0
		case f.High.Known() && (f.Metric == t.Total.Name || f.Metric == measure.CopyTime.Name):
			totals[e.Subject] = f
		}
	}
	maps.DeleteFunc(totals, func(s measure.Subject, _ *result.Finding) bool { return !recounted[s] })
	return totals
}

// replacedWork is the work of each kernel in a range that lost some, with these, with new ones, and with what others
// take longer for certain: the time of others, and kernels in doubt, dilute nothing.
func replacedWork(t comparison, findings []result.Finding) map[measure.Subject][]whole {
	type work struct {
		before, more, most float64 // of those gone; of new ones and what others take longer; the most of that
		gone               []string
	}
	works, out := map[string]work{}, map[measure.Subject][]whole{}
	totals := measure.Where(findings, func(f result.Finding) bool {
		return f.Scope == measure.ScopeKernel && f.Metric == t.Total.Name
	})
	for _, f := range totals {
		x := works[f.Role]
		switch f.Outcome {
		case result.Gone:
			x.before, x.gone = x.before+float64(f.Base), append(x.gone, f.Title())
		case result.New:
			x.more, x.most = x.more+float64(f.Head), x.most+float64(f.Head)
		case result.Slower:
			x.more, x.most = x.more+float64(f.Base*f.Change), x.most+float64(f.Base*f.High)
		}
		works[f.Role] = x
	}
	for _, f := range totals {
		if x := works[f.Role]; len(x.gone) > 0 {
			if f.Outcome == result.Slower {
				f.Change, f.High = 0, 0 // they are in the sum
			}
			base, title := float64(f.Base), strings.Join(x.gone, ", ")+" and what replaces it"
			change := (x.more+base*(1+float64(f.Change)))/(x.before+base) - 1
			most := (x.most+base*(1+float64(f.High)))/(x.before+base) - 1
			out[f.Subject()] = ofSameWork(t.Total.Name, title, change, change, most, float64(f.Limit))
		}
	}
	return out
}

// stayedIn is the whole of the kernels that both sides have in the range of a finding, where others moved in or out.
func (g *forgiveness) stayedIn(_ estimate, f *result.Finding) []whole {
	x := g.stayed[f.Name]
	if x[2] == 0 {
		return nil
	}
	change := x[1]/x[0] - 1
	return ofSameWork(g.Total.Name, "the kernels that stayed in "+f.Name, change, change, change, float64(f.Limit))
}

// stays are the times before and after of the kernels that both sides have in a range, and the number of those that
// moved in or out, by the names of ranges.
func stays(t comparison) map[string][3]float64 {
	out := map[string][3]float64{}
	for _, s := range measure.Where(recorded.Kernels(t.Base.Subjects()), t.Head.Has) {
		sides := map[string]int{} // 1 of the base, 2 of the head, 3 of both
		for i, side := range []*recorded.Index{t.Base, t.Head} {
			for name := range strings.SplitSeq(side.Role(s), "/") {
				sides[name] |= 1 + i
			}
		}
		for name, of := range sides {
			x := out[name]
			if of == 3 {
				x[0] += t.Base.Typical(s, t.Total.Name)
				x[1] += t.Head.Typical(s, t.Total.Name)
			} else {
				x[2]++
			}
			out[name] = x
		}
	}
	return out
}
