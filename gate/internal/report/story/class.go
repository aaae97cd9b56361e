package story

import (
	"slices"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// Tone is the meaning that a format shows by a colour, an icon or a CSS class.
type Tone int

const (
	Plain Tone = iota
	Good
	Doubtful
	Bad
	Minor // matters less
)

// Of is a text in the tone.
func (t Tone) Of(text string) Span { return Span{text, t} }

// Class groups findings by their meaning to a reader, in the order of sections.
type Class int

const (
	Failing Class = iota
	Warned
	Open
	Increased
	Differing
	Faster
	New
	Gone
	Harmless
	Same
	Within
)

// classification is the outcome and the words of a class.
type classification struct {
	outcome result.Outcome // of its findings; "" where [classOf] decides by more than the outcome
	Mark    string         // before a result that matters
	tone    Tone
}

var Classes = [...]classification{
	Failing:   {result.Slower, "❌", Bad},
	Warned:    {result.Slower, "⚠️", Doubtful},
	Open:      {"", "⚠️", Doubtful},
	Increased: {"", "⚠️", Doubtful},
	Differing: {"", "", Plain},
	Faster:    {result.Faster, "✅", Good},
	New:       {result.New, "", Plain},
	Gone:      {result.Gone, "", Plain},
	Harmless:  {result.Undecided, "⚠️", Plain},
	Same:      {"", "", Plain},
	Within:    {result.WithinLimit, "", Plain},
}

func classOf(f result.Finding) Class {
	switch {
	case f.NotJudged() && f.Base == f.Head:
		return Same
	case f.NotJudged():
		return Differing
	case f.Outcome == result.BelowFloor:
		return Within
	case f.Increased():
		return Increased
	case f.Outcome == result.Slower && !f.Gates:
		return Warned
	case f.Undecided && f.Outcome != result.Slower:
		return Open
	}
	for c, x := range Classes {
		if x.outcome == f.Outcome {
			return Class(c)
		}
	}
	return Harmless // unknown outcome
}

// count sets how many causes of each outcome the report names. Of several workloads it is the sum.
func (v *Story) count() {
	c := &v.Counts
	of := map[Class]*int{Failing: &c.Slower, Warned: &c.Warned, Open: &c.Undecided, Increased: &c.Increased,
		Faster: &c.Faster}
	for _, x := range slices.Concat(v.Causes, v.Open, v.Gains) {
		if n := of[x.Class]; n != nil {
			*n++
		}
	}
	c.New, c.Gone = len(Groups(Untold(v.Of(New)))), len(Groups(Untold(v.Of(Gone))))
	c.Comparisons = len(v.Rows)
}

// Groups are the causes with their comparisons, failing ones first.
func (v *Story) Groups() (out []result.Group) {
	for _, c := range slices.Concat(v.Causes, v.Open, v.Gains) {
		lead, others := c.split()
		out = append(out, result.Group{Outcome: lead.F.Outcome, Fails: c.Class == Failing, Subject: unbind(c.Subject),
			Cost: c.Cost, Why: measure.Map(c.Why, unbind), Do: c.Do,
			Findings: append([]int{lead.At}, measure.Map(others, func(r Row) int { return r.At })...)})
	}
	return out
}

// split is the row that names a cause, and its other rows.
func (c *Cause) split() (lead Row, others []Row) {
	lead = c.Lead()
	return lead, slices.DeleteFunc(slices.Clone(c.Rows), func(r Row) bool { return r.At == lead.At })
}

// byCause are the comparisons of causes, behind the one that names each.
func byCause(lists ...[]Cause) (rows []Row) {
	for _, c := range slices.Concat(lists...) {
		lead, others := c.split()
		rows = append(rows, lead)
		for _, r := range others {
			r.Part = true
			rows = append(rows, r)
		}
	}
	return rows
}

// Leads names, for each comparison that fails the gate as a part of a cause, the comparison that names the cause.
func (v *Story) Leads() map[int]string {
	out := map[int]string{}
	for _, c := range v.Causes {
		lead, others := c.split()
		for _, r := range others {
			if c.Class == Failing && r.Class == Failing {
				out[r.At] = lead.Title()
			}
		}
	}
	return out
}
