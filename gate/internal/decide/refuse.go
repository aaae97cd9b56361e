package decide

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/reason"
	"github.com/nsgate/nsgate/gate/internal/recorded"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/measure"
	"github.com/nsgate/nsgate/thresholds"
)

const again = "measure both sides with the same settings"

// comparable returns the base sessions that head can be held against, or why there are none.
func comparable(base, head []model.Session) ([]model.Session, *result.Remark) {
	for _, side := range []struct {
		name     string
		sessions []model.Session
	}{{"baseline", base}, {"head", head}} {
		if len(side.sessions) == 0 {
			return base, result.Refuse(model.NoSession, "measure it first", "the %s holds no session", side.name)
		}
		for i := range side.sessions {
			if err := side.sessions[i].Check(); err != nil {
				return base, result.Refuse(model.BadSession, "measure again", "%s: %v", side.name, err)
			}
		}
	}
	h := head[len(head)-1]
	var models []string
	for _, s := range append(slices.Clone(base), head...) {
		if s.GPU != "" && !slices.Contains(models, s.GPU) {
			models = append(models, s.GPU)
		}
	}
	base, refused := sameProfiler(base, head)
	if refused != nil {
		return base, refused
	}
	// A session that does not name its GPU, as pages of ncu and old traces do, may be of any.
	otherGPU := func(s model.Session) bool { return s.GPU != h.GPU && s.GPU != "" && h.GPU != "" }
	fits := slices.DeleteFunc(slices.Clone(base), otherGPU)
	if len(fits) == 0 || slices.ContainsFunc(head, otherGPU) {
		return base, result.Refuse(model.OtherGPU, "record a baseline on "+cmp.Or(h.GPU, "the GPU of the head")+", or run this check on the baseline's GPU",
			"baseline and head were measured on different GPUs: %s", strings.Join(models, ", "))
	}
	fits = onBoard(fits, head)
	for _, b := range fits {
		for i := range head {
			if refused := sameWay(&b, &head[i]); refused != nil {
				return fits, refused
			}
		}
	}
	for _, side := range []struct {
		name     string
		sessions []model.Session
	}{{"baseline", fits}, {"head", head}} {
		runs, restless := 0, 0
		for i := range side.sessions {
			runs += side.sessions[i].Profiled()
			restless += Unsteady(&side.sessions[i])
		}
		if 2*restless > runs && !growAlike(fits, head) {
			return fits, result.Refuse(model.Unsteady, "let the workload run longer, or say what is warm-up",
				"no steady state in %d of the %d runs of the %s", restless, runs, side.name)
		}
	}
	return fits, nil
}

// growAlike reports whether the steps of both sides get longer, or shorter, by the same factor within a run: then the same steps are
// compared, and that there is no steady state is no difference.
func growAlike(base, head []model.Session) bool {
	const apart = 0.02
	b, h := recorded.New(base, measure.Total), recorded.New(head, measure.Total)
	x, y := b.Typical(measure.Workload, measure.Growth.Name), h.Typical(measure.Workload, measure.Growth.Name)
	for i := range base {
		for j := range head {
			if steps(&base[i]) != steps(&head[j]) {
				return false
			}
		}
	}
	return x > 0 && y > 0 && math.Abs(math.Log(x/y)) <= apart
}

// lostStep refuses sides of which one repeats nothing: its step is lost, and nothing would judge that.
func lostStep(t comparison) *result.Remark {
	has := func(s *recorded.Index) bool { return s.HasMetric(measure.Workload, measure.StepTime.Name) }
	knows := func(s *recorded.Index) bool { return s.Has(measure.Steps) } // a side of another format has no step to lose
	switch {
	case has(t.base) && !has(t.head) && knows(t.head):
		return noStep("head", "baseline")
	case has(t.head) && !has(t.base) && knows(t.base):
		return noStep("baseline", "head")
	}
	return nil
}

func noStep(without, with string) *result.Remark {
	return result.Refuse(model.StepLost, "name the range that both repeat as the step, or take both as one piece",
		"no step was found in the %s, and the %s has one", without, with)
}

// Unsteady counts the runs whose warm-up has no end, where one was looked for.
func Unsteady(s *model.Session) int {
	n := 0
	for _, run := range s.Runs[:s.Profiled()] {
		if !run.Steady && s.Warmup == "auto" {
			n++
		}
	}
	return n
}

// sameProfiler returns the base sessions that come from the profiler of the head: what one profiler says of a kernel is
// never held against what another one says.
func sameProfiler(base, head []model.Session) ([]model.Session, *result.Remark) {
	h := head[len(head)-1].Profiler()
	for i := range head {
		if p := head[i].Profiler(); p != h {
			return base, result.Refuse(model.MixedProfilers, "judge the profiles of one profiler at a time",
				"the head mixes the measurements of %s and %s", p, h)
		}
	}
	others := []string{}
	fits := slices.DeleteFunc(slices.Clone(base), func(s model.Session) bool {
		p := s.Profiler()
		if p != h && p != "" && h != "" {
			others = append(others, string(p))
			return true
		}
		return false
	})
	if len(fits) == 0 {
		return base, result.Refuse(model.OtherProfiler, "measure both sides with the same profiler",
			"the baseline was measured with %s, the head with %s: they time the same kernel differently", others[0], h)
	}
	return fits, nil
}

// sameWay says why two sessions were not measured in the same way.
func sameWay(b, h *model.Session) *result.Remark {
	switch {
	case b.GraphTrace == "graph" || h.GraphTrace == "graph":
		if b.GraphTrace == h.GraphTrace {
			return result.Refuse(model.WholeGraphs, "profile with --cuda-graph-trace=node", "CUDA graphs were traced as a whole: the kernels inside them cannot be judged")
		}
		return result.Refuse(model.OtherMode, "profile both sides with --cuda-graph-trace=node",
			"CUDA graphs were traced differently: %s in the baseline, %s in the head", graphs(b.GraphTrace), graphs(h.GraphTrace))
	case b.Mode != h.Mode:
		return result.Refuse(model.OtherMode, again, "the profiler was set differently: %s in the baseline, %s in the head",
			cmp.Or(b.Mode, "not known"), cmp.Or(h.Mode, "not known"))
	case b.GPUs != h.GPUs:
		return result.Refuse(model.OtherMode, again, "the baseline used %s, the head %s", measure.Count(b.GPUs, "GPU"), measure.Count(h.GPUs, "GPU"))
	case b.Processes != h.Processes && b.Processes > 0 && h.Processes > 0:
		return result.Refuse(model.OtherMode, again, "the baseline ran %s at a time, the head %s",
			measure.Count(b.Processes, "process", "processes"), measure.Count(h.Processes, "process", "processes"))
	case (b.Warmup == "capture") != (h.Warmup == "capture"):
		return result.Refuse(model.OtherMode, again, "only one side is restricted to the range between cudaProfilerStart and cudaProfilerStop")
	case b.Step != h.Step:
		return result.Refuse(model.OtherStep, "name the range that both repeat as the step",
			"baseline and head have different steps: %s in the baseline, %s in the head", quoted(b.Step), quoted(h.Step))
	case b.Step != "" && (2*steps(h) < steps(b) || 2*steps(b) < steps(h)):
		return result.Refuse(model.OtherWork, again, "the workload did a different amount of work: %d steps in the baseline, %d in the head", steps(b), steps(h))
	}
	return nil
}

// steps is the number of steps of the session's shortest traced run.
func steps(s *model.Session) int {
	least := s.Runs[0].Total
	for _, r := range s.Runs[:s.Profiled()] {
		least = min(least, r.Total)
	}
	return least
}

// related refuses sides that have nothing in common but the workload as a whole: no kernel, not even by its short name or its
// place, no range, and no step. What one program takes says nothing about another.
func related(t comparison, pairs []pair) *result.Remark {
	if t.base.Sessions[0].Step != "" || t.time == model.NcuTime {
		return nil // both repeat the same step; Nsight Compute sees the kernels that it was told to
	}
	common := func(p pair) bool {
		return p.compared() && p.match != "rest" && (p.subject.Scope == measure.ScopeKernel || p.subject.Scope == measure.ScopeRange)
	}
	base, head := recorded.Kernels(t.base.Subjects()), recorded.Kernels(t.head.Subjects())
	if len(base) == 0 || len(head) == 0 || slices.ContainsFunc(pairs, common) {
		return nil
	}
	return result.Refuse(model.OtherWorkload, "compare two builds of one workload",
		"baseline and head have no kernel and no range in common: %s in the baseline, %s in the head",
		measure.Count(len(base), "kernel"), measure.Count(len(head), "kernel"))
}

// timed refuses a kernel that takes no time on one side and a good deal on the other: a time of zero is no measurement.
func timed(t comparison, pairs []pair) *result.Remark {
	const ticks = 10 // of the timer; what takes less may well be read as zero
	least := ticks * math.Max(t.tick, 1)
	for _, p := range pairs {
		if p.metric.Name != t.time.Name || p.match != "exact" {
			continue
		}
		base, head := recorded.Typical(p.base), recorded.Typical(p.head)
		switch {
		case head == 0 && base > least:
			return noTime(p, "head", "baseline", base)
		case base == 0 && head > least:
			return noTime(p, "baseline", "head", head)
		}
	}
	return nil
}

// unmeasured refuses a head in which no kernel has a metric that a rule names for it: the policy's word is not judged,
// and that is no pass. The metrics of Nsight Compute are not expected of another profiler; a note says where they are judged.
func unmeasured(head []model.Session, policy *thresholds.Policy) (notes []result.Remark, refused *result.Remark) {
	s := recorded.New(head, measure.Total)
	for _, rule := range policy.Rules {
		m, full := measure.MetricByName(string(rule.Metric))
		if !full || m.Judged() || rule.Severity == thresholds.Ignore {
			continue
		}
		if slices.Contains(measure.GPUMetrics, m) {
			switch {
			case sampled(s, policy, m, rule.Where):
			case s.HasMetric(measure.Workload, model.SamplingPeriod.Name):
				return nil, result.Refuse(model.MetricMissing, "limit it for the workload or for a longer range, or remove the rule",
					"nothing that %s limits has %s: the GPU does not count it, or the range is shorter than the sampling period", rule.Where, m.Title())
			default:
				notes = append(notes, result.Say(reason.NeedsProfiler{Metric: m.Name, Rule: rule.Where, Sampled: true}))
			}
			continue
		}
		of, has := 0, 0
		for _, subject := range s.Subjects() {
			if subject.Scope == measure.ScopeKernel && policy.Limit(subject, m).Rule == rule.Where {
				of++
				if s.HasMetric(subject, m.Name) {
					has++
				}
			}
		}
		switch {
		case of == 0 || has > 0:
		case recorded.ByLaunch(head):
			return nil, result.Refuse(model.MetricMissing, "profile with ncu --set full; where the GPU does not count it, remove the rule",
				"no kernel has %s, which %s limits", m.Title(), rule.Where)
		case slices.Contains(measure.Throughput, m) && m.Better != measure.Neither:
			notes = append(notes, result.Say(reason.NeedsProfiler{Metric: m.Name, Rule: rule.Where}))
		}
	}
	return notes, nil
}

// sampled reports whether anything that a rule limits has a metric of the whole GPU: the workload or a range, for it is
// sampled of no kernel.
func sampled(s *recorded.Index, policy *thresholds.Policy, m measure.Metric, rule string) bool {
	for _, subject := range s.Subjects() {
		if s.HasMetric(subject, m.Name) && policy.Limit(subject, m).Rule == rule {
			return true
		}
	}
	return false
}

// doubts are differences between the sides that do not forbid a comparison but belong beside its result.
func doubts(base, head []model.Session, policy *thresholds.Policy) []result.Remark {
	b, h := base[len(base)-1], head[len(head)-1]
	var out []result.Remark
	differ := func(what, x, y string) {
		if x != "" && y != "" && x != y {
			out = append(out, result.Say(reason.Versions{What: what, Base: x, Head: y}))
		}
	}
	differ("driver", b.Driver, h.Driver)
	differ("CUDA", b.CUDA, h.CUDA)
	differ("profiler", minor(b.Tool), minor(h.Tool))
	differ("power limit", watts(b.PowerW), watts(h.PowerW))
	if age := h.Start.Sub(newest(base)); policy.MaxAge > 0 && !h.Start.IsZero() && !newest(base).IsZero() && age > policy.MaxAge {
		const day = 24 * time.Hour
		out = append(out, result.Say(reason.OldBase{Days: int(age / day), Most: int(policy.MaxAge / day)}))
	}
	if (b.GPU == "") != (h.GPU == "") {
		out = append(out, result.Say(reason.UnknownGPU{Model: b.GPU + h.GPU}))
	}
	if boardsOf(base, head) == result.OtherBoard {
		out = append(out, result.Say(reason.OtherBoard{Base: recorded.Classes(base), Head: recorded.Classes(head)}))
	}
	if b.Step != "" && steps(&b) != steps(&h) {
		out = append(out, result.Say(reason.Steps{Base: steps(&b), Head: steps(&h)}))
	}
	return out
}

// newest is when the newest session began.
func newest(sessions []model.Session) (at time.Time) {
	for i := range sessions {
		if sessions[i].Start.After(at) {
			at = sessions[i].Start
		}
	}
	return at
}

// watts is a power limit in words, "" where it is not known.
func watts(limit int) string {
	if limit == 0 {
		return ""
	}
	return measure.Quantity(float64(limit), "W")
}

// minor cuts a version after its second number: "nsys 2025.3.2" to "nsys 2025.3".
func minor(version string) string {
	if parts := strings.SplitN(version, ".", 3); len(parts) == 3 {
		return parts[0] + "." + parts[1]
	}
	return version
}

// tooFewRuns refuses sides of which neither has a spread between runs.
func tooFewRuns(base, head int) *result.Remark {
	r := result.Refuse(model.FewRuns, "measure 5 runs a side; where that takes too long, 5 of the baseline: one run of the head is compared by their spread",
		"%s against %d cannot judge times: without the spread between runs no change can be told from noise", measure.Count(base, "run"), head)
	r.Args = result.Args{"base": result.Number(base), "head": result.Number(head)}
	return r
}

func noTime(p pair, without, with string, time float64) *result.Remark {
	return result.Refuse(model.ZeroTime, "measure again", "%s takes no time in the %s and %s in the %s: the timer failed, or the profile was changed",
		p.subject.Short(), without, measure.Quantity(time, "ns"), with)
}

// graphs says how CUDA graphs were traced.
func graphs(traced string) string {
	switch traced {
	case "graph":
		return "as a whole"
	case "node":
		return "node by node"
	}
	return "not at all"
}

func quoted(step string) string {
	if step == "" {
		return "none"
	}
	return strconv.Quote(step)
}
