package decide

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/recorded"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/measure"
	"github.com/nsgate/nsgate/thresholds"
)

const again = "measure both sides with the same settings"

// Reasons are all causes for which there is no verdict and no calibration. What makes one recording unfit is in the lists
// of the readers.
var Reasons = append(slices.Clone(recorded.Reasons), model.Reasons{
	{Key: "other-gpu",
		Sentence: "the sides were measured on different GPUs: {models}",
		Next:     "record a baseline on {model}, or run this check on the baseline's GPU"},
	{Key: "mixed-profilers",
		Sentence: "the head mixes what {one} and {other} measured",
		Next:     "judge the profiles of one profiler at a time"},
	{Key: "other-profiler",
		Sentence: "the base was measured with {base}, the head with {head}: they time the same kernel differently",
		Next:     "measure both sides with the same profiler"},
	{Key: "other-mode",
		Sentence: "the profiler was set differently: {base} in the base, {head} in the head",
		Next:     again},
	{Key: "graphs-whole",
		Sentence: "CUDA graphs were traced as a whole: the kernels inside them cannot be judged",
		Next:     "profile with --cuda-graph-trace=node"},
	{Key: "other-graph-trace",
		Sentence: "CUDA graphs were traced differently: {base} in the base, {head} in the head",
		Next:     "profile both sides with --cuda-graph-trace=node"},
	{Key: "other-devices",
		Sentence: "the base used {base}, the head {head}",
		Next:     again},
	{Key: "other-processes",
		Sentence: "the base ran {base} at a time, the head {head}",
		Next:     again},
	{Key: "other-capture",
		Sentence: "only one side is restricted to what lies between cudaProfilerStart and cudaProfilerStop",
		Next:     again},
	{Key: "other-step",
		Sentence: "the sides count by different steps: {base} in the base, {head} in the head",
		Next:     "name the range that both repeat as the step"},
	{Key: "step-lost",
		Sentence: "no step was found in the {side}, and the {other} has one",
		Next:     "name the range that both repeat as the step, or take both as one piece (--step none)"},
	{Key: "other-work",
		Sentence: "the workload did a different amount of work: {base} steps in the base, {head} in the head",
		Next:     again},
	{Key: "other-workload",
		Sentence: "the sides have no kernel and no range in common: {base} in the base, {head} in the head",
		Next:     "compare two builds of one workload"},
	{Key: "few-runs",
		Sentence: "{base} against {head} judges no time: without the spread between runs no change can be told from noise",
		Next:     "measure 5 runs a side; where that takes too long, 5 of the base: one of the head is held against their spread"},
	{Key: "swerves",
		Sentence: "the one run of the {side} is {change} off as a whole, with nearly all of its kernels: a neighbour, a clock or a power limit does that as well as code",
		Next:     "measure again, with at least 2 runs"},
	{Key: "zero-time",
		Sentence: "{kernel} takes no time at all in the {side} and {time} in the other side: the timer failed, or the profile was changed",
		Next:     "measure again"},
	{Key: "unsteady",
		Sentence: "no steady state in {some} of the {all} runs of the {side}",
		Next:     "let the workload run longer, or say what is warm-up"},
	{Key: "nothing-judged",
		Sentence: "the policy leaves nothing to judge",
		Next:     "check its rules: not every metric may be ignored"},
	{Key: "counters-only",
		Sentence: "the pages of ncu hold no duration, and no rule limits one of their counters",
		Next:     "profile with --set basic as well, or write a rule for a counter: metric = \"registers\", max = \"0%\""},
	{Key: "metric-missing",
		Sentence: "no kernel has {metric}, which {rule} limits",
		Next:     "profile with ncu --set full; where the GPU does not count it, take the rule out"},
	{Key: "not-sampled",
		Sentence: "nothing that {rule} limits has {metric}: the GPU does not count it, or the range is shorter than the sampling",
		Next:     "limit it for the workload or for a longer range, or take the rule out"},
	{Key: "not-profiled",
		Sentence: "ncu profiled no launch of {kernel} in the head, which the base has",
		Next:     "if it is gone on purpose, record the baseline anew; else profile what took its place too"},
	{Key: "time-unjudged",
		Sentence: "the {metric} of {kernel} cannot be judged: {reason}",
		Next:     "profile again; see what ncu says of this kernel"},
	{Key: "counter-unjudged",
		Sentence: "the {metric} of {kernel} cannot be judged: {reason}",
		Next:     "measure at least 2 runs a side, or judge what is counted only: a rule with severity = \"ignore\" for the rest"},
	{Key: "doubted",
		Sentence: "the {metric} of {kernel} looks worse, too much so to pass and not surely enough to fail: {reason}",
		Next:     "measure again with more runs"},
	{Key: "nothing-measured",
		Sentence: "there is no session to calibrate with",
		Next:     "measure one"},
	{Key: "unsplittable",
		Sentence: "{runs} cannot be split into two sides of at least two",
		Next:     "measure at least 4 runs, better 10"},
	{Key: "unsettled",
		Sentence: "no steady state in {some} of {all} runs",
		Next:     "let the workload run longer, or say what is warm-up"},
	{Key: "drift",
		Sentence: "the workload's GPU time drifts: {change} from the first run to the last (p = {p})",
		Next:     "let the GPU come to its working temperature and clock, see that nothing else runs on the machine, and calibrate again"},
}...)

// refusal is why there is no verdict: a key of [Reasons] with its details.
func NewRefusal(key string, args result.Args) *result.Remark {
	return &result.Remark{Key: key, Args: args}
}

// comparable returns the base sessions that head can be held against, or why there are none.
func comparable(base, head []model.Session) ([]model.Session, *result.Remark) {
	for _, side := range []struct {
		name     string
		sessions []model.Session
	}{{"base", base}, {"head", head}} {
		if len(side.sessions) == 0 {
			return base, NewRefusal("no-session", result.Args{"side": side.name})
		}
		for i := range side.sessions {
			if err := side.sessions[i].Check(); err != nil {
				return base, NewRefusal("bad-session", result.Args{"side": side.name, "what": err.Error()})
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
		return base, NewRefusal("other-gpu", result.Args{"models": models, "model": h.GPU})
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
	}{{"base", fits}, {"head", head}} {
		runs, restless := 0, 0
		for i := range side.sessions {
			runs += side.sessions[i].Profiled()
			restless += Unsteady(&side.sessions[i])
		}
		if 2*restless > runs && !growAlike(fits, head) {
			return fits, NewRefusal("unsteady", result.Args{"some": result.Number(restless), "all": result.Number(runs), "side": side.name})
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
func lostStep(t trial) *result.Remark {
	has := func(s *recorded.Index) bool { return s.HasMetric(measure.Workload, measure.StepTime.Name) }
	knows := func(s *recorded.Index) bool { return s.Has(measure.Steps) } // a side of another format has no step to lose
	switch {
	case has(t.base) && !has(t.head) && knows(t.head):
		return NewRefusal("step-lost", result.Args{"side": sideNames[1], "other": sideNames[0]})
	case has(t.head) && !has(t.base) && knows(t.base):
		return NewRefusal("step-lost", result.Args{"side": sideNames[0], "other": sideNames[1]})
	}
	return nil
}

// unsteady counts the runs whose warm-up has no end, where one was looked for.
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
			return base, NewRefusal("mixed-profilers", result.Args{"one": string(p), "other": string(h)})
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
		return base, NewRefusal("other-profiler", result.Args{"base": others[0], "head": string(h)})
	}
	return fits, nil
}

// sameWay says why two sessions were not measured in the same way.
func sameWay(b, h *model.Session) *result.Remark {
	switch {
	case b.GraphTrace == "graph" || h.GraphTrace == "graph":
		if b.GraphTrace == h.GraphTrace {
			return NewRefusal("graphs-whole", nil)
		}
		return NewRefusal("other-graph-trace", result.Args{"base": b.GraphTrace, "head": h.GraphTrace})
	case b.Mode != h.Mode:
		return NewRefusal("other-mode", result.Args{"base": b.Mode, "head": h.Mode})
	case b.GPUs != h.GPUs:
		return NewRefusal("other-devices", result.Args{"base": result.Number(b.GPUs), "head": result.Number(h.GPUs)})
	case b.Processes != h.Processes && b.Processes > 0 && h.Processes > 0:
		return NewRefusal("other-processes", result.Args{"base": result.Number(b.Processes), "head": result.Number(h.Processes)})
	case (b.Warmup == "capture") != (h.Warmup == "capture"):
		return NewRefusal("other-capture", nil)
	case b.Step != h.Step:
		return NewRefusal("other-step", result.Args{"base": b.Step, "head": h.Step})
	case b.Step != "" && (2*steps(h) < steps(b) || 2*steps(b) < steps(h)):
		return NewRefusal("other-work", result.Args{"base": result.Number(steps(b)), "head": result.Number(steps(h))})
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
func related(t trial, pairs []pair) *result.Remark {
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
	return NewRefusal("other-workload", result.Args{"base": result.Number(len(base)), "head": result.Number(len(head))})
}

// timed refuses a kernel that takes no time on one side and a good deal on the other: a time of zero is no measurement.
func timed(t trial, pairs []pair) *result.Remark {
	const ticks = 10 // of the timer; what takes less may well be read as zero
	least := ticks * math.Max(t.tick, 1)
	for _, p := range pairs {
		if p.metric.Name != t.time.Name || p.match != "exact" {
			continue
		}
		base, head := recorded.Typical(p.base), recorded.Typical(p.head)
		switch {
		case head == 0 && base > least:
			return NewRefusal("zero-time", result.Args{"kernel": p.subject.Short(), "side": "head", "time": result.Number(base)})
		case base == 0 && head > least:
			return NewRefusal("zero-time", result.Args{"kernel": p.subject.Short(), "side": "base", "time": result.Number(head)})
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
				return nil, NewRefusal("not-sampled", result.Args{"metric": m.Name, "rule": rule.Where})
			default:
				notes = append(notes, result.NewRemark("needs-sampling", result.Args{"metric": m.Name, "rule": rule.Where}))
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
			return nil, NewRefusal("metric-missing", result.Args{"metric": m.Name, "rule": rule.Where})
		case slices.Contains(measure.Throughput, m) && m.Better != measure.Neither:
			notes = append(notes, result.NewRemark("needs-ncu", result.Args{"metric": m.Name, "rule": rule.Where}))
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
			out = append(out, result.NewRemark("versions", result.Args{"what": what, "base": x, "head": y}))
		}
	}
	differ("driver", b.Driver, h.Driver)
	differ("CUDA", b.CUDA, h.CUDA)
	differ("profiler", minor(b.Tool), minor(h.Tool))
	differ("power limit", watts(b.PowerW), watts(h.PowerW))
	if age := h.Start.Sub(newest(base)); policy.MaxAge > 0 && !h.Start.IsZero() && !newest(base).IsZero() && age > policy.MaxAge {
		const day = 24 * time.Hour
		out = append(out, result.NewRemark("old-base", result.Args{"days": result.Number(int(age / day)), "most": result.Number(int(policy.MaxAge / day))}))
	}
	if (b.GPU == "") != (h.GPU == "") {
		out = append(out, result.NewRemark("unknown-gpu", result.Args{"model": b.GPU + h.GPU}))
	}
	if boardsOf(base, head) == result.OtherBoard {
		out = append(out, result.NewRemark("other-board", result.Args{"base": recorded.Classes(base), "head": recorded.Classes(head)}))
	}
	if b.Step != "" && steps(&b) != steps(&h) {
		out = append(out, result.NewRemark("steps", result.Args{"base": result.Number(steps(&b)), "head": result.Number(steps(&h))}))
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
