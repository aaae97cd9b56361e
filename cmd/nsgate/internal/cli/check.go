package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/gate"
	"github.com/nsgate/nsgate/gate/baseline"
	"github.com/nsgate/nsgate/gate/collect"
	"github.com/nsgate/nsgate/gate/measure"
)

func checkCommand() *command {
	return &command{
		name:     "check",
		usage:    "[flags] [-- WORKLOAD…]",
		summary:  "measure the workload and judge it against the committed baseline",
		workload: true,
		long: `
Runs the workload several times, each a fresh process, in one nsys session, and compares what its kernels, copies and
ranges cost with the baseline that nsgate record wrote. Without a command after -- the workload of nsgate.toml is run.

Examples:

  nsgate check -- ./app --steps 60
  nsgate check --workload training --threshold 2% --report json=report.json
  nsgate check --from profiles/`,
		bind: func(fs *pflag.FlagSet) func(context.Context, *env, arguments) error {
			var m measureFlags
			var policy policyFlags
			var out outputFlags
			m.bind(fs)
			policy.bind(fs)
			out.bind(fs)
			return func(ctx context.Context, e *env, args arguments) error {
				if err := out.check(); err != nil {
					return err
				}
				p, err := policy.load()
				if err != nil {
					return err
				}
				j, err := m.resolve(p, args)
				if err != nil {
					return err
				}
				if m.dryRun {
					return m.printPlan(e, j)
				}
				p = policy.of(p, j.name)
				bases, err := m.baselines(j.name)
				if err != nil {
					return err
				}
				if len(bases) == 0 {
					return usageError("no baseline of workload %q in %s; write one with nsgate record, on the code to compare with",
						j.name, m.baseline)
				}
				dir, base, r := m.choose(ctx, j, bases)
				if r == nil {
					head, warnings, err := m.measure(ctx, e, j, base, out.quiet)
					if err != nil {
						if r, err = refused(err); err != nil {
							return err
						}
					} else {
						dir, base = ofModel(bases, dir, base, head[len(head)-1].GPU)
						r = gate.Evaluate(base, head, p)
						r.Warnings = append(r.Warnings, warnings...)
					}
				}
				r.Workload, r.Baseline = j.name, dir
				r.Reproduce = e.reproduce(args.workload)
				offerAccept(r, &out)
				return out.publish(e, r, func(f gate.Finding) (string, int, bool) {
					return baseline.Locate(dir, f.Subject(), f.Metric)
				})
			}
		},
	}
}

// choose picks the baseline to hold the head against, before it is measured: the one of this machine's GPU. Where
// the machine's GPU is known and has none, nothing needs to be measured, and the report says so.
func (m *measureFlags) choose(ctx context.Context, j *job, bases map[string][]measure.Session) (string, []measure.Session, *gate.Report) {
	dirs := sortedKeys(bases)
	dir, base := dirs[0], bases[dirs[0]]
	if m.from != "" {
		return dir, base, nil
	}
	gpus, err := collect.Probe(ctx)
	if err != nil || len(gpus) == 0 {
		return dir, base, nil
	}
	var models []string
	for _, d := range dirs {
		models = append(models, bases[d][0].GPU)
		if slices.ContainsFunc(gpus, func(g collect.GPU) bool { return g.Name == bases[d][0].GPU || g.MIG }) {
			return d, bases[d], nil
		}
	}
	return dir, base, gate.Refused(&measure.Refusal{
		Reason: fmt.Sprintf("this machine has a %s, the baseline was measured on %s", gpus[0].Name, list(models)),
		Next:   "record a baseline on this GPU with nsgate record, or run the check where the baseline was measured",
	})
}

// ofModel is the baseline of the GPU that the head turned out to have, else the one chosen before.
func ofModel(bases map[string][]measure.Session, dir string, base []measure.Session, gpu string) (string, []measure.Session) {
	for _, d := range sortedKeys(bases) {
		if bases[d][0].GPU == gpu {
			return d, bases[d]
		}
	}
	return dir, base
}
