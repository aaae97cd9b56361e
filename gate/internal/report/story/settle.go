package story

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/explain/insight"
	"github.com/nsgate/nsgate/gate/internal/explain/reason"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// Allow is the next step of a gate that fails, where no command accepts the change.
const Allow = `mend it, or allow it by a rule in the policy file: a larger max, or severity = "warn"`

// settle makes the next steps calls that can be copied: the number of runs that would decide, or the base build
// measured beside the head, with the time that it takes by the runs of this measurement.
func (v *Story) settle() {
	r := v.Report
	switch {
	case len(v.Next) > 0 || v.Several():
	case r.Verdict == result.Fail && r.Accept == "":
		v.Next = []string{Allow}
	case r.Undecided:
		step := cmp.Or(v.moreRuns(v.decidingRuns()), reason.BesideHead)
		other := func(c Cause) bool { return c.Lead().F.ReasonKey != result.KeyBoundsBroken }
		bounds := !slices.ContainsFunc(v.Open, other) // of the head's own values, which no base build tells
		if step == reason.BesideHead && (r.Paired || bounds) {
			what := measure.Either(bounds, "the head", "both builds")
			step = cmp.Or(v.moreRuns(2*r.Head.Runs), "measure "+what+" again, on a quiet host and with more runs")
		}
		v.Next = []string{step}
	}
	if call := v.paired(); call != "" {
		v.Next = measure.Map(v.Next, func(step string) string { return stepBy(step, call) })
	}
}

// decidingRuns is the number of runs a side that would decide the open causes, 0 for none. Where runs leave one open,
// the base build beside the head is the better step, unless it was measured already.
func (v *Story) decidingRuns() (runs int) {
	for _, c := range v.Open {
		// as the report says; those of its other comparisons where that says none
		lead := c.Lead()
		own := cmp.Or(lead.F.MoreRuns(), measure.Most(c.Rows, func(r Row) int { return r.F.MoreRuns() }))
		runs = max(runs, own)
		if own == 0 && !v.Report.Paired {
			return 0
		}
	}
	return runs
}

// moreRuns is the command that takes this number of runs a side, "" for none.
func (v *Story) moreRuns(runs int) string {
	c := v.Report.Calls
	if c == nil || c.Runs == "" || runs == 0 {
		return ""
	}
	sides := measure.Either(v.Report.Paired, 2, 1)
	return strings.Replace(Trimmed(c.Runs), result.RunsHere, strconv.Itoa(runs), 1) + v.takes(sides*runs) +
		Wrapped(", with ", Trimmed(c.With), "")
}

// paired is the command that measures the base build interleaved with the head, "" where there is none.
func (v *Story) paired() string {
	c := v.Report.Calls
	if c == nil || c.Paired == "" || v.Report.Paired {
		return ""
	}
	return Trimmed(c.Paired) + v.takes(2*v.Report.Head.Runs) +
		Wrapped(", with ", Join(" and ", Trimmed(c.With), Trimmed(c.Needs)), "")
}

// Steps are the next steps, with the command that accepts a change that fails.
func (v *Story) Steps() []string {
	if v.Report.Verdict != result.Fail {
		return v.Next
	}
	return Nonempty(append(slices.Clone(v.Next), Wrapped("intended? ", Trimmed(v.Report.Accept), ""))...)
}

// takes is the time of so many runs in brackets, "" where it is not known.
func (v *Story) takes(runs int) string {
	s := v.Report.Spent
	if s == nil || s.Runs == 0 || runs == 0 || !(s.Total > 0) {
		return ""
	}
	return " (about " + Seconds(s.Total/result.Number(s.Runs)*result.Number(runs)/1e9) + ")"
}

// do is the advice on a cause: on the kernel or the copies that are most of it, where these are not decided alone.
func (v *Story) do(c *Cause) string {
	lead, others := c.split()
	f := insight.Failure{Report: v.Report, Rank: c.Rank, Loops: len(c.totals) > 0}
	if c.idle == nil && !c.Rank && lead.F.Subject() == measure.Workload {
		part, largest := v.undecidedPart(lead), v.Fall.largest().name
		for i := range v.Rows {
			x := &v.Rows[i].F
			if x.Name != "" && (part != nil && part.F.Subject() == x.Subject() ||
				part == nil && ofStep(lead) && x.Name == largest && x.Scope != measure.ScopeRange) {
				f.Findings = append(f.Findings, x)
			}
		}
	}
	for i := range c.added {
		f.Findings = append(f.Findings, &c.added[i].F)
	}
	f.Findings = append(f.Findings, &lead.F)
	for i := range others {
		f.Findings = append(f.Findings, &others[i].F)
	}
	if c.idle != nil {
		f.Part = c.idle.Class
	} else if ofStep(lead) {
		f.Part = v.Fall.largest().Class
	}
	return insight.Do(f)
}
