package app

import (
	"errors"

	"github.com/nsgate/nsgate/gate/internal/decide"
	"github.com/nsgate/nsgate/gate/internal/insight"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/text"
)

// judged is the verdict on the input with what the measurement itself explains, in words.
func judged(in decide.Input, warnings []string) *result.Report {
	r := decide.Judge(in)
	explainCounted(r, in.Baseline)
	if len(r.Findings) > 0 {
		r.Patterns = insight.NewPatterns(in.Baseline, in.Head)
	}
	note(r)
	r.Warnings = append(r.Warnings, warnings...)
	return r
}

// refused turns a refusal into a report without a verdict, with the baseline that was read, and lets everything else through.
func refused(r *result.Report, err error, base ...model.Session) (*result.Report, error) {
	if refusal := (*model.Refusal)(nil); errors.As(err, &refusal) {
		r, err = decide.Refuse(decide.Input{Baseline: base}, refusal), nil
		text.Tell(r)
	}
	return r, err
}

// note says in words what a report holds, and how it came about.
func note(r *result.Report, how ...result.Remark) {
	r.Remarks = append(r.Remarks, how...)
	text.Tell(r)
}

func remark(key string, args result.Args) result.Remark { return result.Remark{Key: key, Args: args} }
