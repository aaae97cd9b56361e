package cli

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/report"
	"github.com/nsgate/nsgate/gate/measure"
	"github.com/nsgate/nsgate/thresholds"
)

func doctorCommand() *command {
	return &command{
		name:    "doctor",
		usage:   "[flags]",
		summary: "say what is missing to measure here, and what to do about it",
		bind: func(fs *pflag.FlagSet) action {
			var policy policyFlags
			nsys := fs.String("nsys", "nsys", "the nsys executable")
			root := fs.String("baseline", "", "directory of the committed baselines (default .nsgate beside nsgate.toml, else here)")
			fs.StringVar(&policy.file, "policy", "", "policy file")
			return func(ctx context.Context, e *env, _ arguments) error {
				healthy := true
				seen, models := app.Examine(ctx, *nsys)
				for _, o := range append(seen, examineRepository(*root, &policy, models)...) {
					mark := map[app.Mark]string{app.Good: "✓", app.Note: "–", app.Bad: "✗"}[o.Mark]
					detail := o.Detail
					if o.What == "nsys" && o.Mark == app.Bad {
						detail = WayOut("no-nsys", detail)
					}
					fmt.Fprintf(e.Out, "%s  %-16s  %s\n", mark, report.Clean(o.What), report.Clean(detail))
					for _, command := range o.Do {
						fmt.Fprintf(e.Out, "%23s%s\n", "", report.Clean(command))
					}
					healthy = healthy && o.Mark != app.Bad
				}
				if !healthy {
					fmt.Fprintln(e.Out, "\nNothing can be measured here before what is marked ✗ is set right.")
					return &exit{code: ExitNoVerdict}
				}
				fmt.Fprintln(e.Out, "\nA workload can be measured here.")
				return nil
			}
		},
	}
}

// examineRepository looks at the policy and the baselines. models are the GPUs of this machine.
func examineRepository(given string, flags *policyFlags, models []string) (out []app.Observation) {
	add := func(mark app.Mark, what, detail string) {
		out = append(out, app.Observation{Mark: mark, What: what, Detail: detail})
	}
	policy, err := flags.load()
	switch {
	case err != nil:
		add(app.Bad, "policy", err.Error())
		policy = thresholds.Default()
	case policy.File == "":
		add(app.Note, "policy", "no "+policyFile+": the defaults hold; nsgate init writes one")
	default:
		add(app.Good, "policy", fmt.Sprintf("%s, %s, %s", policy.File, measure.Count(len(policy.Workloads), "workload"), measure.Count(len(policy.Rules), "rule")))
	}
	root := kept(given, policy.File)
	workloads := policy.Workloads
	if len(workloads) == 0 {
		workloads = []thresholds.Workload{{Name: "default"}}
	}
	for _, w := range workloads {
		what := "baseline " + w.Name
		baselines, err := app.ReadBaselines(root, w.Name)
		switch {
		case err != nil:
			add(app.Bad, what, err.Error())
		case len(baselines) == 0:
			add(app.Note, what, "none in "+root+"; nsgate record writes one")
		}
		_, usable := baselines.ForGPU(append(models, model.Models(models))...)
		for _, b := range baselines {
			add(app.Good, what, fmt.Sprintf("%s on %s", measure.Count(len(b.Sessions), "session"), b.Sessions[0].GPU))
		}
		if len(baselines) > 0 && len(models) > 0 && !usable {
			add(app.Note, what, fmt.Sprintf("none on %s, which is here: check has nothing to compare with before nsgate record writes one beside it",
				model.Models(models)))
		}
	}
	return out
}
