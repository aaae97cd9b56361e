package decide

import (
	"cmp"
	"math"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/large"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/measure"
	"github.com/nsgate/nsgate/thresholds"
)

// Evaluate judges head against base. Both sides hold at least one session; order within a side is oldest first. The
// report is complete but for its sentences and for what only the caller knows (Workload, Baseline, Reproduce, Accept).
// Where the two sides cannot be compared the verdict is NoVerdict, and the reason is one of [Reasons].
func Evaluate(base, head []model.Session, policy *thresholds.Policy) *Report {
	r := &Report{Schema: Schema, Alpha: Number(policy.Alpha), Confidence: confidence, HeadSessions: head, Findings: []Finding{}}
	r.Head = Describe(head)
	all := base
	base, refusal := comparable(all, head)
	r.Base, r.Boards = Describe(base), boardsOf(base, head)
	if refusal != nil {
		return r.refuse(refusal)
	}
	r.Doubts = doubts(base, head, policy)
	if r.Remarks, refusal = unmeasured(head, policy); refusal != nil {
		return r.refuse(refusal)
	}
	r.Remarks = append(r.Remarks, onOthers(all, base)...)
	t := newTrial(base, head, policy)
	var short []Remark
	r.Utilization, short = utilization(t)
	r.Remarks = append(r.Remarks, short...)
	t.bound = bound(all)
	pairs := match(t)
	if refusal := cmp.Or(related(t, pairs), timed(t, pairs)); refusal != nil {
		return r.refuse(refusal)
	}
	r.Remarks = append(r.Remarks, t.held()...)
	if other := t.otherCycle(); other != nil {
		r.Doubts = append(r.Doubts, *other)
	} else if !t.unmergedStep() { // nobody measured what that takes
		t.waterfall = waterfall(t)
	}
	r.Waterfall = t.waterfall
	r.Ranks = ranks(t.base, t.head, policy)
	r.Doubts = append(r.Doubts, unmatched(t.head)...)
	estimates := estimates(t, pairs)
	r.Findings, r.Family = decide(t, estimates)
	r.Doubts = slices.Concat(r.Doubts, unmerged(t), unheld(t), leftOut(t), commonShift(t, r.Findings), moved(t, r.Findings), disagree(r.Findings), unsettled(t, r.Findings))
	r.OneGPU = oneGPU(base, head)
	if x := between(base, head); x.Known() {
		r.Apart = x
	}
	r.Paired, r.Batches, r.Off = len(t.shared) > 0 && !t.batches, t.batches, t.off
	if refusal := unjudged(t, r.Findings, r.Family); refusal != nil {
		return r.refuse(refusal)
	}
	large.By(r.Findings, rank)
	r.label()
	r.Counts = count(r.Findings)
	var because Remark
	r.Verdict, because, r.Undecided = conclude(t, r.Findings, r.Family)
	r.ReasonKey, r.ReasonArgs = because.Key, because.Args
	return r
}

// Refused is the report of a measurement that could not be judged at all. A *model.Refusal says why in words, and names
// the reason.
func Refused(err error) *Report {
	r := &Report{Schema: Schema, Findings: []Finding{}, Alpha: unknown, Confidence: confidence, Verdict: NoVerdict}
	r.Reason, r.ReasonKey, r.Next = refused(err)
	return r
}

func refused(err error) (reason, key string, next []string) {
	refusal, ok := err.(*model.Refusal)
	if !ok {
		return err.Error(), "", nil
	}
	if refusal.Next != "" {
		next = []string{refusal.Next}
	}
	return refusal.Reason, refusal.Key, next
}

func (r *Report) refuse(because *Remark) *Report {
	r.Verdict, r.ReasonKey, r.ReasonArgs = NoVerdict, because.Key, because.Args
	return r
}

// conclude draws the verdict of findings that stand worst first.
func conclude(t trial, findings []Finding, family int) (v Verdict, because Remark, undecided bool) {
	failed := map[measure.Subject]bool{}
	var open []int
	for i, f := range findings {
		if f.Outcome == Regressed && f.Gates {
			failed[f.Subject()] = true
		}
		if f.Undecided {
			open = append(open, i)
		}
	}
	unseen, doubted := unseen(t, findings), slices.IndexFunc(findings, func(f Finding) bool { return f.Doubted })
	switch {
	case len(failed) > 0:
		return Fail, remark("regressed", Args{"subjects": Number(len(failed))}), false
	case unseen != nil:
		return NoVerdict, *unseen, false
	case t.few != nil:
		return NoVerdict, *t.few, false
	case t.swerve != 0:
		return NoVerdict, *refusal("swerves", Args{"side": t.single, "change": Number(t.swerve)}), false
	case doubted >= 0:
		f := findings[doubted]
		return NoVerdict, *refusal("doubted", Args{"metric": f.Metric, "kernel": f.Title(), "finding": Number(doubted)}), true
	case len(open) > 0:
		if v = Pass; t.policy.Undecided == "fail" {
			v = NoVerdict
		}
		f := findings[open[0]]
		return v, remark("undecided", Args{"comparisons": Number(len(open)),
			"finding": Number(open[0]), "kernel": f.Title(), "metric": f.Metric}), true
	}
	return Pass, remark("none-slower", Args{"comparisons": Number(judged(findings))}), false
}

// judged is how many of the findings compare what both sides have, and are not slower with only a warning.
func judged(findings []Finding) int {
	n := 0
	for i := range findings {
		if f := &findings[i]; f.Outcome != Regressed && f.Outcome != Added && f.Outcome != Removed && !f.NotJudged() {
			n++
		}
	}
	return n
}

// unjudged refuses what leaves nothing to fail the gate for, findings in any order.
func unjudged(t trial, findings []Finding, family int) *Remark {
	if family > 0 {
		return nil
	}
	if r := unseen(t, findings); r != nil {
		return r
	}
	timed := func(s measure.Subject) bool { return t.head.hasMetric(s, model.NcuTime.Name) }
	if t.time == model.NcuTime && !slices.ContainsFunc(t.head.subjects(), timed) {
		return refusal("counters-only", nil)
	}
	return refusal("nothing-judged", nil)
}

// unseen is why a gate over a few launches of each kernel cannot pass, nil where it can: a kernel of the base that was not
// profiled in the head was not judged, and one run a side decides nothing that is measured.
func unseen(t trial, findings []Finding) *Remark {
	if t.time != model.NcuTime {
		return nil
	}
	once := min(t.base.runs(), t.head.runs()) < minRuns
	for i, f := range findings {
		switch {
		case f.Outcome == Removed && f.Scope == measure.ScopeKernel:
			return refusal("not-profiled", Args{"kernel": f.Title()})
		case f.Undecided && f.Metric == model.NcuTime.Name && f.Base.Known() != f.Head.Known():
			return refusal("time-unjudged", Args{"metric": f.Metric, "kernel": f.Title(), "finding": Number(i)})
		case f.Undecided && once:
			return refusal("counter-unjudged", Args{"metric": f.Metric, "kernel": f.Title(), "finding": Number(i)})
		}
	}
	return nil
}

func count(findings []Finding) Counts {
	var c Counts
	for _, f := range findings {
		n := outcomes[f.Outcome].count(&c)
		if f.Outcome == Regressed && !f.Gates {
			n = &c.Warned
		}
		*n++
	}
	return c
}

// rank orders findings: what fails the gate, other regressions, what is open, improvements, additions and removals,
// the rest. Within each the outputs come first, then the largest part of the GPU time that the change adds or takes away.
func rank(f *Finding) float64 {
	group := outcomes[f.Outcome].rank
	if f.Outcome == Regressed && !f.Gates || f.Outcome == Inconclusive && !f.Undecided && !f.NotJudged() {
		group++
	}
	weight := 0.0
	if f.Scope == measure.ScopeOutput {
		weight = 1 // what the program says of itself comes before what it is made of
	}
	if f.Share.Known() {
		part := float64(f.Share)
		if change := math.Abs(float64(f.Change)); f.Change.Known() && f.Outcome != Unchanged {
			part *= change / (1 + math.Max(float64(f.Change), 0)) // of the larger of base and head
		}
		if f.Unit != measure.Time.Unit {
			part /= 2 // a count is the reason for a time, not the other way round
		}
		weight += part
	}
	return group*10 - weight
}

// Describe sums up one side.
func Describe(sessions []model.Session) Side {
	s := Side{Sessions: len(sessions)}
	if len(sessions) == 0 {
		return s
	}
	last := sessions[len(sessions)-1]
	s.Environment, s.Commit, s.Step, s.Warmup = last.Environment, last.Commit, last.Step, last.Warmup
	least, most, total, launches := math.MaxInt, 0, 0, 0
	for _, x := range sessions {
		traced := x.Profiled()
		s.Runs += traced
		s.Unprofiled += len(x.Runs) - traced
		if len(sessions) > 1 {
			s.SessionRuns, s.SessionUnprofiled = append(s.SessionRuns, traced), append(s.SessionUnprofiled, len(x.Runs)-traced)
		}
		for _, run := range x.Runs[:traced] {
			least, most = min(least, run.Skipped), max(most, run.Skipped)
			total, launches = max(total, run.Total), max(launches, run.Launches)
		}
	}
	if s.Unprofiled == 0 {
		s.SessionUnprofiled = nil
	}
	if repeats, ok := last.Find(measure.Workload, measure.Repeats.Name); ok {
		s.Repeats = Number(typical([][]float64{repeats.Values}))
	}
	switch {
	case byLaunch(sessions):
		s.Warmup = ""
		s.Skip = new(remark("profiled", Args{"launches": Number(launches)}))
	case s.Runs > 0:
		s.Skip = new(remark("skipped", Args{"least": Number(least), "most": Number(most), "of": Number(total), "step": s.Step}))
	}
	return s
}
