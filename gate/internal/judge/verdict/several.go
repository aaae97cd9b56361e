package verdict

import (
	"cmp"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/explain/reason"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// Several is one judgement on several workloads that were judged by parts of one error: it fails where one of them
// fails, has no verdict where one has none, and passes where all do.
func Several(workloads []*result.Report) *result.Report {
	all, lacking, unmet := &result.Report{Workloads: workloads}, idle(workloads), (*result.Remark)(nil)
	all.Findings = []result.Finding{}
	bounds := func(r reason.RuleIdle) bool { return r.Unmet && r.Of == len(workloads) }
	if i := slices.IndexFunc(lacking, bounds); i >= 0 {
		unmet = result.Refuse(model.MetricMissing,
			"nsgate show lists what was measured: correct the rule, or remove it",
			"%s is about what no workload has", lacking[i].Rule)
	}
	for _, w := range workloads {
		if unmet != nil && (w.Verdict == result.Pass || w.Verdict == result.NoVerdict && w.Measured != nil) {
			Conclusion{result.NoVerdict, false, unmet}.write(w)
		}
		if w.Alpha.Known() {
			all.Alpha += w.Alpha
		}
		all.Family += w.Family
		all.Confidence = cmp.Or(all.Confidence, w.Confidence)
	}
	ofParts(workloads, unmet).write(all)
	for _, r := range lacking {
		r.Here = r.Of > len(workloads)
		if r.Unmet == r.Here || all.Verdict == result.Fail {
			all.Warn(result.Say(r))
		}
	}
	all.Next = nil // the workloads have their own
	return all
}

// idle lists the rules about what no workload of a gate has.
func idle(workloads []*result.Report) (out []reason.RuleIdle) {
	in, first, floor := map[string]int{}, map[string]string{}, map[string]string{}
	for _, w := range workloads {
		for _, x := range w.Remarks {
			if r, ok := result.As[reason.RuleIdle](x); ok {
				first[r.Rule], floor[r.Rule] = cmp.Or(r.First, first[r.Rule]), cmp.Or(r.Floor, floor[r.Rule])
				if in[r.Rule]++; in[r.Rule] == len(workloads) {
					r.First, r.Floor = first[r.Rule], floor[r.Rule]
					out = append(out, r)
				}
			}
		}
	}
	return out
}

// Alone warns of bounds that nothing in the only judged workload has, and another one of the policy may have.
func Alone(r *result.Report) {
	for _, x := range r.Remarks {
		if is, ok := result.As[reason.RuleIdle](x); ok && is.Unmet && is.Of > 1 {
			r.Warn(x)
		}
	}
}

// ofParts is the verdict of several workloads.
func ofParts(parts []*result.Report, unmet *result.Remark) Conclusion {
	all, undecided, v := reason.Workloads{All: len(parts)}, false, result.Pass
	for _, p := range parts {
		name := cmp.Or(p.Workload, "default")
		switch {
		case p.Verdict == result.Fail:
			all.Failed = append(all.Failed, name)
		case p.Verdict != result.Pass:
			all.Open = append(all.Open, name)
		case p.Undecided:
			all.Undecided = append(all.Undecided, name)
		}
		undecided = undecided || p.Undecided
		all.Listed = all.Listed || p.ReasonArgs["listed"] == true
	}
	switch {
	case len(all.Failed) > 0:
		v = result.Fail
	case unmet != nil:
		return Conclusion{result.NoVerdict, false, unmet}
	case len(all.Open) > 0:
		v = result.NoVerdict
	}
	return Conclusion{v, undecided, new(result.Say(all))}
}
