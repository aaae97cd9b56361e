package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/thresholds"
)

func rankCommand() *command {
	return &command{
		name:     "rank",
		usage:    "[flags] -- PROGRAM…",
		summary:  "run one rank of a job under nsys, inside srun, mpirun or torchrun",
		workload: true,
		bind: func(fs *pflag.FlagSet) action {
			r := app.Rank{}
			fs.StringVar(&r.Gather, "gather", "", "directory that all hosts of the job see, for the recordings (check and record set it themselves)")
			fs.StringVar(&r.Job, "job", "", "name of the job: its ranks share it, and no other job in the directory does (default by the job and step of Slurm)")
			ranks := fs.String("ranks", "", "profile these ranks only, such as 0,7 or 0-3 (default all)")
			fs.StringVar(&r.Nsys, "nsys", "nsys", "the nsys executable")
			fs.StringArrayVar(&r.Args, "nsys-arg", nil, "further argument of nsys profile, repeatable")
			return func(_ context.Context, e *env, args arguments) (err error) {
				switch {
				case args.workload == nil:
					return usageError("no program; example: srun -N2 nsgate rank -- python train.py")
				case r.Gather == "":
					return usageError("no directory for the recordings: check and record tell their ranks by NSGATE_GATHER and NSGATE_JOB, which the launcher " +
						"must hand on (mpirun -x NSGATE_GATHER -x NSGATE_JOB); by hand give --gather")
				}
				if r.Ranks, err = thresholds.ParseRanks(*ranks); err != nil {
					return usageError("--ranks: %v", err)
				}
				r.Job = cmp.Or(r.Job, jobOfLauncher(e.getenv))
				code, err := r.Run(args.workload)
				if err != nil {
					fmt.Fprintf(e.Err, "nsgate rank: %v\n", err)
				}
				return &exit{code: code, passed: true}
			}
		},
	}
}

// jobOfLauncher is a name for the job that its launcher has given all ranks: "job-4711.0".
func jobOfLauncher(getenv func(string) string) string {
	parts := []string{"job"}
	for _, name := range []string{"SLURM_JOB_ID", "SLURM_STEP_ID"} {
		if v := getenv(name); v != "" {
			parts = append(parts, v)
		}
	}
	return strings.Join(parts, "-")
}
