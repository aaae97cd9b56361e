package app

import (
	"context"
	"errors"

	"github.com/nsgate/nsgate/gate/internal/decide"
	"github.com/nsgate/nsgate/gate/internal/device"
	"github.com/nsgate/nsgate/gate/internal/insight"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/tools"
)

// first measures a head without a baseline. The answer is no verdict, for the reason why, and the measurement can be
// the first baseline. A measurement that cannot be stored is refused for its own reason.
func (c *Check) first(ctx context.Context, why error) (*result.Judgement, error) {
	all := &Measurement{}
	if err := all.take(c.Measurer.Measure(ctx, min(max(c.Looks[0], DefaultRuns), c.Looks[len(c.Looks)-1]),
		nil)); err != nil {
		return nil, err
	}
	_, head, err := all.sessions(ctx, c.Rule, nil)
	if err != nil {
		return nil, err
	}
	if err := c.asked(all, head); err != nil {
		return nil, err
	}
	for _, p := range model.Profilers(head) {
		if err := storable(p.Pick(head), c.Policy); err != nil {
			return nil, err
		}
	}
	if err := c.Code.attach(ctx, head); err != nil && !all.finished {
		all.Warnings = append(all.Warnings, err.Error())
	}
	r := insight.Refuse(decide.Input{Head: head, Policy: c.Policy}, why)
	measured, err := insight.Summarize(head)
	if err != nil {
		return nil, err
	}
	r.Measured, r.Warnings = measured, append(r.Warnings, all.Warnings...)
	return r, nil
}

// NoGPU is the report of a machine without a GPU; nil if there is or may be one.
func NoGPU(ctx context.Context) *result.Judgement {
	if _, err := tools.GPUs().GPUs(ctx); !errors.Is(err, device.ErrNone) {
		return nil
	}
	r, _ := Refused(nil, model.Refuse(model.NoGPU, "run the check where there is one",
		"this machine has no %s GPU: nothing was measured and nothing judged", model.Vendor))
	return r
}
