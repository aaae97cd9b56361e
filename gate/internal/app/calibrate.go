package app

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/nsgate/nsgate/gate/internal/judge/calibrate"
	"github.com/nsgate/nsgate/gate/internal/judge/recorded"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// DefaultRuns is the default number of runs of each side.
const DefaultRuns = 5

const calibrationRuns = 10

// FewestCalibrated is the least number of runs of a calibration: two a side.
const FewestCalibrated = 4

// Calibrate measures the unchanged workload and says how much it moves from run to run, and which gates that allows.
type Calibrate struct {
	Job
	// Gates is the number of runs a side of the gates to foresee, 0 for [DefaultRuns]; Runs how many to measure, 0 for
	// twice as many and at least ten.
	Gates, Runs int
	Host        bool // asks how this host compares with the sessions of the baseline
}

// Measured is how many runs are measured.
func (c *Calibrate) Measured() int { return cmp.Or(c.Runs, max(calibrationRuns, 2*c.gates())) }

func (c *Calibrate) gates() int { return cmp.Or(c.Gates, DefaultRuns) }

// Commands are the commands of Run.
func (c *Calibrate) Commands(context.Context) []string {
	return c.Live.Commands([]int{c.Measured()}, nil)
}

// Run measures and calibrates. What says nothing about gates is a calibration that is not sound.
func (c *Calibrate) Run(ctx context.Context) (*calibrate.Calibration, error) {
	out, err := c.run(ctx)
	if r := (*model.Refusal)(nil); errors.As(err, &r) {
		out, err = calibrate.Refused(r, c.Policy), nil
	}
	if err != nil {
		return nil, err
	}
	out.Workload = c.Workload
	return out, nil
}

func (c *Calibrate) run(ctx context.Context) (*calibrate.Calibration, error) {
	start := time.Now()
	all := &Measurement{}
	if err := all.take(c.Measurer.Measure(ctx, c.Measured(), nil)); err != nil {
		return nil, err
	}
	perRun := time.Since(start) / time.Duration(c.Measured())
	if all.finished {
		perRun = 0
		all.Warnings = append(all.Warnings,
			"finished profiles do not say whether something else used the GPU or its clocks were held down")
	}
	if all.Throttled != "" {
		return nil, model.Refuse(model.Throttled,
			"let it cool down, see to its cooling and power supply, and calibrate again", "%s", all.Throttled)
	}
	like, _ := c.Baselines.ForGPU(all.Head.GPU())
	_, head, err := all.sessions(ctx, c.Rule, like.Sessions)
	if err != nil {
		return nil, err
	}
	if times := model.Timed(head); len(times) > 0 && len(model.Profilers(head)) > 1 {
		head = times
	}
	if recorded.ByLaunch(head) {
		return nil, model.Refuse(model.NotCountable, "calibrate with the workload, or with profiles of times",
			"counters of single launches say nothing about how times vary")
	}
	out := calibrate.Calibrate(head, c.Policy, c.gates(), perRun)
	if c.Host {
		out.Host = calibrate.Fingerprint(head[len(head)-1], like.Sessions, recorded.KernelShare)
	}
	out.Warnings = append(out.Warnings, all.Warnings...)
	return out, nil
}
