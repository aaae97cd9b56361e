package cli

import (
	"context"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/model"
)

func calibrate(ctx context.Context, e *env, v *flags, args arguments) error {
	j, err := v.single(e, args.workload)
	if err != nil {
		return err
	}
	if err := v.fixed(j, "calibration"); err != nil {
		return err
	}
	switch {
	case v.AllowBusy:
		return usageError("a calibration beside something else on the GPU says nothing: leave out --allow-busy")
	case v.runs.first > 0 && v.runs.first < app.FewestCalibrated && v.from == "":
		return usageError("%s: a calibration of %d runs says nothing about noise; measure at least %d", source(v.fs, "runs"), v.runs.first, app.FewestCalibrated)
	}
	c := &app.Calibrate{Job: j.Job, Gates: j.set.Runs, Runs: v.runs.first, Host: v.host}
	if m := j.Live; v.fs.Changed("unprofiled") && m != nil {
		m.Unprofiled = float64(v.unprofiled) / float64(c.Measured())
	}
	if v.dryRun {
		return printCommands(e, false, j.Workload, j.Live.Commands([]int{c.Measured()}, nil))
	}
	answer, err := c.Run(ctx)
	if err != nil {
		return err
	}
	showWay(ways[model.Kind(answer.ReasonKey)], answer.Next)
	if err := render(e, v, answer); err != nil {
		return err
	}
	if !answer.Sound {
		return &exit{code: refused(answer.ReasonKey)}
	}
	return nil
}
