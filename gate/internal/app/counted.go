package app

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/run"
	"github.com/nsgate/nsgate/gate/internal/run/tools"
	"github.com/nsgate/nsgate/thresholds"
)

func (m *Live) count(ctx context.Context, runs int, base *Build) (*Measurement, error) {
	c, err := run.Count(ctx, m.counterPlan(), base, runs, func(isBase bool, index, of int) {
		side := ""
		if base != nil {
			side = " (head)"
		}
		if isBase {
			side = " (base)"
		}
		text := fmt.Sprintf("run %d of %d under %s%s", index+1, of, tools.Counter.Tool().Name, side)
		tell(m.Observe, Event{Stage: run.Begun, Text: text})
	})
	if err != nil {
		return nil, err
	}
	out := &Measurement{Place: c.Environment, Warnings: c.Warnings}
	out.Base.Counters, out.Head.Counters = c.Base, c.Head
	return out, nil
}

// countBeside counts the kernels that [Live.Bounds] are about in one run of the head; a refusal is a warning.
func (m *Live) countBeside(ctx context.Context, out *Measurement) error {
	own := *m
	own.Selection.Kernels = slices.Clone(m.Selection.Kernels)
	for i := range out.Head.Traces {
		for _, k := range out.Head.Traces[i].Kernels {
			bounded := slices.ContainsFunc(m.Bounds, func(r thresholds.Rule) bool { return r.Selects(k.Subject, nil) })
			if bounded && !slices.Contains(own.Selection.Kernels, k.Subject.Short()) {
				own.Selection.Kernels = append(own.Selection.Kernels, k.Subject.Short())
			}
		}
	}
	if m.counted || len(own.Selection.Kernels) == 0 || ctx.Err() != nil {
		return nil
	}
	m.counted = true
	counted, err := own.count(ctx, 1, nil)
	if refusal := (*model.Refusal)(nil); errors.As(err, &refusal) {
		out.Warnings = append(out.Warnings, refusal.Reason)
		return nil
	} else if err != nil {
		return err
	}
	for _, r := range m.Bounds {
		metric, _ := r.InFull()
		out.Head.Beside = append(out.Head.Beside, metric)
	}
	out.Head.Counters, out.Warnings = counted.Head.Counters, append(out.Warnings, counted.Warnings...)
	return nil
}
