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
