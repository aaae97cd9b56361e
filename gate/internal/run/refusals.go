package run

import (
	"context"
	"errors"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/proc"
)

// Next steps of the refusals of this package.
const (
	buildFirst = "check the command, and build the workload first"
	ownBase    = "build the base elsewhere and give its command"
)

var errUnsupported = errors.New("workloads can be measured on Linux only; record there and use compare here")

// causeOr returns the cause of the end of ctx, or else err.
func causeOr(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// said is the last line with words of a program's output, fit to be shown.
func said(output string) string { return measure.NormalizeLine(proc.Said(output)) }
