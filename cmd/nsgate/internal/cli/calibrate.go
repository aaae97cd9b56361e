package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/gate"
	"github.com/nsgate/nsgate/gate/collect"
	"github.com/nsgate/nsgate/gate/measure"
	"github.com/nsgate/nsgate/gate/report"
	"github.com/nsgate/nsgate/thresholds"
)

// calibrationRuns is how many runs a calibration has at least, where --runs does not say.
const calibrationRuns = 10

func calibrateCommand() *command {
	return &command{
		name:     "calibrate",
		usage:    "[flags] [-- WORKLOAD…]",
		summary:  "measure the noise here, and how many runs a limit needs",
		workload: true,
		long: `
Runs the unchanged workload in one session, ten times by default, and says how much each kernel moves from run to run, how
often a gate of these runs would have failed although nothing changed, which slowdown can be found with how many runs, and
what it takes to gate 1, 2, 3 and 5 %. The baseline is not touched. Where the runs are not alike, because the GPU was hot
or busy or the times drift, there is no calibration and the exit code is 3.

Examples:

  nsgate calibrate -- ./app --steps 60
  nsgate calibrate --workload training --threshold 1% --runs 20
  nsgate calibrate --from .nsgate/training/nvidia-h200
  nsgate calibrate --format json --from profiles/ > calibration.json`,
		bind: func(fs *pflag.FlagSet) func(context.Context, *env, arguments) error {
			var m measureFlags
			var policy policyFlags
			var out outputFlags
			m.bind(fs)
			fs.Lookup("runs").Usage = fmt.Sprintf(
				"fresh processes to measure (default %d, or twice the workload's runs where that is more)", calibrationRuns)
			policy.bind(fs)
			fs.StringVar(&out.format, "format", "text", "what is printed: "+strings.Join(report.CalibrationFormats(), ", "))
			fs.StringVar(&out.color, "color", "auto", "colour in text: auto, always or never")
			fs.BoolVarP(&out.verbose, "verbose", "v", false, "show every kernel")
			fs.BoolVarP(&out.quiet, "quiet", "q", false, "print the answer only, and no progress")
			return func(ctx context.Context, e *env, args arguments) error {
				if !slices.Contains(report.CalibrationFormats(), out.format) {
					return usageError("--format: %q is none of %s", out.format, strings.Join(report.CalibrationFormats(), ", "))
				}
				if !slices.Contains([]string{"auto", "always", "never"}, out.color) {
					return usageError("--color: %q is none of auto, always, never", out.color)
				}
				p, err := policy.load()
				if err != nil {
					return err
				}
				j, err := m.resolve(p, args)
				if err != nil {
					return err
				}
				measured, gates, err := m.calibrationRuns(p, j)
				if err != nil {
					return err
				}
				if m.dryRun {
					return m.printPlan(e, j, []int{measured}, nil)
				}
				of := policy.of(p, j.name)
				c, err := m.calibrate(ctx, e, j, of, measured, gates, out.quiet)
				if refusal := (*measure.Refusal)(nil); errors.As(err, &refusal) {
					c = gate.CalibrationRefused(refusal, of)
				} else if err != nil {
					return err
				}
				c.Workload = j.name
				options := report.Options{Width: width(e), Color: out.coloured(e), Verbose: out.verbose, Quiet: out.quiet}
				if err := report.RenderCalibration(out.format, e.Out, c, options); err != nil {
					return err
				}
				if !c.Sound {
					return &exit{code: ExitNoVerdict, quiet: true}
				}
				return nil
			}
		},
	}
}

// calibrationRuns are the runs to measure and the runs a side of the gates to draw from them: those of a check.
func (m *measureFlags) calibrationRuns(p *thresholds.Policy, j *job) (measured, gates int, err error) {
	switch {
	case len(j.looks) > 1:
		return 0, 0, usageError("--runs: a calibration has a fixed number of runs, not %s", m.runs.String())
	case m.busy:
		return 0, 0, usageError("a calibration beside something else on the GPU says nothing: leave out --allow-busy")
	}
	gates = defaultRuns
	if w, ok := p.Workload(j.name); ok && w.Runs > 0 {
		gates = w.Runs
	}
	if m.runs != (runPlan{}) {
		return m.runs.first, gates, nil
	}
	return max(calibrationRuns, 2*gates), gates, nil
}

// calibrate measures, or reads the profiles of --from, and says what that means for gates of so many runs a side.
func (m *measureFlags) calibrate(ctx context.Context, e *env, j *job, p *thresholds.Policy, runs, gates int,
	quiet bool) (*gate.Calibration, error) {
	bases, err := m.baselines(j.name)
	if err != nil {
		return nil, err
	}
	var like []measure.Session
	for _, dir := range sortedKeys(bases) {
		like = bases[dir]
	}
	var all measured
	start := time.Now()
	if err := m.take(ctx, e, j, runs, nil, quiet, &all); err != nil {
		return nil, err
	}
	perRun := time.Since(start) / time.Duration(runs)
	if m.from != "" {
		perRun = 0
		all.warnings = append(all.warnings,
			"finished profiles do not say whether something else used the GPU or its clocks were held down")
	}
	if err := heldBack(all.warnings); err != nil {
		return nil, err
	}
	_, head, err := m.cut(ctx, like, &all)
	if err != nil {
		return nil, err
	}
	if times := by("nsys", head); len(times) > 0 && len(profilersOf(head)) > 1 {
		head = times
	}
	if head = without("ncu", head); len(head) == 0 {
		return nil, measure.Refuse("counters of ncu say nothing about how times vary", "calibrate with the workload, or with profiles of nsys")
	}
	c := report.Calibrate(head, p, gates, perRun)
	c.Warnings = append(c.Warnings, all.warnings...)
	return c, nil
}

// heldBack refuses a session during which the GPU was too hot or short of power. A power limit is how some machines
// always run, and stays a warning.
func heldBack(warnings []string) error {
	for _, t := range []collect.Throttle{
		collect.HardwareSlow, collect.SoftwareThermal, collect.HardwareThermal, collect.PowerBrake,
	} {
		for _, w := range warnings {
			if strings.HasPrefix(w, "the GPU was held back by "+t.Slows()) {
				return measure.Refuse(w, "let it cool down, see to its cooling and power supply, and calibrate again")
			}
		}
	}
	return nil
}
