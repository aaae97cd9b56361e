// Package verdict draws the verdict of a gate from its findings, and orders these.
package verdict

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/explain/reason"
	"github.com/nsgate/nsgate/gate/internal/judge/match"
	"github.com/nsgate/nsgate/gate/internal/judge/recorded"
	"github.com/nsgate/nsgate/gate/internal/judge/stats"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// Gate is a gate beside its findings. A reason is nil where it does not apply.
type Gate struct {
	match.Sides                 // where findings were judged
	Refused     *result.Remark  // nothing was judged
	CodeAlone   *result.Remark  // device code, and nothing else, was judged
	Unmet       *result.Remark  // a rule bounds values that were not measured
	Outlier     *result.Remark  // a single run is an outlier as a whole
	LeftOut     *result.Remark  // several runs of the head are outliers as a whole, and fewer of the baseline
	Code        *result.Remark  // device code is beyond a rule
	Broken      *result.Remark  // a head that is compared with nothing is beyond a bound
	Drift       []result.Remark // see [result.KeyOverDrift]
}

// Of draws the verdict of a gate, whose findings stand worst first: that of the first conclusion with a reason. Only it
// and [Several] write a verdict.
func Of(g Gate, d *result.Report) {
	all := conclusions(g, d)
	all[slices.IndexFunc(all, func(x Conclusion) bool { return x.Because != nil })].write(d)
}

// Conclusion is a verdict, whether it is undecided, and why.
type Conclusion struct {
	Verdict   result.Verdict
	Undecided bool
	Because   *result.Remark
}

func (v Conclusion) write(d *result.Report) {
	d.Verdict, d.Undecided = v.Verdict, v.Undecided
	d.Reason, d.ReasonKey, d.ReasonArgs = v.Because.Sentence, v.Because.Key, v.Because.Args
	if v.Because.Next != "" {
		d.Next = []string{v.Because.Next}
	}
}

// conclusions are what may decide a gate, in their order; those whose reason is nil do not apply. A certain regression
// outranks a refusal, and a refusal outranks drift and doubt.
func conclusions(t Gate, d *result.Report) []Conclusion {
	if t.CodeAlone != nil || t.Refused != nil {
		return []Conclusion{{result.Fail, false, t.Code}, {result.Fail, false, t.Broken},
			{result.NoVerdict, false, t.Unmet}, {result.NoVerdict, false, t.Refused}, {result.Pass, false, t.CodeAlone}}
	}
	findings := d.Findings
	var slower, nothing, few, drift, doubted, undecided *result.Remark
	if names := Failing(findings); names != "" {
		slower = new(result.Say(reason.Slower{What: names}))
	}
	missing, failed := missingRows(t.Sides, findings)
	if d.Family == 0 {
		nothing = unjudged(t.Sides)
	}
	if i := slices.IndexFunc(t.Drift, func(x result.Remark) bool { return x.Key == result.KeyOverDrift }); i >= 0 {
		drift = &t.Drift[i]
	}
	listed, gating := false, false
	var open []int
	for i, f := range findings {
		if f.Gates && f.NotJudged() { // bounds alone need no second run
			few = tooFew(&f)
		}
		listed = listed || f.Outcome == result.Slower && !f.Gates && !f.Increased()
		if f.Doubted && doubted == nil {
			doubt := measure.Either(f.ReasonKey == result.KeyWaiting,
				"is longer, and another program on the GPU may be why",
				"looks worse, too much to pass and not surely enough to fail")
			doubted = about(result.Refuse(model.Doubted, remedy(&f), "the %s of %s %s: %s", result.Title(f.Metric),
				f.Title(), doubt, f.Reason), i)
		}
		if f.Undecided {
			open, gating = append(open, i), gating || f.Gates
		}
	}
	if len(open) > 0 {
		f := findings[open[0]]
		undecided = new(result.Say(reason.Undecided{Finding: open[0], Kernel: f.Title(), Metric: f.Metric,
			Because: f.Reason, Others: len(open) > 1, Listed: listed}))
		undecided.Next = remedies[f.ReasonKey]
	}
	strict := gating && t.Policy.Undecided == "fail"
	return []Conclusion{
		{result.Fail, false, slower},
		{result.Fail, false, t.Code},
		{result.Fail, false, failed},
		{result.NoVerdict, false, t.Unmet},
		{result.NoVerdict, false, unmeasuredKernels(t.Sides, findings)},
		{result.NoVerdict, false, missing},
		{result.NoVerdict, false, missingDevices(t.Sides, findings)},
		{result.NoVerdict, false, nothing},
		{result.NoVerdict, false, few},
		{result.NoVerdict, false, t.Outlier},
		{result.Fail, false, drift},
		{result.NoVerdict, true, t.LeftOut},
		{result.NoVerdict, true, doubted},
		{measure.Either(strict, result.NoVerdict, result.Pass), true, undecided},
		{result.Pass, false, new(result.Say(reason.NoneSlower{Comparisons: judged(findings), Listed: listed}))},
	}
}

// tooFew is why a finding of too few runs is not judged.
func tooFew(f *result.Finding) *result.Remark {
	is, _ := result.As[reason.NotJudged](result.Remark{Key: f.ReasonKey, Args: f.ReasonArgs})
	r := result.Refuse(model.FewRuns, "measure 5 runs a side; where that takes too long, 5 of the baseline: one run "+
		"of the head is compared by their spread",
		"%s against %d is too few: without the spread between runs no change can be told from noise",
		measure.Count(is.Base, "run"), is.Head)
	r.Args = f.ReasonArgs
	return r
}

// remedy settles a doubt.
func remedy(f *result.Finding) string {
	hidden := slices.ContainsFunc(f.Also, func(x result.Remark) bool { return slices.Contains(beyondRuns, x.Key) })
	return measure.Either(hidden || slices.Contains(beyondRuns, f.ReasonKey), reason.BesideHead,
		cmp.Or(remedies[f.ReasonKey], "measure again with more runs"))
}

// IdleGPU is the remedy where another program may have kept work waiting.
const IdleGPU = "measure again on an idle GPU"

// remedies settle a doubt by the kind of its reason, where more runs would not.
var remedies = map[string]string{
	result.KeyWithAll:                  reason.BesideHead,
	result.KeyWaiting:                  IdleGPU,
	result.KeyHostDenied:               "measure on a quiet host, or the base build beside the head",
	result.Say(reason.OtherUnit{}).Key: "compare what both sides print; where this is meant, record the baseline anew",
}

// judged is the number of findings that compare both sides.
func judged(findings []result.Finding) int {
	return measure.HowMany(findings, func(f result.Finding) bool {
		oneSided := f.Base.Known() != f.Head.Known() && !f.Fails() && !f.Outcome.Kept()
		return f.Outcome != result.New && f.Outcome != result.Gone && !f.NotJudged() && !oneSided
	})
}

// unjudged is why a gate has nothing to fail for.
func unjudged(t match.Sides) *result.Remark {
	timed := func(s measure.Subject) bool { return t.Head.HasMetric(s, measure.ReplayTime.Name) }
	if t.Time == measure.ReplayTime && !slices.ContainsFunc(t.Head.Subjects(), timed) {
		return result.Refuse(model.CountersOnly,
			"profile with --set basic as well, or write a rule for a counter: metric = \"registers\", max = \"0%\"",
			"the counters of single launches hold no duration, and no rule limits one of them")
	}
	for _, s := range t.Head.Subjects() {
		if t.Head.HasMetric(s, measure.Value.Name) && t.Base.HasMetric(s, measure.Value.Name) {
			return result.Refuse(model.NothingJudged,
				fmt.Sprintf("say in a rule which way it gets better: benchmark = %q, metric = \"value\", max = "+
					"\"3%%\", better = \"lower\" (or \"higher\")", selecting(s.Name)),
				"nothing that both sides have can be judged: the unit of %s does not tell whether more or less is "+
					"better",
				s.Short())
		}
	}
	return NothingJudged(t.Policy)
}

// unmeasuredKernels is why a gate over a few launches of each kernel cannot pass, nil where it can: a kernel of the
// base that was not profiled in the head was not judged, and one run a side decides nothing that is measured.
func unmeasuredKernels(t match.Sides, findings []result.Finding) *result.Remark {
	if t.Time != measure.ReplayTime {
		return nil
	}
	once := min(t.Base.Runs(), t.Head.Runs()) < stats.MinRuns
	for i, f := range findings {
		switch {
		case f.Outcome == result.Gone && f.Scope == measure.ScopeKernel:
			return result.Refuse(model.NotProfiled,
				"if it is gone on purpose, record the baseline anew; else profile what took its place too",
				"no launch of %s was profiled in the head, which the baseline has", f.Title())
		case f.Undecided && f.Metric == measure.ReplayTime.Name && f.Base.Known() != f.Head.Known():
			return about(result.Refuse(model.Unjudged, "profile again; see what the profiler says of this kernel",
				"the %s of %s cannot be judged: %s", result.Title(f.Metric), f.Title(), f.Reason), i)
		case f.Undecided && once:
			return about(result.Refuse(model.Unjudged, "measure at least 2 runs a side, or judge what is counted "+
				"only: a rule with severity = \"ignore\" for the rest", "the %s of %s cannot be judged: %s",
				result.Title(f.Metric), f.Title(), f.Reason), i)
		}
	}
	return nil
}

// about notes the index of the finding that a refusal is about.
func about(r *result.Remark, finding int) *result.Remark {
	r.Args = result.Args{"finding": result.Number(finding)}
	return r
}

func NothingJudged(policy *thresholds.Resolved) *result.Remark {
	if len(policy.Rules) == 0 {
		return result.Refuse(model.NothingJudged, "measure the same workload on both sides, at least 2 runs a side; a "+
			"number without a known unit is not judged", "nothing that both sides have can be judged")
	}
	return result.Refuse(model.NothingJudged, "check its rules: what they ignore or only warn of fails no gate",
		"the policy leaves nothing to judge")
}

// Failing names the subjects that failed, each subject once, worst first.
func Failing(findings []result.Finding) string {
	const most = 4
	var names []string
	subjects, named := map[measure.Subject]bool{}, map[string]bool{}
	devices := measure.HowMany(findings, func(f result.Finding) bool {
		return f.Scope == measure.ScopeDevice && f.Fails()
	})
	for i := range findings {
		f := &findings[i]
		if !f.Fails() || subjects[f.Subject()] {
			continue
		}
		subjects[f.Subject()] = true
		name := f.Title()
		switch f.Scope {
		case measure.ScopeRange:
			name = "range " + name
		case measure.ScopeDevice:
			if devices > most && named["device"] { // of many ranks the worst
				continue
			}
			named["device"] = true
		}
		if len(names) < most && !named[name] {
			named[name] = true
			names = append(names, name+" "+result.Title(f.Metric)+" "+worsened(f))
		}
	}
	s := strings.Join(names, ", ")
	if len(subjects) > len(names) {
		s += " and others"
	}
	return s
}

// worsened says how a finding got worse: the relative change where there is one, else the values.
func worsened(f *result.Finding) string {
	head := f.Head.In(f.Unit)
	switch {
	case f.AtLeast != nil && f.Head < *f.AtLeast:
		return head + " under " + f.AtLeast.In(f.Unit)
	case f.AtMost != nil && f.Head > *f.AtMost:
		return head + " over " + f.AtMost.In(f.Unit)
	case f.Change.Known():
		return f.Change.Change()
	case f.Base.Known():
		return f.Base.In(f.Unit) + " → " + head
	}
	return head
}

// Settled reports whether further runs of the same sides could not change the verdict: it is certain, or what keeps a
// comparison undecided is not the number of runs.
func Settled(r *result.Report) bool {
	return r.Verdict == result.Fail || r.Verdict == result.NoVerdict && !r.Undecided ||
		!slices.ContainsFunc(r.Findings, OpenToRuns)
}

// OpenToRuns reports whether further runs could still turn a finding into a failure. A change beyond the limit may be
// found with the larger error of a later look, whatever else hides it.
func OpenToRuns(f result.Finding) bool {
	worst := measure.Either(f.Direction() == measure.Higher, -f.Low, f.High)
	hidden := func(key string) bool { return slices.Contains(beyondRuns, key) }
	return f.Gates && f.Outcome == result.Undecided && !(worst <= f.Limit) && !hidden(f.ReasonKey) &&
		(f.Harm() > float64(f.Limit) || !slices.ContainsFunc(f.Also,
			func(x result.Remark) bool { return hidden(x.Key) }))
}

// beyondRuns are the keys of reasons that further runs of the same sides do not settle.
var beyondRuns = []string{
	result.Say(reason.LikeHosts{}).Key, result.Say(reason.OtherHost{}).Key,
	result.Say(reason.OtherBatch{}).Key, result.Say(reason.RowsTogether{}).Key,
}

// Rank orders findings: gate failures, other regressions, undecided findings, improvements, additions and removals, the
// rest. Within each broken conditions come first, then the outputs, then the largest part of the GPU time that the
// change adds or takes away.
func Rank(f *result.Finding) float64 {
	group := outcomes[f.Outcome]
	if f.Increased() {
		group = increased
	} else if f.Outcome == result.Slower && !f.Gates || f.Outcome == result.Undecided &&
		!(f.Undecided && f.Gates) && !f.NotJudged() {
		group++
	}
	weight := measure.Either(f.Scope == measure.ScopeOutput, 1.0, 0) // outputs come before the parts of the program
	if f.Condition() {
		weight += 2
	}
	if f.Share.Known() {
		part := float64(f.Share)
		if change := math.Abs(float64(f.Change)); f.Change.Known() && !f.Outcome.Kept() {
			part *= change / (1 + math.Max(float64(f.Change), 0)) // of the larger of base and head
		}
		if f.Unit != measure.Time.Unit {
			part /= 2 // a count is the reason for a time, not the other way round
		}
		weight += part
	}
	return group*10 - weight
}

// Detects collects the MDEs of findings, nil where there are none.
func Detects(findings []result.Finding) *result.Detects {
	unknown := result.Unknown
	d := &result.Detects{GPUTime: unknown, Step: unknown, Output: unknown, KernelLeast: unknown, KernelMost: unknown}
	for i := range findings {
		f := &findings[i]
		switch {
		case !f.MDE.Known():
		case f.Scope == measure.ScopeOutput:
			d.Output.Raise(f.MDE)
		case f.Subject() == measure.Workload && f.Metric == measure.GPUTime.Name:
			d.GPUTime = f.MDE
		case f.Subject() == measure.Workload && f.Metric == measure.StepTime.Name:
			d.Step = f.MDE
		case f.Scope == measure.ScopeKernel && f.Gates && f.Share >= recorded.KernelShare &&
			f.Unit == measure.Time.Unit:
			d.KernelMost.Raise(f.MDE)
			if !(d.KernelLeast <= f.MDE) {
				d.KernelLeast = f.MDE
			}
		}
	}
	return measure.Either(slices.ContainsFunc([]result.Number{d.GPUTime, d.Step, d.Output, d.KernelMost},
		result.Number.Known), d, nil)
}

// outcomes holds the rank of every outcome in a report, the lowest first. Regressions and undecided comparisons that
// cannot fail the gate rank one higher.
const increased = 3.5

var outcomes = map[result.Outcome]float64{
	result.Slower:      0,
	result.Undecided:   2,
	result.Faster:      4,
	result.New:         5,
	result.Gone:        6,
	result.WithinLimit: 7,
	result.BelowFloor:  7,
}
