package cli

import (
	"cmp"
	"context"
	"fmt"

	"github.com/nsgate/nsgate/gate/internal/rank"
	"github.com/nsgate/nsgate/thresholds"
)

func runRank(_ context.Context, e *env, v *flags, args arguments) error {
	e.follows.Store(true)
	switch {
	case args.workload == nil:
		return usageError("no program; example: srun -N2 nsgate rank -- python train.py")
	case v.Gather == "":
		return usageError("no directory for the recordings: check and record tell their ranks by NSGATE_GATHER and NSGATE_JOB, which the launcher " +
			"must hand on (mpirun -x NSGATE_GATHER -x NSGATE_JOB); by hand give --gather")
	}
	var w thresholds.Workload
	if err := v.lay("ranks step", w.Set); err != nil {
		return err
	}
	job := "job" // with what its launcher has given all ranks: "job-4711-0"
	for _, name := range []string{"SLURM_JOB_ID", "SLURM_STEP_ID"} {
		if id := e.getenv(name); id != "" {
			job += "-" + id
		}
	}
	o := rank.Options{Gather: v.Gather, Job: cmp.Or(v.jobName, job), Getenv: e.getenv, Keep: v.keep}
	o.Exe, o.Ranks, o.Step, o.Order.Options.Args = v.Exe, w.Ranks, w.Step, v.TraceArgs
	code, err := o.Run(args.workload)
	if err != nil {
		fmt.Fprintf(e.Err, "nsgate rank: %v\n", err)
	}
	return &exit{code: code, passed: true}
}
