package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/gate/internal/rank"
	"github.com/nsgate/nsgate/thresholds"
)

type rankVerb struct {
	rank.Options
	fs *pflag.FlagSet
}

func (v *rankVerb) bind(fs *pflag.FlagSet) {
	v.fs = fs
	fs.StringVar(&v.Gather, "gather", "", "directory that all hosts of the job see, for the recordings (check and record set it themselves)")
	fs.StringVar(&v.Job, "job", "", "name of the job: its ranks share it, and no other job in the directory does (default by the job and step of Slurm)")
	fs.String("ranks", "", "profile these ranks only, such as 0,7 or 0-3 (default all)")
	bindProfiler(fs, &v.Exe)
	bindProfilerArgs(fs, &v.Order.Options.Args)
}

func (v *rankVerb) run(_ context.Context, e *env, args arguments) (err error) {
	e.follows.Store(true)
	switch {
	case args.workload == nil:
		return usageError("no program; example: srun -N2 nsgate rank -- python train.py")
	case v.Gather == "":
		return usageError("no directory for the recordings: check and record tell their ranks by NSGATE_GATHER and NSGATE_JOB, which the launcher " +
			"must hand on (mpirun -x NSGATE_GATHER -x NSGATE_JOB); by hand give --gather")
	}
	var w thresholds.Workload
	if err := settings(v.fs, &w); err != nil {
		return err
	}
	v.Ranks, v.Job, v.Getenv = w.Ranks, cmp.Or(v.Job, jobOfLauncher(e.getenv)), e.getenv
	code, err := v.Options.Run(args.workload)
	if err != nil {
		fmt.Fprintf(e.Err, "nsgate rank: %v\n", err)
	}
	return &exit{code: code, passed: true}
}

// jobOfLauncher is a name for the job that its launcher has given all ranks: "job-4711-0".
func jobOfLauncher(getenv func(string) string) string {
	parts := []string{"job"}
	for _, name := range []string{"SLURM_JOB_ID", "SLURM_STEP_ID"} {
		if v := getenv(name); v != "" {
			parts = append(parts, v)
		}
	}
	return strings.Join(parts, "-")
}
