package app

import (
	"errors"

	"github.com/nsgate/nsgate/gate/internal/decide"
	"github.com/nsgate/nsgate/gate/internal/insight"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/why"
)

// judged is the verdict on the input with what the measurement itself explains, in words.
func judged(in decide.Input, warnings []string) *result.Report {
	r := decide.Judge(in)
	x := result.Explanation{Causes: why.Counted(r, in.Baseline)}
	if len(r.Findings) > 0 {
		x.Patterns = insight.NewPatterns(in.Baseline, in.Head)
	}
	x.Warnings = warnings
	return r.With(x)
}

// Refused turns a refusal into a report without a verdict, and lets everything else through.
func Refused(r *result.Report, err error) (*result.Report, error) { return refused(r, err) }

// refused turns a refusal into a report without a verdict, with the baseline that was read, and lets everything else through.
func refused(r *result.Report, err error, base ...model.Session) (*result.Report, error) {
	if refusal := (*model.Refusal)(nil); errors.As(err, &refusal) {
		r, err = decide.Refuse(decide.Input{Baseline: base}, refusal), nil
	}
	return r, err
}

// Screened is a verdict on the committed baseline that the base build decides.
type Screened struct{ Answer, Because string }

func (r Screened) String() string {
	return "the committed baseline said " + r.Answer + " (" + r.Because + "); the base build, measured beside the head, decides"
}
