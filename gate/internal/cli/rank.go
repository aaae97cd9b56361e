package cli

import (
	"cmp"
	"context"
	"fmt"

	"github.com/nsgate/nsgate/gate/internal/reduce/rank"
	"github.com/nsgate/nsgate/thresholds"
)

type rankOptions struct {
	given
	profiling
	gather string `flag:"gather"`
	job    string `flag:"job"`
	keep   bool   `flag:"keep"`
}

func (v *rankOptions) run(_ context.Context, e *env, args arguments) error {
	e.follows.Store(true)
	switch {
	case args.workload == nil:
		return usageError("no program; example: srun -N2 nsgate rank -- python train.py")
	case v.gather == "":
		return usageError("no directory for the recordings: check and record tell their ranks by NSGATE_GATHER and " +
			"NSGATE_JOB, which the launcher must hand on (mpirun -x NSGATE_GATHER -x NSGATE_JOB); by hand give " +
			"--gather")
	}
	var w thresholds.Workload
	if err := v.lay("ranks step warmup", w.Set); err != nil {
		return err
	}
	job := "job" // with what its launcher has given all ranks: "job-4711-0"
	for _, name := range []string{"SLURM_JOB_ID", "SLURM_STEP_ID"} {
		if id := e.getenv(name); id != "" {
			job += "-" + id
		}
	}
	o := rank.Options{Gather: v.gather, Job: cmp.Or(v.job, job), Getenv: e.getenv, Keep: v.keep}
	o.Exe, o.Ranks, o.Step, o.Warmup, o.Order.Options.Args = v.exe, w.Ranks, w.Step, w.Warmup, v.traceArgs
	code, err := o.Run(args.workload)
	if err != nil {
		fmt.Fprintf(e.Err, "nsgate rank: %v\n", err)
	}
	return &exit{code: code, passed: true}
}
