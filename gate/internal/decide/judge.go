package decide

import (
	"cmp"
	"errors"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/align"
	"github.com/nsgate/nsgate/gate/internal/attribution"
	"github.com/nsgate/nsgate/gate/internal/code"
	"github.com/nsgate/nsgate/gate/internal/history"
	"github.com/nsgate/nsgate/gate/internal/insight"
	"github.com/nsgate/nsgate/gate/internal/match"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/reason"
	"github.com/nsgate/nsgate/gate/internal/recorded"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/verdict"
	"github.com/nsgate/nsgate/thresholds"
)

// Input is all that a judgement depends on. Sessions stand oldest first.
type Input struct {
	Baseline, Head []model.Session
	Policy         *thresholds.Policy
	// Since holds every session since the anchor of the baseline, by which drift is judged; without any only the
	// baseline's own sessions are followed.
	Since []model.Session
	// CodeOnly judges device code and nothing else: nothing was measured.
	CodeOnly bool
	// Look says which of several looks at growing data this is; the zero value is the only one.
	Look Look
}

// Look is one of several judgements of the same measurement, each with more runs.
type Look struct {
	Number, Of     int
	Runs, MostRuns int     // a side, in this look and in the last
	Alpha          float64 // the part of the policy's error that this look may spend
}

// Judge compares the head with the baseline and returns the verdict. It is the only function that writes one; the report
// lacks the fields that only the command knows (Workload, Baseline, Reproduce, Accept).
// Input that cannot be compared gets NoVerdict and the reason of the refusal.
func Judge(in Input) *result.Report {
	policy := in.Policy
	if in.Look.Alpha > 0 {
		look := *in.Policy
		look.Alpha, policy = in.Look.Alpha, &look
	}
	followed := policy // by which drift is judged
	if slices.ContainsFunc(policy.Rules, func(r thresholds.Rule) bool { return r.Drift != nil }) {
		compared, drifts := *policy, *policy
		compared.Alpha, drifts.Alpha = (1-driftPart)*policy.Alpha, driftPart*policy.Alpha
		policy, followed = &compared, &drifts
	}
	policy = policy.In(recorded.Categories(in.Baseline, in.Head))
	r := &result.Report{Schema: result.Schema, Alpha: result.Number(in.Policy.Alpha), Confidence: result.Confidence, HeadSessions: in.Head, Findings: []result.Finding{}}
	if in.CodeOnly {
		return codeAlone(r, in)
	}
	r.Head = insight.Describe(in.Head)
	base, refusal := align.Comparable(in.Baseline, in.Head)
	r.Base, r.Boards = insight.Describe(base), align.Boards(base, in.Head)
	if refusal != nil {
		return refuse(r, in, refusal)
	}
	r.Warn(align.Differences(base, in.Head, policy)...)
	head, scaled := align.SameWork(base, in.Head)
	r.Warn(scaled...)
	t := newComparison(base, head, policy)
	m := match.New(t.Sides)
	if refusal := m.Refusal(); refusal != nil {
		return refuse(r, in, refusal)
	}
	r.Note(slices.Concat(m.Notes(), align.OnOthers(in.Baseline, base))...)
	r.Warn(m.LostRemarks()...)
	compare(r, &t, m.Pairs)
	unused, idle := match.UnusedRules(policy, in.Baseline, in.Head)
	r.Warn(slices.Concat(unused, align.Duplicates(in.Baseline, in.Head))...)
	drift := Drift(in.Baseline, in.Since, in.Head, followed)
	failed := code.Judge(r, in.Baseline, in.Head, policy)
	if r.Code != nil && !r.Code.Equal() {
		r.Note(append([]result.Remark{result.Say(reason.CodeDiffers{CodeCounts: code.Counts(r.Code)})}, code.Notes(r.Code, in.Baseline)...)...)
	}
	v := verdict.Of(verdict.Gate{Sides: t.Sides, Family: r.Family, TooFew: t.few, Outlier: t.outlierAsAWhole(),
		LeftOut: t.leftOutOfHead(), Code: failed, Drift: drift}, r.Findings)
	r.Verdict, r.Undecided = v.Verdict, v.Undecided
	r.Because(*v.Because)
	if v.Verdict != result.Pass && r.Code != nil && r.Code.Equal() {
		r.Warn(code.SameOfAll(r)...)
	}
	if v.Verdict == result.NoVerdict {
		r.Overview = insight.Overview(base, in.Head)
	}
	for _, x := range drift {
		if x.Key != v.Because.Key {
			r.Warn(x)
		}
	}
	r.Note(idle...)
	if look := in.Look; look.Of > 1 {
		r.Note(result.Say(reason.Looked{Look: look.Number, Looks: look.Of, Runs: look.Runs, Most: look.MostRuns}))
	}
	return r
}

// codeAlone is the report on device code where nothing was measured. It says nothing of time.
func codeAlone(r *result.Report, in Input) *result.Report {
	r.HeadSessions = nil
	failed := code.Judge(r, in.Baseline, in.Head, in.Policy)
	notes, most := code.Notes(r.Code, in.Baseline), ""
	if len(notes) > 0 {
		most = notes[0].Sentence
	}
	because := result.Say(reason.CodeChanged{CodeCounts: code.Counts(r.Code), Most: most})
	r.Verdict = result.Pass
	if failed != nil {
		r.Verdict, because = result.Fail, *failed
	}
	r.Because(because)
	r.Note(notes...)
	return r
}

// compare adds the findings and all that is said about how the sides compare.
func compare(r *result.Report, t *comparison, pairs []match.Pair) {
	var short []result.Remark
	r.Utilization, short = insight.NewUtilization(t.Base, t.Head)
	r.Note(short...)
	r.Note(t.singleRunRemarks()...)
	if other := t.OtherCycle(); other != nil {
		r.Warn(*other)
	} else {
		t.waterfall = attribution.NewWaterfall(t.Base, t.Head, match.SumNames(pairs), t.outlierRuns)
	}
	r.Waterfall = t.waterfall
	r.Ranks = insight.CompareRanks(t.Base, t.Head, t.Policy)
	r.Warn(insight.UnmatchedCollectives(t.Head)...)
	all := estimates(t, pairs)
	r.Findings, r.Family = decide(*t, all)
	r.Warn(movedRuns(all, r.Findings)...)
	r.Warn(slices.Concat(insight.Uncovered(t.Base, t.Head), match.OneSidedMetrics(t.Sides), leftOut(*t),
		insight.CommonShift(r.Findings, t.Time, t.hosts()),
		insight.Moved(r.Findings, t.Total), insight.Disagree(r.Findings))...)
	r.OneGPU = recorded.OneGPU(t.Base.Sessions, t.Head.Sessions)
	if x := result.Number(recorded.Apart(t.Base.Sessions, t.Head.Sessions)); x.Known() {
		r.Apart = x
	}
	r.Paired, r.Batches, r.OutlierRuns = len(t.shared) > 0 && !t.batches, t.batches, t.outlierRuns
	slices.SortStableFunc(r.Findings, func(a, b result.Finding) int {
		return cmp.Compare(verdict.Rank(&a), verdict.Rank(&b))
	})
	r.Label()
	r.Counts, r.Detects = result.Count(r.Findings), verdict.Detects(r.Findings)
	if t.few == nil {
		r.Unjudged = insight.Coverage(t.Head, t.cost(), r.Findings)
	}
}

// Refuse is the report on a measurement that could not be judged at all, with the sides as far as they are known. A
// [model.Refusal] gives the reason in words, its key, and the next step.
func Refuse(in Input, why error) *result.Report {
	r := &result.Report{Schema: result.Schema, Findings: []result.Finding{}, Alpha: result.Unknown, Confidence: result.Confidence, Verdict: result.NoVerdict,
		Base: insight.Describe(in.Baseline), Head: insight.Describe(in.Head), HeadSessions: in.Head}
	if in.Policy != nil {
		r.Alpha = result.Number(in.Policy.Alpha)
	}
	r.Reason, r.ReasonKey, r.Next = ReasonOf(why)
	return r
}

// ReasonOf is an error in words, with the key and the next step of a refusal.
func ReasonOf(err error) (reason, key string, next []string) {
	refusal := (*model.Refusal)(nil)
	if !errors.As(err, &refusal) {
		return err.Error(), "", nil
	}
	if refusal.Next != "" {
		next = []string{refusal.Next}
	}
	return refusal.Reason, string(refusal.Kind), next
}

// refuse is the report on sides that cannot be compared. It still holds the numbers of both.
func refuse(r *result.Report, in Input, because *result.Remark) *result.Report {
	r.Verdict = result.NoVerdict
	r.Overview = insight.Overview(in.Baseline, in.Head)
	r.Because(*because)
	return r
}

// Drift reports slowdowns over the sessions since the anchor, see [history.Drift]. Without any it follows the sessions
// of the baseline.
func Drift(base, since, head []model.Session, policy *thresholds.Policy) []result.Remark {
	recent := slices.DeleteFunc(slices.Clone(base), func(s model.Session) bool { // the anchor is the first state of a drift
		return len(since) > 0 && s.Start.Before(since[0].Start)
	})
	return history.Drift(followed(since, head, policy), followed(recent, head, policy), policy.Alpha)
}

// followed are the sessions that the head can be compared with, followed by the head, and the metrics they are compared by; none
// where there are fewer than three.
func followed(sessions, head []model.Session, policy *thresholds.Policy) history.Basis {
	fits, because := align.Comparable(sessions, head)
	if because != nil || len(fits) < 2 {
		return history.Basis{}
	}
	all := history.Separate(slices.Concat(fits, head))
	if len(all) < 3 {
		return history.Basis{}
	}
	t := newComparison(fits, head, policy)
	return history.Basis{Sessions: all, Time: t.Time, Total: t.Total, Tick: t.Tick, Policy: t.Policy}
}

// Together is one report on several workloads that were judged by parts of one error: it fails where one of them fails, has no
// verdict where one has none, and passes where all do.
func Together(reports []*result.Report) *result.Report {
	r := &result.Report{Schema: result.Schema, Workloads: reports, Findings: []result.Finding{}, Verdict: result.Pass}
	var failed, open, undecided []string
	for _, w := range reports {
		name := cmp.Or(w.Workload, "default")
		switch {
		case w.Verdict == result.Fail:
			failed = append(failed, name)
		case w.Verdict != result.Pass:
			open = append(open, name)
		case w.Undecided:
			undecided = append(undecided, name)
		}
		r.Undecided = r.Undecided || w.Undecided
		if w.Alpha.Known() {
			r.Alpha += w.Alpha
		}
		r.Family += w.Family
		r.Confidence = cmp.Or(r.Confidence, w.Confidence)
		r.Counts.Add(w.Counts)
	}
	switch {
	case len(failed) > 0:
		r.Verdict = result.Fail
	case len(open) > 0:
		r.Verdict = result.NoVerdict
	}
	r.Because(result.Say(reason.Workloads{Failed: failed, Open: open, Undecided: undecided, All: len(reports)}))
	return r
}
