package gate

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/measure"
	"github.com/nsgate/nsgate/thresholds"
)

// Evaluate judges head against base. Both sides hold at least one session; order within a side is oldest first. The
// report is complete but for what only the caller knows (Workload, Baseline, Reproduce, Accept). Where the two sides
// cannot be compared the verdict is NoVerdict and the reason says why.
func Evaluate(base, head []measure.Session, policy *thresholds.Policy) *Report {
	r := &Report{Schema: Schema, Alpha: Number(policy.Alpha), HeadSessions: head, Findings: []Finding{}}
	r.Head = describe(head)
	base, err := comparable(base, head)
	r.Base = describe(base)
	if err != nil {
		return r.refuse(err)
	}
	r.Warnings = doubts(base, head)
	if r.Notes, err = unmeasured(head, policy); err != nil {
		return r.refuse(err)
	}

	e := newEngine(base, head, policy)
	e.match()
	if err := e.timed(); err != nil {
		return r.refuse(err)
	}
	e.decide()
	if shift := e.commonShift(); shift != "" {
		r.Warnings = append(r.Warnings, shift)
	}
	if waits := e.waiting(); waits != "" {
		r.Warnings = append(r.Warnings, waits)
	}
	r.Paired = len(e.shared) > 0
	r.Family = e.family
	for _, c := range e.comparisons {
		r.Findings = append(r.Findings, c.finding)
	}
	if reason, next := r.unseen(); e.family == 0 && reason != "" {
		return r.refuse(measure.Refuse(reason, next))
	}
	if e.family == 0 && byLaunch(head) && math.IsNaN(typical(e.head.all(measure.NcuTime))) {
		return r.refuse(Reasons.Refuse("counters-only"))
	}
	if e.family == 0 {
		return r.refuse(Reasons.Refuse("nothing-judged"))
	}
	slices.SortStableFunc(r.Findings, func(a, b Finding) int { return cmp.Compare(rank(a), rank(b)) })
	r.conclude(policy)
	return r
}

// Refused is the report of a measurement that could not be judged at all.
func Refused(err error) *Report {
	r := &Report{Schema: Schema, Findings: []Finding{}, Alpha: Number(math.NaN())}
	return r.refuse(err)
}

func (r *Report) refuse(err error) *Report {
	r.Verdict, r.Reason = NoVerdict, err.Error()
	if refusal, ok := err.(*measure.Refusal); ok {
		r.Reason, r.ReasonKey = refusal.Reason, refusal.Key
		if refusal.Next != "" {
			r.Next = []string{refusal.Next}
		}
	}
	return r
}

// conclude counts the outcomes and draws the verdict from them.
func (r *Report) conclude(policy *thresholds.Policy) {
	var failed, open []Finding
	for _, f := range r.Findings {
		switch f.Outcome {
		case Regressed:
			if f.Gates {
				r.Counts.Regressed++
				failed = append(failed, f)
			} else {
				r.Counts.Warned++
			}
		case Improved:
			r.Counts.Improved++
		case Unchanged:
			r.Counts.Unchanged++
		case Inconclusive:
			r.Counts.Inconclusive++
			if f.Undecided {
				open = append(open, f)
			}
		case Added:
			r.Counts.Added++
		case Removed:
			r.Counts.Removed++
		}
	}
	r.Undecided = len(open) > 0 && len(failed) == 0
	unseen, next := r.unseen()
	switch {
	case len(failed) > 0:
		r.Verdict, r.Reason = Fail, headline(failed)
	case unseen != "":
		r.Verdict, r.Reason, r.Next, r.Undecided = NoVerdict, unseen, []string{next}, false
	case r.Undecided:
		r.Verdict = Pass
		r.Reason = fmt.Sprintf("nothing regressed for certain, but %s could not be decided, first of all the %s of %s, %s",
			count(len(open), "comparison"), label(open[0].Metric), open[0].Kernel, open[0].Reason)
		if policy.Undecided == "fail" {
			r.Verdict = NoVerdict
		}
	default:
		r.Verdict = Pass
		r.Reason = fmt.Sprintf("%s, none slower than its limit allows", count(r.Family, "comparison"))
	}
}

// headline names what failed, each subject once, worst first.
func headline(failed []Finding) string {
	var names []string
	for _, f := range failed {
		name := f.Kernel
		if f.Scope == measure.ScopeRange {
			name = "range " + name
		}
		if len(names) < 4 && !slices.ContainsFunc(names, func(s string) bool { return strings.HasPrefix(s, name+" ") }) {
			names = append(names, fmt.Sprintf("%s %s %s", name, label(f.Metric), f.moved()))
		}
	}
	subjects := map[string]bool{}
	for _, f := range failed {
		subjects[string(f.Scope)+f.Name+f.Grid+f.Block] = true
	}
	s := strings.Join(names, ", ")
	if more := len(subjects) - len(names); more > 0 {
		s += fmt.Sprintf(" and %d more", more)
	}
	return s + " regressed"
}

// moved says how a finding got worse: the relative change where there is one, else the values.
func (f *Finding) moved() string {
	m := measure.Metric{Unit: f.Unit}
	switch {
	case f.AtLeast != nil && f.broken():
		return amount(float64(f.Head), m) + " under " + amount(float64(*f.AtLeast), m)
	case f.AtMost != nil && f.broken():
		return amount(float64(f.Head), m) + " over " + amount(float64(*f.AtMost), m)
	case f.Change.Known():
		return percent(float64(f.Change))
	case f.Base.Known():
		return amount(float64(f.Base), m) + " → " + amount(float64(f.Head), m)
	}
	return amount(float64(f.Head), m)
}

// rank orders findings: what fails the gate, other regressions, what is open, improvements, additions and removals,
// the rest. Within each the largest part of the GPU time that the change adds or takes away comes first.
func rank(f Finding) float64 {
	group := map[Outcome]float64{Regressed: 0, Inconclusive: 2, Improved: 4, Added: 5, Removed: 6, Unchanged: 7}[f.Outcome]
	if f.Outcome == Regressed && !f.Gates || f.Outcome == Inconclusive && !f.Undecided {
		group++
	}
	weight := 0.0
	if f.Share.Known() {
		weight = float64(f.Share)
		if change := math.Abs(float64(f.Change)); f.Change.Known() && f.Outcome != Unchanged {
			weight *= change / (1 + change)
		}
		if f.Unit != measure.Time.Unit {
			weight /= 2 // a count is the reason for a time, not the other way round
		}
	}
	return group*10 - weight
}

// describe sums up one side.
func describe(sessions []measure.Session) Side {
	s := Side{Sessions: len(sessions)}
	if len(sessions) == 0 {
		return s
	}
	last := sessions[len(sessions)-1]
	s.Environment, s.Commit, s.Step, s.Warmup = last.Environment, last.Commit, last.Step, last.Warmup
	least, most, total, launches := math.MaxInt, 0, 0, 0
	for _, x := range sessions {
		s.Runs += len(x.Runs)
		for _, run := range x.Runs {
			least, most = min(least, run.Skipped), max(most, run.Skipped)
			total = max(total, run.Total)
			launches = max(launches, run.Launches)
		}
	}
	if byLaunch(sessions) {
		s.Warmup, s.Skipped = "", fmt.Sprintf("%s profiled in every run", plural(launches, "launch", "launches"))
		return s
	}
	what := "steps"
	if s.Step == "" {
		what = "launches"
	}
	skipped := fmt.Sprint(least)
	if most != least {
		skipped = fmt.Sprintf("%d to %d", least, most)
	}
	s.Skipped = fmt.Sprintf("%s of %d %s in every run", skipped, total, what)
	return s
}

func count(n int, what string) string { return plural(n, what, what+"s") }

func plural(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// percent prints a relative change: +4.9 %.
func percent(x float64) string {
	switch abs := math.Abs(x) * 100; {
	case math.IsNaN(x):
		return "unknown"
	case abs >= 1000:
		return fmt.Sprintf("×%.3g", 1+x)
	case abs >= 99.95:
		return fmt.Sprintf("%+.0f %%", 100*x)
	case abs >= 9.995:
		return fmt.Sprintf("%+.1f %%", 100*x)
	default:
		return fmt.Sprintf("%+.2f %%", 100*x)
	}
}

// label is a metric's name in a sentence.
func label(metric string) string { return strings.ReplaceAll(metric, "_", " ") }
