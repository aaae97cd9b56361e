package story

import (
	"github.com/nsgate/nsgate/gate/internal/explain/insight"
	"github.com/nsgate/nsgate/gate/internal/measure"
)

// do is the advice on a cause: on the kernel or the copies that are most of it, where these are not decided alone.
func (v *Story) do(c *Cause) string {
	lead := c.Lead()
	f := insight.Failure{Report: v.Report, Rank: c.Rank, Loops: len(c.totals) > 0}
	for i := range v.Rows {
		if x := &v.Rows[i]; c.idle == nil && !c.Rank && v.mostOf(lead, x) {
			f.Findings = append(f.Findings, &x.F)
		}
	}
	for i := range c.added {
		f.Findings = append(f.Findings, &c.added[i].F)
	}
	f.Findings = append(f.Findings, &lead.F)
	for _, r := range c.Rows {
		if r.At != lead.At {
			f.Findings = append(f.Findings, &r.F)
		}
	}
	if c.idle != nil {
		f.Part = c.idle.Class
	} else if ofStep(lead) {
		f.Part = v.Fall.largest().Class
	}
	return insight.Do(f)
}

// mostOf reports whether a row is of the part that is most of a longer step or GPU time.
func (v *Story) mostOf(whole Row, r *Row) bool {
	if whole.F.Subject() != measure.Workload || r.F.Name == "" {
		return false
	}
	if part := v.undecidedPart(whole); part != nil {
		return part.F.Subject() == r.F.Subject()
	}
	return ofStep(whole) && r.F.Name == v.Fall.largest().name && r.F.Scope != measure.ScopeRange
}
