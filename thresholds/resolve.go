package thresholds

import (
	"cmp"
	"maps"
)

// Resolved is the policy for one workload: what judges. Only [Policy.For] makes one, and reading a saved report.
type Resolved struct {
	top
	// Several is true where the file has other workloads, whose subjects rules may be about.
	Several bool     `json:"several,omitempty"`
	of      Workload // its settings in the file, the zero value for none
}

// top is embedded under a name of this package, so that no other can make a [Resolved] of a whole policy.
type top = Policy

// For is the policy for one workload: its own threshold, if it has one, is the limit of times. An unknown name, "" for
// none, leaves what stands at the top.
func (p *Policy) For(workload string) *Resolved {
	r := &Resolved{top: *p, Several: len(p.Workloads) > 1}
	r.Places = maps.Clone(p.Places)
	w, ok := p.Workload(workload)
	if !ok {
		return r
	}
	if r.of = *w; w.Threshold != nil {
		if r.Places == nil {
			r.Places = Places{}
		}
		r.Threshold, r.Places["threshold"] = *w.Threshold, cmp.Or(w.Places["threshold"], w.Where)
	}
	return r
}

// In is the policy for sessions with these categories of NVTX ranges, by name: a copy where there are any.
func (r *Resolved) In(categories map[string]string) *Resolved {
	if len(categories) == 0 {
		return r
	}
	c := *r
	c.Categories = categories
	return &c
}
