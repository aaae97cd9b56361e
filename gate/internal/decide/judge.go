package decide

import (
	"cmp"
	"errors"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/large"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/thresholds"
)

// Input is all that a judgement depends on. Sessions stand oldest first.
type Input struct {
	Baseline, Head []model.Session
	Policy         *thresholds.Policy
	// Since holds every session since the anchor of the baseline, by which drift is judged; without any it is not.
	Since []model.Session
	// Look says which of several looks at growing data this is; the zero value is the only one.
	Look Look
}

// Look is one of several judgements of the same measurement, each with more runs.
type Look struct {
	Number, Of     int
	Runs, MostRuns int     // a side, in this look and in the last
	Alpha          float64 // the part of the policy's error that this look may spend
}

// Judge compares the head with the baseline and returns the verdict. It is the only function that writes one; the report holds
// reasons as data and lacks what only the command knows (Workload, Baseline, Reproduce, Accept).
// Input that cannot be compared gets NoVerdict and one of [Reasons].
func Judge(in Input) *Report {
	policy := in.Policy
	if in.Look.Alpha > 0 {
		look := *in.Policy
		look.Alpha, policy = in.Look.Alpha, &look
	}
	r := &Report{Schema: Schema, Alpha: Number(in.Policy.Alpha), Confidence: confidence, HeadSessions: in.Head, Findings: []Finding{}}
	r.Head = Describe(in.Head)
	base, refusal := comparable(in.Baseline, in.Head)
	r.Base, r.Boards = Describe(base), boardsOf(base, in.Head)
	if refusal != nil {
		return r.refuse(refusal)
	}
	r.Doubts = doubts(base, in.Head, policy)
	if r.Remarks, refusal = unmeasured(in.Head, policy); refusal != nil {
		return r.refuse(refusal)
	}
	r.Remarks = append(r.Remarks, onOthers(in.Baseline, base)...)
	t := newTrial(base, in.Head, policy)
	t.bound = bound(in.Baseline)
	if refusal := r.compare(&t); refusal != nil {
		return r.refuse(refusal)
	}
	unused, idle := unusedRules(policy, in.Baseline, in.Head)
	r.Doubts = slices.Concat(r.Doubts, unused, duplicates(in.Baseline, in.Head))
	drift := Creep(in.Baseline, in.Since, in.Head, policy)
	v := verdictOf(gather(t, r.Findings, r.Family, drift))
	r.Verdict, r.Undecided, r.ReasonKey, r.ReasonArgs = v.verdict, v.undecided, v.because.Key, v.because.Args
	for _, x := range drift {
		if x.Key != v.because.Key {
			r.Doubts = append(r.Doubts, x)
		}
	}
	r.Remarks = slices.Concat(r.Remarks, idle, in.Look.remarks())
	return r
}

// compare adds the findings and all that is said about how the sides compare, or returns why they cannot be compared.
func (r *Report) compare(t *trial) (refusal *Remark) {
	var short []Remark
	r.Utilization, short = utilization(*t)
	r.Remarks = append(r.Remarks, short...)
	pairs := match(*t)
	if refusal := cmp.Or(related(*t, pairs), timed(*t, pairs)); refusal != nil {
		return refusal
	}
	r.Remarks = append(r.Remarks, t.singleRunRemarks()...)
	if other := t.otherCycle(); other != nil {
		r.Doubts = append(r.Doubts, *other)
	} else if !t.unmergedStep() { // nobody measured what that takes
		t.waterfall = waterfall(*t)
	}
	r.Waterfall = t.waterfall
	r.Ranks = ranks(t.base, t.head, t.policy)
	r.Doubts = append(r.Doubts, unmatched(t.head)...)
	r.Findings, r.Family = decide(*t, estimates(*t, pairs))
	r.Doubts = slices.Concat(r.Doubts, unmerged(*t), unheld(*t), leftOut(*t), commonShift(*t, r.Findings), moved(*t, r.Findings),
		disagree(r.Findings), unsettled(*t, r.Findings))
	r.OneGPU = oneGPU(t.base.sessions, t.head.sessions)
	if x := between(t.base.sessions, t.head.sessions); x.Known() {
		r.Apart = x
	}
	r.Paired, r.Batches, r.Off = len(t.shared) > 0 && !t.batches, t.batches, t.off
	large.By(r.Findings, rank)
	r.label()
	r.Counts = count(r.Findings)
	return nil
}

// Refuse is the report on a measurement that could not be judged at all, with the sides as far as they are known. A
// [model.Refusal] gives the reason in words, its key, and the next step.
func Refuse(in Input, why error) *Report {
	r := &Report{Schema: Schema, Findings: []Finding{}, Alpha: unknown, Confidence: confidence, Verdict: NoVerdict,
		Base: Describe(in.Baseline), Head: Describe(in.Head), HeadSessions: in.Head}
	if in.Policy != nil {
		r.Alpha = Number(in.Policy.Alpha)
	}
	r.Reason, r.ReasonKey, r.Next = refused(why)
	return r
}

// refused is an error in words, with the key and the next step of a refusal.
func refused(err error) (reason, key string, next []string) {
	refusal := (*model.Refusal)(nil)
	if !errors.As(err, &refusal) {
		return err.Error(), "", nil
	}
	if refusal.Next != "" {
		next = []string{refusal.Next}
	}
	return refusal.Reason, string(refusal.Kind), next
}

func (r *Report) refuse(because *Remark) *Report {
	r.Verdict, r.ReasonKey, r.ReasonArgs = NoVerdict, because.Key, because.Args
	return r
}

// remarks says which look of several this is.
func (l Look) remarks() []Remark {
	if l.Of < 2 {
		return nil
	}
	return []Remark{remark("look", Args{"look": Number(l.Number), "looks": Number(l.Of), "runs": Number(l.Runs), "most": Number(l.MostRuns)})}
}
