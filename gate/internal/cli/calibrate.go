package cli

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/report"
)

func calibrateCommand() *command {
	return &command{
		name:     "calibrate",
		usage:    "[flags] [-- WORKLOAD…]",
		summary:  "measure the noise here, and how many runs a limit needs",
		workload: true,
		bind: func(fs *pflag.FlagSet) action {
			var m measureFlags
			var policy policyFlags
			var out outputFlags
			m.bind(fs)
			host := fs.Bool("host", false, "say how the kernels of this host compare with the baseline's sessions")
			fs.Lookup("runs").Usage = fmt.Sprintf(
				"fresh processes to measure (default %d, or twice the workload's runs where that is more)", new(app.Calibrate).Measured())
			policy.bind(fs)
			out.bindShown(fs, report.CalibrationFormats())
			return func(ctx context.Context, e *env, args arguments) error {
				if err := out.check(report.CalibrationFormats()); err != nil {
					return err
				}
				j, err := m.single(e, &policy, args.workload, model.Nsys, out.quiet)
				if err != nil {
					return err
				}
				if err := m.fixed(j, "calibration"); err != nil {
					return err
				}
				if m.busy {
					return usageError("a calibration beside something else on the GPU says nothing: leave out --allow-busy")
				}
				c := &app.Calibrate{
					Workload: j.name, Measurer: j.measurer, Policy: j.policy, Rule: j.rule, Gates: j.gates, Runs: m.runs.first, Host: *host, Baselines: j.baselines,
				}
				if machine, ok := c.Measurer.(*app.Machine); ok && fs.Changed("bare") {
					machine.Bare = float64(m.bare) / float64(c.Measured())
				}
				if m.dryRun {
					return printCommands(e, c.Commands())
				}
				answer, err := c.Run(ctx)
				if err != nil {
					return err
				}
				showWay(answer.ReasonKey, answer.Next)
				if err := report.RenderCalibration(out.format, e.Out, answer, out.options(e)); err != nil {
					return err
				}
				if !answer.Sound {
					return &exit{code: ExitNoVerdict}
				}
				return nil
			}
		},
	}
}
