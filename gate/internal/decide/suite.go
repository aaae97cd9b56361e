package decide

import (
	"cmp"

	"github.com/nsgate/nsgate/gate/internal/reason"
	"github.com/nsgate/nsgate/gate/internal/result"
)

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
