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
	"github.com/nsgate/nsgate/gate/internal/verdict"
)

// first measures a head that has no baseline: there is no verdict, for this reason, and what was measured can be the first
// baseline. What cannot be stored is refused for its own reason.
func (c *Check) first(ctx context.Context, why error) (*result.Judgement, error) {
	all, err := measureHead(ctx, c.Measurer, min(max(c.Looks[0], DefaultRuns), c.Looks[len(c.Looks)-1]))
	if err != nil {
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

// Suite are the checks of one or more workloads, judged as one gate: they share out the policy's error.
type Suite []*Check

// Run measures and judges one after the other. A mistake in one ends all.
func (s Suite) Run(ctx context.Context) (*result.Judgement, error) {
	return s.together(func(c *Check) (*result.Judgement, error) {
		if len(s) == 1 {
			return c.Run(ctx)
		}
		own, policy := *c, *c.Policy
		policy.Alpha /= float64(len(s))
		own.Policy = &policy
		c.Begin("workload " + c.Workload)
		return own.Run(ctx)
	})
}

// RunCode compares device code alone, without a GPU.
func (s Suite) RunCode(ctx context.Context) (*result.Judgement, error) {
	return s.together(func(c *Check) (*result.Judgement, error) {
		r, err := checkCode(ctx, c)
		if err == nil {
			r.Workload = c.Workload
		}
		return r, err
	})
}

func (s Suite) together(judge func(*Check) (*result.Judgement, error)) (*result.Judgement, error) {
	var all []*result.Judgement
	for _, c := range s {
		r, err := judge(c)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	if len(all) == 1 {
		return all[0], nil
	}
	return verdict.Several(all), nil
}

// NoGPU is the report of a machine without a GPU; nil if there is or may be one.
func NoGPU(ctx context.Context) *result.Judgement {
	if _, err := tools.GPUs().GPUs(ctx); !errors.Is(err, device.ErrNone) {
		return nil
	}
	r, _ := Refused(nil, model.Refuse(model.NoGPU, "run the check where there is one",
		"this machine has no NVIDIA GPU: nothing was measured and nothing judged"))
	return r
}
