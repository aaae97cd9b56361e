package story

import "github.com/nsgate/nsgate/gate/internal/result"

// Tone is the meaning that a format shows by a colour, an icon or a CSS class.
type Tone int

const (
	Plain Tone = iota
	Good
	Doubtful
	Bad
	Minor // matters less
)

// Class groups findings by what they mean to a reader, in the order of sections.
type Class int

const (
	Failing Class = iota
	Warned
	Open
	Increased
	Differing
	Improved
	Added
	Removed
	Harmless
	Same
	Unchanged
)

// classification is the outcome and the words of a class.
type classification struct {
	outcome result.Outcome // of its findings; "" where [classOf] decides by more than the outcome
	Mark    string         // before a result that matters
	result  string         // of a finding
	tone    Tone
}

var Classes = [...]classification{
	Failing:   {result.Regressed, "❌", "regressed", Bad},
	Warned:    {result.Regressed, "⚠️", "slower", Doubtful},
	Open:      {"", "⚠️", "undecided", Doubtful},
	Increased: {result.Grew, "⚠️", "increased", Doubtful},
	Differing: {"", "", "not judged", Plain},
	Improved:  {result.Improved, "✅", "improved", Good},
	Added:     {result.Added, "", "added", Plain},
	Removed:   {result.Removed, "", "removed", Plain},
	Harmless:  {result.Inconclusive, "⚠️", "undecided", Plain},
	Same:      {"", "", "not judged", Plain},
	Unchanged: {result.Unchanged, "", "unchanged", Plain},
}

func classOf(f result.Finding) Class {
	switch {
	case f.NotJudged() && f.Base == f.Head:
		return Same
	case f.NotJudged():
		return Differing
	case f.Outcome == result.Regressed && !f.Gates:
		return Warned
	case f.Undecided && f.Outcome != result.Regressed:
		return Open
	}
	for c, x := range Classes {
		if x.outcome == f.Outcome {
			return Class(c)
		}
	}
	return Harmless // unknown outcome
}
