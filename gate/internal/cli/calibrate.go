package cli

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/report"
)

type calibrateVerb struct {
	measureFlags
	printed
	host bool
}

func (v *calibrateVerb) bind(fs *pflag.FlagSet) {
	v.measureFlags.bind(fs)
	v.bindFrom(fs)
	fs.BoolVar(&v.host, "host", false, "say how the kernels of this host compare with the baseline's sessions")
	fs.Lookup("runs").Usage = fmt.Sprintf("fresh processes to measure (default %d, or twice the workload's runs where that is more)", new(app.Calibrate).Measured())
	v.policy.bind(fs)
	v.out.bindShown(fs, report.Formats(report.Calibration))
}

func (v *calibrateVerb) run(ctx context.Context, e *env, args arguments) error {
	j, err := v.single(e, args.workload, v.out.quiet)
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
	if err := report.Render(v.out.format, e.Out, answer, v.out.options(e)); err != nil {
		return err
	}
	if !answer.Sound {
		return &exit{code: refused(answer.ReasonKey)}
	}
	return nil
}
