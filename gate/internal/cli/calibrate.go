package cli

import (
	"context"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/model"
)

type calibrateOptions struct {
	running
	printed
	host bool `flag:"host"`
}

func (v *calibrateOptions) run(ctx context.Context, e *env, args arguments) error {
	j, err := v.single(e, args.workload)
	if err != nil {
		return err
	}
	switch {
	case v.onLine("allow-busy") && v.allowBusy:
		return usageError("a calibration beside something else on the GPU says nothing: leave out --allow-busy")
	case v.runs.First > 0 && v.runs.First < app.FewestCalibrated && j.Way().Live:
		return usageError("%s: a calibration of %d runs says nothing about noise; measure at least %d",
			source(v.fs, "runs"), v.runs.First, app.FewestCalibrated)
	}
	c := &app.Calibrate{Job: j.Job, Gates: j.set.Runs.Most, Runs: v.runs.First, Host: v.host}
	if v.fs.Changed("unprofiled") {
		j.Live.Unprofiled = float64(v.unprofiled) / float64(c.Measured())
	}
	if dry, err := shown(ctx, e, &v.trial, false, c); dry {
		return err
	}
	answer, err := c.Run(ctx)
	if err != nil {
		return err
	}
	if len(answer.Next) > 0 {
		answer.Next[0] = WayOut(model.Kind(answer.ReasonKey), answer.Next[0])
	}
	if err := render(e, &v.printed, answer); err != nil {
		return err
	}
	if !answer.Sound {
		return &exit{code: refused(answer.ReasonKey)}
	}
	return nil
}
