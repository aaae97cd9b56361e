package story

import (
	"slices"

	"github.com/nsgate/nsgate/gate/internal/result"
)

// count sets how many causes of each outcome the report names. Of several workloads it is the sum.
func (v *Story) count() {
	c := &v.Counts
	for _, x := range slices.Concat(v.Causes, v.Open, v.Gains) {
		switch x.Class {
		case Failing:
			c.Slower++
		case Warned:
			c.Warned++
		case Open:
			c.Undecided++
		case Increased:
			c.Increased++
		case Faster:
			c.Faster++
		}
	}
	c.New, c.Gone = len(Groups(Untold(v.Of(New)))), len(Groups(Untold(v.Of(Gone))))
	c.Comparisons = len(v.Rows)
}

// Groups are the causes with their comparisons, failing ones first.
func (v *Story) Groups() (out []result.Group) {
	for _, c := range slices.Concat(v.Causes, v.Open, v.Gains) {
		lead := c.Lead()
		g := result.Group{Outcome: lead.F.Outcome, Fails: c.Class == Failing, Subject: unbind(c.Subject), Cost: c.Cost,
			Findings: []int{lead.At}}
		for _, text := range c.Why {
			g.Why = append(g.Why, unbind(text))
		}
		for _, r := range c.Rows {
			if r.At != lead.At {
				g.Findings = append(g.Findings, r.At)
			}
		}
		out = append(out, g)
	}
	return out
}

// Parts are the comparisons of a cause without the one that names it.
func (c *Cause) Parts() []Row {
	lead := c.Lead()
	return slices.DeleteFunc(slices.Clone(c.Rows), func(r Row) bool { return r.At == lead.At })
}
