package decide

import "cmp"

// Each lists the reports that hold findings: those of the workloads, or the report itself.
func (r *Report) Each() []*Report {
	if len(r.Workloads) > 0 {
		return r.Workloads
	}
	return []*Report{r}
}

// Together is one report on several workloads that were judged by parts of one error: it fails where one of them fails, has no
// verdict where one has none, and passes where all do.
func Together(reports []*Report) *Report {
	r := &Report{Schema: Schema, Workloads: reports, Findings: []Finding{}, Verdict: Pass}
	var failed, open, undecided []string
	for _, w := range reports {
		name := cmp.Or(w.Workload, "default")
		switch {
		case w.Verdict == Fail:
			failed = append(failed, name)
		case w.Verdict != Pass:
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
		r.Counts.add(w.Counts)
	}
	all, because := Number(len(reports)), Remark{}
	switch {
	case len(failed) > 0:
		r.Verdict, because = Fail, remark("workloads-failed", Args{"failed": failed, "open": open, "all": all})
	case len(open) > 0:
		r.Verdict, because = NoVerdict, remark("workloads-open", Args{"open": open, "all": all})
	case len(undecided) > 0:
		because = remark("workloads-undecided", Args{"undecided": undecided, "all": all})
	default:
		because = remark("workloads-pass", Args{"all": all})
	}
	r.ReasonKey, r.ReasonArgs = because.Key, because.Args
	return r
}

// add takes in the counts of another report.
func (c *Counts) add(o Counts) {
	c.Regressed += o.Regressed
	c.Improved += o.Improved
	c.Unchanged += o.Unchanged
	c.Inconclusive += o.Inconclusive
	c.Added += o.Added
	c.Removed += o.Removed
	c.Warned += o.Warned
	c.Grew += o.Grew
}
